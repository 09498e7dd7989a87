//! What the model is told.

use fivegates_core::call::Call;
use fivegates_core::content::Context;
use fivegates_core::json;

/// Which reminder a context is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The first one.
    Gentle,
    /// A later one, with tool, count and arguments.
    Detailed,
}

impl Kind {
    /// The source of contexts of this kind.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Gentle => "repeat_reminder/gentle",
            Self::Detailed => "repeat_reminder/detailed",
        }
    }

    /// Tells which reminder a context is, if it is one.
    pub fn of(context: &Context) -> Option<Self> {
        [Self::Gentle, Self::Detailed].into_iter().find(|kind| kind.source() == &*context.source)
    }

    /// Makes the reminder about a call that was the same this many times in a row.
    pub(super) fn context(self, call: &Call, count: u64, preview_chars: usize) -> Context {
        let text = match self {
            Self::Gentle => {
                "The last tool calls were the same call, repeated. If its result did not help, repeating \
                 it will not either: use what it returned, change the arguments, or try another way."
                    .to_owned()
            }
            Self::Detailed => format!(
                "Tool `{}` has now been called {count} times in a row with the same arguments:\n{}\nDo not make this \
                 call again unless something has changed. Say what you expected of it and what is missing, then try \
                 another way or ask the user.",
                call.name(),
                preview(&call.arguments().map(json::compact).unwrap_or_default(), preview_chars)
            ),
        };
        Context::text(self.source(), text)
    }
}

/// Cuts a text to this many characters and says how many are left out.
fn preview(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((at, _)) => {
            let omitted = text[at..].chars().count();
            format!("{}… ({omitted} characters omitted)", &text[..at])
        }
    }
}
