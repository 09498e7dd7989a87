//! Signals as data: a number and its name.

use std::borrow::Cow;
use std::fmt;

/// A signal that ended a program. Displays as its name (`SIGTERM`), or as `SIG<number>` where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal(i32);

impl Signal {
    /// Wraps the number that the system reported.
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// The number, as the system counts.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// The conventional name, `SIGTERM` for example.
    pub fn name(self) -> Cow<'static, str> {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => Cow::Borrowed(name),
            None => Cow::Owned(format!("SIG{}", self.0)),
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(target_os = "linux")]
const NAMES: &[(i32, &str)] = {
    use libc as c;
    &[
        (c::SIGHUP, "SIGHUP"),
        (c::SIGINT, "SIGINT"),
        (c::SIGQUIT, "SIGQUIT"),
        (c::SIGILL, "SIGILL"),
        (c::SIGTRAP, "SIGTRAP"),
        (c::SIGABRT, "SIGABRT"),
        (c::SIGBUS, "SIGBUS"),
        (c::SIGFPE, "SIGFPE"),
        (c::SIGKILL, "SIGKILL"),
        (c::SIGUSR1, "SIGUSR1"),
        (c::SIGSEGV, "SIGSEGV"),
        (c::SIGUSR2, "SIGUSR2"),
        (c::SIGPIPE, "SIGPIPE"),
        (c::SIGALRM, "SIGALRM"),
        (c::SIGTERM, "SIGTERM"),
        (c::SIGXCPU, "SIGXCPU"),
        (c::SIGXFSZ, "SIGXFSZ"),
        (c::SIGVTALRM, "SIGVTALRM"),
        (c::SIGPROF, "SIGPROF"),
        (c::SIGIO, "SIGIO"),
        (c::SIGPWR, "SIGPWR"),
        (c::SIGSYS, "SIGSYS"),
    ]
};
#[cfg(not(target_os = "linux"))]
const NAMES: &[(i32, &str)] = &[];

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn known_signals_have_names_and_others_their_number() {
        assert_eq!(Signal::new(15).to_string(), "SIGTERM");
        assert_eq!(Signal::new(9).to_string(), "SIGKILL");
        assert_eq!(Signal::new(40).to_string(), "SIG40");
    }
}
