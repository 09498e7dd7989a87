//! What a scenario's parts have seen, in order.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fivegates_core::call::Call;
use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::ids::ExecutionToken;
use fivegates_core::json::Json;

/// Whether the execution record was sealed when a label was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sealed {
    /// The call is on its way.
    No,
    /// A published result was shown.
    Yes,
}

/// Collects labels and fires the caller's cancellation at some of them.
pub struct Trace {
    cancel_at: BTreeSet<String>,
    calls: bool,
    identity: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    caller: Option<CancelSource>,
    stages: Vec<Json>,
    rows: Vec<Json>,
    tokens: Vec<ExecutionToken>,
    active: u64,
    active_max: u64,
}

impl Trace {
    /// Starts a trace.
    pub fn new(cancel_at: BTreeSet<String>, calls: bool, identity: bool) -> Self {
        Self { cancel_at, calls, identity, seen: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whose cancellation the labels fire from here on.
    pub fn set_caller(&self, caller: CancelSource) {
        self.lock().caller = Some(caller);
    }

    /// Fires the caller's cancellation.
    pub fn cancel(&self) {
        let caller = self.lock().caller.clone();
        if let Some(caller) = caller {
            caller.fire(CancelReason::User);
        }
    }

    /// Tells whether a label fires the cancellation.
    pub fn listens_for(&self, label: &str) -> bool {
        self.cancel_at.contains(label)
    }

    /// Passes a label that is not written down.
    pub fn reach(&self, label: &str) {
        if self.cancel_at.contains(label) {
            self.cancel();
        }
    }

    /// Writes a label down and passes it.
    pub fn see(&self, label: &str) {
        self.lock().stages.push(Json::from(label));
        self.reach(label);
    }

    /// Writes a label down with the identity of the call, and passes it.
    pub fn see_call(&self, label: &str, call: &Call, sealed: Sealed) {
        if self.identity {
            let mut seen = self.lock();
            let token = seen.name(call.token());
            let parent = call.parent().map(|parent| seen.name(parent));
            seen.rows.push(Json::object([
                ("stage", Json::from(label)),
                ("call_id", Json::from(call.id().as_str())),
                ("root_call_id", Json::from(call.root().as_str())),
                ("token", Json::from(token)),
                ("parent", Json::from(parent)),
                ("frozen", Json::from(sealed == Sealed::Yes)),
                ("args_frozen", Json::from(call.arguments().is_some())),
            ]));
        }
        self.see(label);
    }

    /// Says that a body starts.
    pub fn enter_body(&self, call: &Call) {
        {
            let mut seen = self.lock();
            seen.active += 1;
            seen.active_max = seen.active_max.max(seen.active);
        }
        let label = format!("body:{}", call.name());
        if self.calls {
            self.see_call(&format!("{label}:{}", call.id()), call, Sealed::No);
            self.reach(&label);
        } else {
            self.see_call(&label, call, Sealed::No);
        }
    }

    /// Says that a body is over.
    pub fn leave_body(&self, call: &Call) {
        self.lock().active -= 1;
        if self.calls {
            self.see(&format!("end:{}:{}", call.name(), call.id()));
        }
    }

    /// What was seen, as fields of a result: `stages_seen`, and `identity` and `max_active` where they were asked for.
    pub fn fields(&self) -> Vec<(String, Json)> {
        let seen = self.lock();
        let mut fields = vec![("stages_seen".to_owned(), Json::array(seen.stages.clone()))];
        if self.identity {
            fields.push(("identity".to_owned(), Json::array(seen.rows.clone())));
        }
        if self.calls {
            fields.push(("max_active".to_owned(), Json::from(seen.active_max)));
        }
        fields
    }
}

impl Seen {
    /// Names a token by its order of appearance.
    fn name(&mut self, token: ExecutionToken) -> String {
        let known = self.tokens.iter().position(|other| *other == token);
        let place = known.unwrap_or_else(|| {
            self.tokens.push(token);
            self.tokens.len() - 1
        });
        format!("T{}", place + 1)
    }
}
