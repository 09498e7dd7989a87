//! A wrapper can pass an attempt on, but not make or keep one.
use fivegates_core::call::Call;
use fivegates_core::gates::{Answer, Attempt};
use fivegates_core::outcome::Ending;

fn forge(call: &Call, ending: Ending) -> Answer {
    Answer::from(Attempt { token: call.token(), ending })
}

fn twice(attempt: Attempt) -> (Answer, Answer) {
    (Answer::from(attempt.clone()), Answer::from(attempt))
}

fn main() {}
