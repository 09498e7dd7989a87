//! The three chains. Each is a slice of listeners with a place in it; running the place further in is delegating.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::reply::{Owner, Reply};
use super::{Around, PostExecute, PreExecute};
use crate::call::Call;
use crate::cancel::Cancel;
use crate::content::Context;
use crate::decision::{PostDecision, PreDecision};
use crate::ids::{ComponentId, ExecutionToken, ScopeId};
use crate::json::Json;
use crate::outcome::{Ending, Failure};
use crate::pipeline::Road;
use crate::registry::Mounted;

/// A list of listeners as it was when the chain started, and the scopes of the call.
pub(crate) struct Listeners<T: ?Sized> {
    list: Arc<Vec<Mounted<T>>>,
    scopes: Arc<[ScopeId]>,
    /// Place after the listener that was entered last, for the attribution of a missing answer.
    entered: AtomicUsize,
}

impl<T: ?Sized> Listeners<T> {
    pub(crate) fn new(list: Arc<Vec<Mounted<T>>>, scopes: Arc<[ScopeId]>) -> Self {
        Self { list, scopes, entered: AtomicUsize::new(0) }
    }

    /// Finds the next listener at or after a place that hears calls of these scopes.
    fn find(&self, from: usize) -> Option<(usize, &Mounted<T>)> {
        let rest = self.list.get(from..)?;
        let found = rest.iter().position(|mounted| mounted.hears(&self.scopes))?;
        self.entered.store(from + found + 1, Ordering::Relaxed);
        Some((from + found, &rest[found]))
    }

    /// The listener that was entered last.
    pub(crate) fn last_entered(&self) -> Option<&ComponentId> {
        let place = self.entered.load(Ordering::Relaxed).checked_sub(1)?;
        self.list.get(place).map(|mounted| &mounted.id)
    }
}

const PRE: &str = "tools/pre-execute listener";
const AROUND: &str = "tools/execute listener";
const POST: &str = "tools/post-execute listener";

/// The chain of gate 1.
pub(crate) type PreChain = Listeners<dyn PreExecute>;
/// The chain of gate 4.
pub(crate) type PostChain = Listeners<dyn PostExecute>;

impl PreChain {
    pub(crate) fn start<'a>(&'a self, call: &'a Call) -> Reply<'a, PreDecision> {
        PreNext { chain: self, call, at: 0 }.run()
    }

    pub(crate) const WHAT: &'static str = PRE;
}

/// The rest of the pre-execute chain.
pub struct PreNext<'a> {
    chain: &'a PreChain,
    call: &'a Call,
    at: usize,
}

impl<'a> PreNext<'a> {
    /// Delegates: returns what the rest decides; with nobody left, the call is allowed.
    pub fn run(self) -> Reply<'a, PreDecision> {
        let Some((at, mounted)) = self.chain.find(self.at) else {
            return Reply::ready(PreDecision::undecided());
        };
        let next = PreNext { at: at + 1, ..self };
        let owner = Owner { what: PRE, id: &mounted.id };
        Reply::of(owner, PreDecision::stamp, || mounted.listener.decide(self.call, next))
    }
}

impl PostChain {
    pub(crate) fn start<'a>(&'a self, call: &'a Call, ending: &'a Ending) -> Reply<'a, PostDecision> {
        PostNext { chain: self, call, ending, at: 0 }.run()
    }

    pub(crate) const WHAT: &'static str = POST;
}

/// The rest of the post-execute chain.
pub struct PostNext<'a> {
    chain: &'a PostChain,
    call: &'a Call,
    ending: &'a Ending,
    at: usize,
}

impl<'a> PostNext<'a> {
    /// Delegates: returns what the rest decides; with nobody left, the result is accepted.
    pub fn run(self) -> Reply<'a, PostDecision> {
        let Some((at, mounted)) = self.chain.find(self.at) else {
            return Reply::ready(PostDecision::accept());
        };
        let next = PostNext { at: at + 1, ..self };
        let owner = Owner { what: POST, id: &mounted.id };
        Reply::of(owner, PostDecision::stamp, || mounted.listener.review(self.call, self.ending, next))
    }
}

/// How one run of the rest of the around chain ended. Only the pipeline makes one; a wrapper can look and pass it on.
#[derive(Debug)]
pub struct Attempt {
    pub(crate) token: ExecutionToken,
    pub(crate) ending: Ending,
    /// The rest of the road when this is the last word: a wrapper's value that fails the tool's contract is final.
    pub(crate) road: Road,
}

