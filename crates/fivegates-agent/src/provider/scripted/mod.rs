//! A model that plays a file of turns, for demonstrations and tests: no key, no network, the same every time.
//!
//! The file is one JSON object. Each entry of `turns` is what the model answers to one request, in order:
//!
//! ```json
//! {"turns": [
//!   {"text": "I look first.",
//!    "calls": [{"id": "c1", "name": "read", "arguments": {"file_path": "notes.txt"}},
//!              {"name": "bash", "arguments": "{\"command\": \"echo hi\"}"}]},
//!   {"text": "cut short", "finish": "max-tokens"},
//!   {"text": "All done."}
//! ]}
//! ```
//!
//! - A turn has `text`, or `calls`, or both.
//! - `arguments` is an object, whose source text is kept byte for byte, or a string, which is itself the raw text that
//!   the model produced (so that broken JSON can be played too). Left out, it is the empty text.
//! - A call without `id` gets `call-<turn>-<index>`, both counted from 1. Two calls of one turn may not share an id.
//! - `finish` is `stop`, `tool-calls` or `max-tokens`. Left out, it follows from the calls. With `max-tokens` the calls
//!   are dropped, as they are for a real model; `stop` with calls counts as `tool-calls`.
//! - Unknown keys, keys given twice and values of a wrong type are errors with file, line and column. Keys within
//!   `arguments` are the model's own and are not looked at.
//!
//! When all turns are played, the next request fails with `SCRIPT_EXHAUSTED`.

mod file;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{BoxFuture, Delta, DeltaSink, ErrorCode, ModelRequest, ModelTurn, Provider, ProviderError};

/// Bytes of a script: 256 MiB, so that a call with a huge argument can be played.
pub const SCRIPT_BYTES_MAX: u64 = 256 << 20;

/// Says why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script `{}`: {source}; check the path", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file has more than [`SCRIPT_BYTES_MAX`] bytes.
    #[error("the script `{}` has more than {SCRIPT_BYTES_MAX} bytes; split it", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// The text is not a script.
    #[error("`{}`, line {line}, column {column}: {message}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong there and what to do.
        message: String,
    },
}

/// Plays the turns of a script in order, one per request, whoever asks.
#[derive(Debug)]
pub struct ScriptedProvider {
    file: PathBuf,
    turns: Vec<ModelTurn>,
    next: AtomicUsize,
}

impl ScriptedProvider {
    /// Reads and checks the whole script. It blocks on the file, so call it while the program starts.
    pub fn load(file: &Path) -> Result<Self, ScriptError> {
        let unreadable = |source| ScriptError::Unreadable { file: file.to_owned(), source };
        let mut bytes = Vec::new();
        let mut source = File::open(file).map_err(unreadable)?.take(SCRIPT_BYTES_MAX + 1);
        source.read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > SCRIPT_BYTES_MAX {
            return Err(ScriptError::TooLarge { file: file.to_owned() });
        }
        Self::parse(&bytes, file)
    }

    /// Checks a script that is already in memory; `file` names it in errors.
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Self, ScriptError> {
        let turns = file::parse(bytes).map_err(|fault| ScriptError::Invalid {
            file: file.to_owned(),
            line: fault.line,
            column: fault.column,
            message: fault.message,
        })?;
        Ok(Self { file: file.to_owned(), turns, next: AtomicUsize::new(0) })
    }

    fn play(&self, deltas: &mut DeltaSink<'_>) -> Result<ModelTurn, ProviderError> {
        // It stays at the end, so that no number of further requests can wrap it round to the first turn.
        let advance = |next: usize| (next < self.turns.len()).then_some(next + 1);
        let played = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance);
        let Some(turn) = played.ok().and_then(|index| self.turns.get(index)) else {
            return Err(self.exhausted());
        };
        if !turn.text.is_empty() {
            deltas(Delta::Text(&turn.text));
        }
        for (index, call) in turn.calls.iter().enumerate() {
            deltas(Delta::CallStarted { index, name: &call.name });
            if !call.arguments.is_empty() {
                deltas(Delta::CallArguments { index, text: &call.arguments });
            }
        }
        Ok(turn.clone())
    }

    fn exhausted(&self) -> ProviderError {
        let (file, turns) = (self.file.display(), self.turns.len());
        let message = format!(
            "the script `{file}` is exhausted: all {turns} turns are played; add the next turn to it"
        );
        ProviderError::new(ErrorCode::ScriptExhausted, message)
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        "scripted"
    }

    fn turn<'a>(
        &'a self,
        _request: &'a ModelRequest,
        deltas: &'a mut DeltaSink<'_>,
    ) -> BoxFuture<'a, Result<ModelTurn, ProviderError>> {
        Box::pin(async move { self.play(deltas) })
    }
}

#[cfg(test)]
mod tests;
