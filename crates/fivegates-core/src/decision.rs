//! What the gates can decide. What they cannot decide has no form here: there are no arguments in a decision, no
//! allow in a guard's answer, and never both content and value in a replacement (L-51, L-52).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::content::{Content, Context};
use crate::ids::ComponentId;
use crate::json::Json;

/// What kind of refusal a denial is (L-03).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DenialKind {
    /// A pre-execute listener's rule.
    Policy,
    /// A guard.
    Guard,
    /// A hook program.
    Hook,
    /// A budget that is used up.
    Budget,
    /// A person or machine said no to an ask.
    ApprovalRejected,
    /// An ask was cancelled before it was answered.
    ApprovalCancelled,
    /// Nobody could be asked.
    ApprovalUnavailable,
    /// There is no approval service.
    ApprovalUnsupported,
    /// The call has no agent through which to ask.
    NoAgent,
    /// A gate failed.
    GateError,
    /// A gate panicked.
    GatePanic,
    /// A gate did not answer in time.
    GateTimeout,
    /// What was approved is not what was about to run.
    DigestMismatch,
}

impl DenialKind {
    /// The kind as it is written in results and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Guard => "guard",
            Self::Hook => "hook",
            Self::Budget => "budget",
            Self::ApprovalRejected => "approval_rejected",
            Self::ApprovalCancelled => "approval_cancelled",
            Self::ApprovalUnavailable => "approval_unavailable",
            Self::ApprovalUnsupported => "approval_unsupported",
            Self::NoAgent => "no_agent",
            Self::GateError => "gate_error",
            Self::GatePanic => "gate_panic",
            Self::GateTimeout => "gate_timeout",
            Self::DigestMismatch => "digest_mismatch",
        }
    }

    /// The machine-readable code used when the denying component gives none.
    pub fn default_code(self) -> &'static str {
        match self {
            Self::Policy => "POLICY_DENIED",
            Self::Guard => "GUARD_DENIED",
            Self::Hook => "HOOK_DENIED",
            Self::Budget => "BUDGET_EXHAUSTED",
            Self::ApprovalRejected => "APPROVAL_REJECTED",
            Self::ApprovalCancelled => "APPROVAL_CANCELLED",
            Self::ApprovalUnavailable => "APPROVAL_UNAVAILABLE",
            Self::ApprovalUnsupported => "APPROVAL_UNSUPPORTED",
            Self::NoAgent => "APPROVAL_NO_AGENT",
            Self::GateError => "GATE_ERROR",
            Self::GatePanic => "GATE_PANIC",
            Self::GateTimeout => "GATE_TIMEOUT",
            Self::DigestMismatch => "DIGEST_MISMATCH",
        }
    }
}

impl fmt::Display for DenialKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal: what kind, which component, its words for the model and its code for machines (L-03).
///
/// The model reads the reason only. Kind, component and code are for the record, for observers and for `why`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denial {
    kind: Option<DenialKind>,
    by: Option<ComponentId>,
    reason: Arc<str>,
    code: Option<Cow<'static, str>>,
}

impl Denial {
    /// Makes a refusal in these words. The gate that passes it on fills in its kind and the component.
    pub fn new(reason: impl Into<Arc<str>>) -> Self {
        Self { kind: None, by: None, reason: reason.into(), code: None }
    }

