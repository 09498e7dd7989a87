use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::appender::AppendError;
use crate::event::{NewEvent, NewSession, Seq};
use crate::id::SessionId;

/// What a waiting command costs beside the bytes of its events.
const COMMAND_BYTES: usize = 1024;

/// What the writer thread is asked to do.
pub(crate) enum Work {
    /// Append events to one session, all or none.
    Append { session: SessionId, header: Option<Arc<NewSession>>, events: Vec<NewEvent> },
    /// Make sure that everything committed so far is on the disk.
    Flush,
    /// Make the thread panic.
    #[cfg(test)]
    Panic,
}

/// The place of the first event that was appended; a flush has none.
pub(crate) type Answer = Result<Option<Seq>, AppendError>;

pub(crate) struct Command {
    pub(crate) work: Work,
    pub(crate) answer: oneshot::Sender<Answer>,
    /// Held until the command was answered, so that waiting and running commands count alike.
    _room: OwnedSemaphorePermit,
}

/// Commands on their way to the writer thread. Bounded in bytes; who finds no room waits for it.
pub(crate) struct Queue {
    state: Mutex<State>,
    ready: Condvar,
    room: Arc<Semaphore>,
    room_bytes: u32,
}

struct State {
    waiting: VecDeque<Command>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The store was dropped: what waits is still written.
    Closing,
    /// The thread is gone.
    Ended,
}

impl Queue {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let room_bytes =
            u32::try_from(bytes_max.max(COMMAND_BYTES)).unwrap_or(u32::MAX >> 3).min(u32::MAX >> 3);
        Self {
            state: Mutex::new(State { waiting: VecDeque::new(), phase: Phase::Open }),
            ready: Condvar::new(),
            room: Arc::new(Semaphore::new(room_bytes as usize)),
            room_bytes,
        }
    }

    /// Hands a command over and waits for its answer. Dropping this before the command is in the queue withdraws it;
    /// later it is carried out all the same.
    pub(crate) async fn ask(&self, work: Work) -> Answer {
        let cost = u32::try_from(cost_bytes(&work)).unwrap_or(u32::MAX).min(self.room_bytes);
        let room = Arc::clone(&self.room).acquire_many_owned(cost).await;
        let Ok(room) = room else { return Err(self.refusal()) };
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.phase != Phase::Open {
                drop(state);
                return Err(self.refusal());
            }
            state.waiting.push_back(Command { work, answer, _room: room });
        }
        self.ready.notify_one();
        answered.await.unwrap_or(Err(AppendError::WriterGone))
    }

    /// Waits for commands and takes up to `count_max` of them; `None` once the queue is closed and empty.
    pub(crate) fn take(&self, count_max: usize) -> Option<Vec<Command>> {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.phase != Phase::Open {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let count = state.waiting.len().min(count_max);
        Some(state.waiting.drain(..count).collect())
    }

    /// Takes no more commands; those that wait are still carried out.
    pub(crate) fn close(&self) {
        self.leave(Phase::Closing);
    }

    /// Says that nobody will carry out commands any more; those that wait are answered with
    /// [`AppendError::WriterGone`].
    pub(crate) fn end(&self) {
        let abandoned = self.leave(Phase::Ended);
        drop(abandoned);
    }

    fn leave(&self, phase: Phase) -> VecDeque<Command> {
        let mut state = self.lock();
        let abandoned = match phase {
            Phase::Ended => std::mem::take(&mut state.waiting),
            Phase::Open | Phase::Closing => VecDeque::new(),
        };
        if state.phase == Phase::Open {
            state.phase = phase;
        }
        drop(state);
        self.room.close();
        self.ready.notify_all();
        abandoned
    }

    fn refusal(&self) -> AppendError {
        match self.lock().phase {
            Phase::Ended => AppendError::WriterGone,
            Phase::Open | Phase::Closing => AppendError::Closed,
        }
    }

    /// No code that holds the lock can panic halfway through a change, so a poisoned state is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost_bytes(work: &Work) -> usize {
    match work {
        Work::Flush => COMMAND_BYTES,
        #[cfg(test)]
        Work::Panic => COMMAND_BYTES,
        Work::Append { events, .. } => events.iter().fold(COMMAND_BYTES, |sum, event| {
            sum.saturating_add(event.bytes()).saturating_add(COMMAND_BYTES)
        }),
    }
}
