//! Colour, where it is wanted.

use std::io::IsTerminal as _;

/// Whether words are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// No colour.
    Plain,
    /// ANSI colours.
    Colour,
}

/// What a word stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The head of a report.
    Head,
    /// It went on.
    Good,
    /// It ended here.
    Bad,
    /// Somebody should look.
    Warn,
    /// Less important.
    Faint,
}

impl Style {
    /// Colour when stdout is a terminal that knows it and `NO_COLOR` is unset or empty.
    pub(crate) fn of_stdout() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// Colours a text that has been escaped and padded already.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if self == Self::Plain => return text.to_owned(),
            Tone::Head => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warn => "33",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