    /// Gives the refusal a machine-readable code of its own.
    #[must_use]
    pub fn with_code(self, code: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Some(code.into()), ..self }
    }

    /// Says that a hook program refused.
    #[must_use]
    pub fn from_hook(self) -> Self {
        Self { kind: Some(DenialKind::Hook), ..self }
    }

    /// Says that a budget is used up.
    #[must_use]
    pub fn from_budget(self) -> Self {
        Self { kind: Some(DenialKind::Budget), ..self }
    }

    pub(crate) fn of(kind: DenialKind, by: &ComponentId, reason: impl Into<Arc<str>>) -> Self {
        Self { kind: Some(kind), by: Some(by.clone()), reason: reason.into(), code: None }
    }

    pub(crate) fn with_reason(&self, reason: impl Into<Arc<str>>) -> Self {
        Self { reason: reason.into(), ..self.clone() }
    }

    /// Fills in what the component left open.
    pub(crate) fn stamp(self, kind: DenialKind, by: &ComponentId) -> Self {
        Self { kind: self.kind.or(Some(kind)), by: self.by.or_else(|| Some(by.clone())), ..self }
    }

    /// What kind of refusal it is.
    pub fn kind(&self) -> DenialKind {
        self.kind.unwrap_or(DenialKind::Policy)
    }

    /// The component that refused.
    pub fn by(&self) -> Option<&ComponentId> {
        self.by.as_ref()
    }

    /// What the model is told.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn shared_reason(&self) -> &Arc<str> {
        &self.reason
    }

    /// The machine-readable code.
    pub fn code(&self) -> &str {
        self.code.as_deref().unwrap_or_else(|| self.kind().default_code())
    }
}

/// A pre-execute listener's decision. It has no way to carry arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PreDecision {
    /// Go on to the guards.
    Allow(Allowance),
    /// Refuse.
    Deny(Denial),
    /// Ask a human first.
    Ask(Question),
}

/// That a call may go on, and who said so.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allowance {
    pub(crate) by: Option<ComponentId>,
    reason: Option<Arc<str>>,
    /// The chain ended without a decision; who passes that on has not decided either.
    pub(crate) undecided: bool,
}

impl Allowance {
    /// The component that allowed the call; none when nobody decided.
    pub fn by(&self) -> Option<&ComponentId> {
        self.by.as_ref()
    }

    /// Why, for the record.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// That somebody is to be asked, and why.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Question {
    pub(crate) by: Option<ComponentId>,
    reason: Option<Arc<str>>,
}

impl Question {
    /// The component that wants somebody asked.
    pub fn by(&self) -> Option<&ComponentId> {
        self.by.as_ref()
    }

    /// Why.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl PreDecision {
    /// The end of a chain: nobody decided, so the call is allowed.
    pub(crate) fn undecided() -> Self {
        Self::Allow(Allowance { undecided: true, ..Allowance::default() })
    }

    /// Allows the call.
    pub fn allow() -> Self {
        Self::Allow(Allowance::default())
    }

    /// Allows the call and says why, for the record.
    pub fn allow_because(reason: impl Into<Arc<str>>) -> Self {
        Self::Allow(Allowance { reason: Some(reason.into()), ..Allowance::default() })
    }

    /// Refuses the call in these words.
    pub fn deny(reason: impl Into<Arc<str>>) -> Self {
        Self::Deny(Denial::new(reason))
    }

    /// Wants somebody asked, without saying why.
    pub fn ask() -> Self {
        Self::Ask(Question::default())
    }

    /// Wants somebody asked, for this reason.
    pub fn ask_because(reason: impl Into<Arc<str>>) -> Self {
        Self::Ask(Question { by: None, reason: Some(reason.into()) })
    }

    pub(crate) fn stamp(self, by: &ComponentId) -> Self {
        match self {
            Self::Allow(allowance) if allowance.by.is_none() && !allowance.undecided => {
                Self::Allow(Allowance { by: Some(by.clone()), ..allowance })
            }
            Self::Ask(question) if question.by.is_none() => {
                Self::Ask(Question { by: Some(by.clone()), ..question })
            }
            Self::Deny(denial) => Self::Deny(denial.stamp(DenialKind::Policy, by)),
            stamped => stamped,
        }
    }
}

/// How an approval request ended. There is no other answer (L-52).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalOutcome {
    /// This one call may run.
    AllowedOnce,
    /// No.
    Rejected,
    /// The request was withdrawn.
    Cancelled,
    /// Nobody could be asked.
    Unavailable,
}

impl ApprovalOutcome {
    /// The outcome as it is written in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What a replacement replaces: one thing, never two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replace {
    /// What the model reads; presentation, not secrecy: programs still receive the value (R-169, L-14).
    Content(Content),
    /// The value; content and metadata are made anew from it.
    Value(Json),
}