impl Attempt {
    /// Success or failure; a body's error and an unknown tool are failures here.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }
}

/// What a wrapper answers.
#[derive(Debug)]
pub struct Answer {
    pub(crate) kind: AnswerKind,
    pub(crate) contexts: Vec<Context>,
}

#[derive(Debug)]
pub(crate) enum AnswerKind {
    Attempt(Attempt),
    Value(Json),
    Failure(Failure),
}

impl Answer {
    /// Answers with a value of its own; the tool's own contract checks and renders it.
    pub fn value(value: Json) -> Self {
        Self { kind: AnswerKind::Value(value), contexts: Vec::new() }
    }

    /// Answers with a failure of its own, which is kept as it is.
    pub fn failure(failure: impl Into<Failure>) -> Self {
        Self { kind: AnswerKind::Failure(failure.into()), contexts: Vec::new() }
    }

    /// Queues a message for the model's next input, after those of the body.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.contexts.push(context);
        self
    }
}

impl From<Attempt> for Answer {
    fn from(attempt: Attempt) -> Self {
        Self { kind: AnswerKind::Attempt(attempt), contexts: Vec::new() }
    }
}

/// What runs when the chain has no more listeners.
pub(crate) trait BodyRunner: Send + Sync {
    /// Runs the body once under this signal.
    fn body<'a>(&'a self, signal: Cancel) -> Reply<'a, Attempt>;
    /// Forgets what an earlier attempt queued at or below this level (L-01).
    fn restart(&self, level: usize);
    /// Takes this wrapper's answer and gives back what the wrapper around it sees.
    fn answered(&self, level: usize, by: &ComponentId, answer: Answer) -> Attempt;
}

/// The chain of gate 3: re-entrant, since each level holds its own place (L-01).
pub(crate) struct AroundChain {
    pub(crate) listeners: Listeners<dyn Around>,
    pub(crate) body: Box<dyn BodyRunner>,
}

impl AroundChain {
    pub(crate) fn start<'a>(&'a self, call: &'a Call) -> Reply<'a, Attempt> {
        Next { chain: self, call, at: 0, signal: call.cancel().clone(), runs: 0 }.run_last()
    }
}

/// The rest of the around chain. It can be run several times, one run after another, each from the same place.
pub struct Next<'a> {
    chain: &'a AroundChain,
    call: &'a Call,
    at: usize,
    signal: Cancel,
    runs: usize,
}

impl<'a> Next<'a> {
    /// Adds a signal that also cancels what runs further in. The caller's own can be neither removed nor hidden.
    pub fn add_signal(&mut self, signal: &Cancel) {
        self.signal = self.signal.fuse(signal);
    }

    /// The signal under which the rest will run.
    pub fn signal(&self) -> &Cancel {
        &self.signal
    }

    /// Runs the rest. A further run starts the attempt anew: what the earlier one queued is forgotten.
    ///
    /// Dropping the reply cancels what runs further in; a started body is still polled to its end (L-60).
    pub fn run(&mut self) -> Reply<'_, Attempt> {
        if self.runs > 0 {
            self.chain.body.restart(self.at);
        }
        self.runs += 1;
        run(self.chain, self.call, self.at, self.signal.clone())
    }

    /// Runs the rest as this wrapper's whole answer.
    pub fn pass(self) -> Reply<'a, Answer> {
        self.run_last().map(Answer::from)
    }

    fn run_last(self) -> Reply<'a, Attempt> {
        if self.runs > 0 {
            self.chain.body.restart(self.at);
        }
        run(self.chain, self.call, self.at, self.signal)
    }
}

fn run<'a>(chain: &'a AroundChain, call: &'a Call, at: usize, signal: Cancel) -> Reply<'a, Attempt> {
    let Some((at, mounted)) = chain.listeners.find(at) else {
        return chain.body.body(signal);
    };
    let next = Next { chain, call, at: at + 1, signal, runs: 0 };
    let owner = Owner { what: AROUND, id: &mounted.id };
    let reply = Reply::of(owner, |answer: Answer, _| answer, || mounted.listener.run(call, next));
    reply.map(move |answer| chain.body.answered(at, &mounted.id, answer))
}
