//! How the answers of several deciders combine: one table.
//!
//! The stricter answer stands. A failed or late decider counts as a refusal that says what broke, and it outranks a plain
//! refusal: in a chain, too, the failure of a listener further in is never seen by those around it (R-085, L-59).

use crate::decision::{Denial, PreDecision};
use crate::gates::{GateError, GateErrorKind};

/// What one decider said, or what several said together, from the loosest to the strictest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It has no opinion.
    Abstain,
    /// The call may go on.
    Allow,
    /// Somebody is to be asked.
    Ask,
    /// No.
    Deny,
    /// It did not answer in time.
    Timeout,
    /// It failed or panicked.
    Error,
}

/// What a call meets after a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Consequence {
    /// It goes on; also when nobody had an opinion.
    GoOn,
    /// A human or machine is asked.
    Ask,
    /// It is refused.
    Refuse,
}

use Verdict::{Abstain, Allow, Ask, Deny, Error, Timeout};

/// What two deciders say together; rows and columns are in the order of [`Verdict::ALL`].
const TOGETHER: [[Verdict; 6]; 6] = [
    [Abstain, Allow, Ask, Deny, Timeout, Error],
    [Allow, Allow, Ask, Deny, Timeout, Error],
    [Ask, Ask, Ask, Deny, Timeout, Error],
    [Deny, Deny, Deny, Deny, Timeout, Error],
    [Timeout, Timeout, Timeout, Timeout, Timeout, Error],
    [Error, Error, Error, Error, Error, Error],
];

impl Verdict {
    /// All verdicts, from the loosest to the strictest.
    pub const ALL: [Self; 6] = [Abstain, Allow, Ask, Deny, Timeout, Error];

    /// What this decider and another say together; the order does not matter.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        TOGETHER[self as usize][other as usize]
    }

    /// What a call meets after this verdict. Doubt refuses.
    pub const fn consequence(self) -> Consequence {
        match self {
            Abstain | Allow => Consequence::GoOn,
            Ask => Consequence::Ask,
            Deny | Timeout | Error => Consequence::Refuse,
        }
    }

    /// The verdict in one word, as it is written in the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Abstain => "abstain",
            Allow => "allow",
            Ask => "ask",
            Deny => "deny",
            Timeout => "timeout",
            Error => "error",
        }
    }
}

impl From<&PreDecision> for Verdict {
    /// The end of a chain allows without anybody having decided: an abstention.
    fn from(decision: &PreDecision) -> Self {
        match decision {
            PreDecision::Allow(allowance) if allowance.undecided => Abstain,
            PreDecision::Allow(_) => Allow,
            PreDecision::Ask(_) => Ask,
            PreDecision::Deny(_) => Deny,
        }
    }
}

impl From<&Option<Denial>> for Verdict {
    /// A guard refuses or abstains.
    fn from(denial: &Option<Denial>) -> Self {
        if denial.is_some() { Deny } else { Abstain }
    }
}

impl From<&GateError> for Verdict {
    fn from(failure: &GateError) -> Self {
        match failure.kind {
            GateErrorKind::Timeout => Timeout,
            GateErrorKind::Error | GateErrorKind::Panic => Error,
        }
    }
}

impl From<&Result<PreDecision, GateError>> for Verdict {
    fn from(answer: &Result<PreDecision, GateError>) -> Self {
        match answer {
            Ok(decision) => decision.into(),
            Err(failure) => failure.into(),
        }
    }
}

/// Returns the stricter of two decisions with its author and words; of two equally strict ones, the first.
#[must_use]
pub fn stricter(first: PreDecision, second: PreDecision) -> PreDecision {
    pick(first, second)
}

/// Returns the strictest of several answers, failures included; of equally strict ones, the first. Without any answer
/// nobody decided.
///
/// # Errors
/// A decider failed or was late, and none was stricter.
pub fn strictest(
    answers: impl IntoIterator<Item = Result<PreDecision, GateError>>,
) -> Result<PreDecision, GateError> {
    answers.into_iter().fold(Ok(PreDecision::undecided()), pick)
}

