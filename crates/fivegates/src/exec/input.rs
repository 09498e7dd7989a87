//! Lines of a file or of standard input, read on a thread of their own.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::error::CliError;

/// Lines that are read ahead, unless they are typed.
const AHEAD: usize = 4;

/// One line.
pub(super) struct Piece {
    /// The line's number, from 1.
    pub(super) number: u64,
    /// Its bytes without the line end, or why there are none.
    pub(super) line: Result<Vec<u8>, String>,
}

/// Lines as they come. Blank lines are left out.
pub(super) struct Input {
    lines: mpsc::Receiver<Piece>,
    /// Asks the thread for one line when lines are typed: while calls run, what is typed is for whoever asks about them.
    wanted: std::sync::mpsc::SyncSender<()>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Input {
    /// Opens a file, or standard input for `-`. A line of more than `line_bytes_max` bytes is skipped.
    pub(super) fn open(path: &Path, line_bytes_max: usize) -> Result<Self, CliError> {
        let source: Option<Box<dyn Read + Send>> = if path.as_os_str() == "-" {
            Some(Box::new(std::io::stdin()))
        } else {
            let shown = path.display();
            let unreadable = |error| {
                CliError::usage(format!("cannot read `{shown}`: {error}"))
                    .hint("name a file of JSON lines, or - for standard input")
            };
            let kind = std::fs::metadata(path).map_err(unreadable)?;
            if kind.is_dir() {
                return Err(CliError::usage(format!("`{shown}` is a directory"))
                    .hint("name a file of JSON lines, or - for standard input"));
            }
            // Opening a pipe waits for its writer, so that is left to the thread that reads.
            let opened = kind.is_file().then(|| File::open(path)).transpose().map_err(unreadable)?;
            opened.map(|file| Box::new(file) as Box<dyn Read + Send>)
        };
        let path = path.to_owned();
        let (sender, lines) = mpsc::channel(AHEAD);
        let (wanted, wants) = std::sync::mpsc::sync_channel(1);
        let is_typed = path.as_os_str() == "-" && std::io::stdin().is_terminal();
        let wants = is_typed.then_some(wants);
        let failure: Arc<Mutex<Option<String>>> = Arc::default();
        let kept = Arc::clone(&failure);
        let reader = move || {
            let source = source
                .map_or_else(|| File::open(&path).map(|file| Box::new(file) as Box<dyn Read + Send>), Ok);
            let done = source.and_then(|source| {
                pump(BufReader::with_capacity(64 << 10, source), line_bytes_max, wants.as_ref(), &sender)
            });
            if let Err(error) = done {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(format!("reading the input failed: {error}"));
            }
        };
        // The thread ends with the input or with the process; it holds nothing that must be put away.
        std::thread::Builder::new()
            .name("exec-input".to_owned())
            .spawn(reader)
            .map_err(|error| CliError::failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { lines, wanted, failure })
    }

    pub(super) async fn next(&mut self) -> Option<Piece> {
        // When the thread is gone, what it left is read to the end.
        let _ = self.wanted.try_send(());
        self.lines.recv().await
    }

    /// Why the input ended early, when it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn pump(
    mut source: impl BufRead,
    line_bytes_max: usize,
    wants: Option<&std::sync::mpsc::Receiver<()>>,
    sender: &mpsc::Sender<Piece>,
) -> std::io::Result<()> {
    let mut number = 0;
    let mut is_wanted = false;
    loop {
        // Blank lines answer nobody, so that a want outlives them.
        if !is_wanted && wants.is_some_and(|wants| wants.recv().is_err()) {
            return Ok(());
        }
        is_wanted = true;
        let Some(line) = next_line(&mut source, line_bytes_max)? else {
            return Ok(());
        };
        number += 1;
        let line = line.map(|bytes| if number == 1 { without_mark(bytes) } else { bytes });
        if line.as_ref().is_ok_and(|bytes| bytes.iter().all(u8::is_ascii_whitespace)) {
            continue;
        }
        is_wanted = false;
        if sender.blocking_send(Piece { number, line }).is_err() {
            return Ok(());
        }
    }
}

/// Takes the byte order mark off that some editors put before the first line.
fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    bytes
}

/// Reads one line; one that is too long is skipped to its end without being kept.
fn next_line(
    source: &mut impl BufRead,
    line_bytes_max: usize,
) -> std::io::Result<Option<Result<Vec<u8>, String>>> {
    let mut line = Vec::new();
    let mut length = 0_usize;
    loop {
        let chunk = match source.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        length = length.saturating_add(part.len());
        if length <= line_bytes_max {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let used = part.len() + usize::from(end.is_some());
        source.consume(used);
        if end.is_some() {
            return Ok(Some(checked(line, length, line_bytes_max)));
        }
    }
    Ok((length > 0).then(|| checked(line, length, line_bytes_max)))
}

fn checked(mut line: Vec<u8>, length: usize, line_bytes_max: usize) -> Result<Vec<u8>, String> {
    if length > line_bytes_max {
        return Err(format!("the line is {length} bytes long and the limit is {line_bytes_max} bytes"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_BYTES_MAX: usize = 1 << 20;

    #[test]
    fn lines_end_with_the_input_too() {
        let mut source = BufReader::with_capacity(3, &b"one\r\n\ntwo"[..]);
        let mut next = || next_line(&mut source, LINE_BYTES_MAX).unwrap().map(Result::unwrap);
        assert_eq!(next(), Some(b"one".to_vec()));
        assert_eq!(next(), Some(Vec::new()));
        assert_eq!(next(), Some(b"two".to_vec()));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let long = std::io::repeat(b'x').take(LINE_BYTES_MAX as u64 + 1);
        let mut source = BufReader::new(long.chain(&b"\nshort"[..]));
        assert!(next_line(&mut source, LINE_BYTES_MAX).unwrap().unwrap().is_err());
        assert_eq!(next_line(&mut source, LINE_BYTES_MAX).unwrap().unwrap().unwrap(), b"short");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_line() {
        assert_eq!(without_mark(b"\xef\xbb\xbf{}".to_vec()), b"{}");
        assert_eq!(without_mark(b"{}".to_vec()), b"{}");
    }
}