/// What a redaction puts in the place of the result, all at once (L-14). Legal on failures too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redaction {
    /// The new value; `null` for a result that has none.
    pub value: Json,
    /// What the model reads.
    pub content: Content,
    /// The new message of a failure.
    pub message: Arc<str>,
}

/// What a post-execute listener does with a result (R-161 … R-165, L-14).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PostAction {
    /// Lets it pass, with at most one thing replaced.
    Accept(Option<Replace>),
    /// Replaces value, content and message together.
    Redact(Redaction),
    /// Turns it into an error with this feedback.
    Block(Content),
    /// Turns it into an error: the decision came from outside and cannot be carried out. A listener further out can
    /// still decide otherwise.
    Refuse(PostDecisionError),
}

/// A post-execute listener's decision, and what it queues for the model's next input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostDecision {
    /// What happens to the result.
    pub action: PostAction,
    /// Messages for the model's next input; they follow those that the call deferred.
    pub contexts: Vec<Context>,
    pub(crate) by: Option<ComponentId>,
}

impl From<PostAction> for PostDecision {
    fn from(action: PostAction) -> Self {
        Self { action, contexts: Vec::new(), by: None }
    }
}

impl PostDecision {
    /// Lets the result pass unchanged.
    pub fn accept() -> Self {
        PostAction::Accept(None).into()
    }

    /// Replaces what the model reads.
    pub fn replace_content(content: Content) -> Self {
        PostAction::Accept(Some(Replace::Content(content))).into()
    }

    /// Replaces the value.
    pub fn replace_value(value: Json) -> Self {
        PostAction::Accept(Some(Replace::Value(value))).into()
    }

    /// Replaces value, content and message together.
    pub fn redact(redaction: Redaction) -> Self {
        PostAction::Redact(redaction).into()
    }

    /// Turns the result into an error with this feedback.
    pub fn block(feedback: Content) -> Self {
        PostAction::Block(feedback).into()
    }

    /// Queues a message before those already queued.
    #[must_use]
    pub fn prepend_context(mut self, context: Context) -> Self {
        self.contexts.insert(0, context);
        self
    }

    /// The component that made the decision; none when nobody did.
    pub fn by(&self) -> Option<&ComponentId> {
        self.by.as_ref()
    }

    pub(crate) fn stamp(self, by: &ComponentId) -> Self {
        Self { by: self.by.or_else(|| Some(by.clone())), ..self }
    }
}

/// A decision from outside (a hook, another process, a scenario) that may hold what [`PostDecision`] cannot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RawPostDecision {
    /// Feedback that blocks the result.
    pub block: Option<Content>,
    /// Replacement content.
    pub content: Option<Content>,
    /// Replacement value.
    pub value: Option<Json>,
    /// Messages for the model's next input.
    pub contexts: Vec<Context>,
}

/// A foreign decision that cannot be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PostDecisionError {
    /// Content and value at once.
    #[error("tools/post-execute accept decision cannot replace both value and content")]
    BothReplaced,
    /// A block that also replaces.
    #[error("tools/post-execute block decision cannot replace value or content")]
    BlockReplaces,
}

impl RawPostDecision {
    /// Makes the decision; one that cannot be carried out becomes its refusal, without its contexts (L-02).
    pub fn decide(self) -> PostDecision {
        PostDecision::try_from(self).unwrap_or_else(|error| PostAction::Refuse(error).into())
    }
}

impl TryFrom<RawPostDecision> for PostDecision {
    type Error = PostDecisionError;

    fn try_from(raw: RawPostDecision) -> Result<Self, PostDecisionError> {
        let action = match (raw.block, raw.content, raw.value) {
            (Some(feedback), None, None) => PostAction::Block(feedback),
            (Some(_), ..) => return Err(PostDecisionError::BlockReplaces),
            (None, Some(_), Some(_)) => return Err(PostDecisionError::BothReplaced),
            (None, Some(content), None) => PostAction::Accept(Some(Replace::Content(content))),
            (None, None, Some(value)) => PostAction::Accept(Some(Replace::Value(value))),
            (None, None, None) => PostAction::Accept(None),
        };
        Ok(Self { action, contexts: raw.contexts, by: None })
    }
}