fn pick<T>(first: T, second: T) -> T
where
    for<'a> Verdict: From<&'a T>,
{
    let ours = Verdict::from(&first);
    if ours.with(Verdict::from(&second)) == ours { first } else { second }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ToolError;

    /// Written out once more, by hand, so that the table cannot change by accident.
    const EXPECTED: &str = "\
abstain: abstain allow ask deny timeout error
allow: allow allow ask deny timeout error
ask: ask ask ask deny timeout error
deny: deny deny deny deny timeout error
timeout: timeout timeout timeout timeout timeout error
error: error error error error error error
";

    fn answer(verdict: Verdict, words: &str) -> Result<PreDecision, GateError> {
        let failure = |kind| GateError { error: ToolError::new(words), kind, by: None };
        match verdict {
            Abstain => Ok(PreDecision::undecided()),
            Allow => Ok(PreDecision::allow_because(words)),
            Ask => Ok(PreDecision::ask_because(words)),
            Deny => Ok(PreDecision::deny(words)),
            Timeout => Err(failure(GateErrorKind::Timeout)),
            Error => Err(failure(GateErrorKind::Error)),
        }
    }

    #[test]
    fn every_pair_combines_as_the_table_says() {
        let mut table = String::new();
        for row in Verdict::ALL {
            let cells: Vec<_> = Verdict::ALL.iter().map(|column| row.with(*column).as_str()).collect();
            table.push_str(&format!("{}: {}\n", row.as_str(), cells.join(" ")));
        }
        assert_eq!(table, EXPECTED);
    }

    #[test]
    fn the_order_of_deciders_does_not_matter_and_nobody_loosens() {
        for a in Verdict::ALL {
            assert_eq!(a.with(a), a);
            assert_eq!(a.with(Abstain), a, "an abstention changes nothing");
            for b in Verdict::ALL {
                let both = a.with(b);
                assert_eq!(both, b.with(a));
                assert!(both >= a && both >= b, "{a:?} with {b:?} is looser than one of them");
                assert!(both == a || both == b, "{a:?} with {b:?} is what neither said");
                for c in Verdict::ALL {
                    assert_eq!(both.with(c), a.with(b.with(c)));
                }
            }
        }
    }

    #[test]
    fn only_what_nobody_objects_to_goes_on() {
        for a in Verdict::ALL {
            for b in Verdict::ALL {
                let objection = a > Allow || b > Allow;
                assert_eq!(a.with(b).consequence() == Consequence::GoOn, !objection, "{a:?} with {b:?}");
                let refused = a > Ask || b > Ask;
                assert_eq!(a.with(b).consequence() == Consequence::Refuse, refused, "{a:?} with {b:?}");
            }
        }
    }

    #[test]
    fn the_stricter_answer_keeps_its_words_and_the_first_stands_among_equals() {
        for a in Verdict::ALL {
            for b in Verdict::ALL {
                let (first, second) = (answer(a, "first"), answer(b, "second"));
                let expected = if b > a { second.clone() } else { first.clone() };
                assert_eq!(strictest([first.clone(), second.clone()]), expected, "{a:?} with {b:?}");
                if let (Ok(x), Ok(y)) = (first, second) {
                    assert_eq!(Ok(stricter(x, y)), expected, "{a:?} with {b:?}");
                }
            }
        }
        assert_eq!(strictest([]), Ok(PreDecision::undecided()));
    }

    #[test]
    fn a_panic_is_an_error_and_a_guard_refuses_or_abstains() {
        let panic = GateError { error: ToolError::new("boom"), kind: GateErrorKind::Panic, by: None };
        assert_eq!(Verdict::from(&panic), Error);
        assert_eq!(Verdict::from(&None::<Denial>), Abstain);
        assert_eq!(Verdict::from(&Some(Denial::new("no"))), Deny);
    }
}
