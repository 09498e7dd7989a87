//! The program under test: started with nothing in its environment, always given a deadline, always ended.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// No single command of these tests takes nearly as long.
const DEADLINE: Duration = Duration::from_secs(60);

/// The built program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fivegates");

/// What to start.
pub(crate) struct Start {
    command: Command,
    stdin: Vec<u8>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit status; 128 and the signal's number when a signal ended it, as a shell says it.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[expect(clippy::disallowed_methods, reason = "the program under test is run as users run it")]
fn command(program: &str) -> Command {
    Command::new(program)
}

impl Start {
    /// The program with arguments.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let mut command = command(PROGRAM);
        command.args(arguments);
        Self { command, stdin: Vec::new() }.bare()
    }

    /// A bash script that gets the program as `$0` and the arguments as `"$@"`.
    pub(crate) fn script(script: &str, arguments: &[&str]) -> Self {
        let mut command = command("/bin/bash");
        command.args(["-c", script, PROGRAM]).args(arguments);
        Self { command, stdin: Vec::new() }.bare()
    }

    fn bare(mut self) -> Self {
        self.command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.command.current_dir(folder.into());
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Starts it and keeps its input open.
    pub(crate) fn spawn(mut self) -> Running {
        let all = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = all.spawn().unwrap();
        let stdin = child.stdin.take();
        let (lines, stdout) = channel();
        let mut source = BufReader::new(child.stdout.take().unwrap());
        let reading = std::thread::spawn(move || {
            let mut line = Vec::new();
            while source.read_until(b'\n', &mut line).unwrap() > 0 {
                if lines.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let mut source = BufReader::new(child.stderr.take().unwrap());
        let (said, saying) = channel();
        let errors = std::thread::spawn(move || {
            let mut all = Vec::new();
            let mut from = 0;
            while source.read_until(b'\n', &mut all).unwrap() > 0 {
                // Whoever does not listen reads all of it at the end.
                let _ = said.send(String::from_utf8_lossy(&all[from..]).into_owned());
                from = all.len();
            }
            all
        });
        Running { child, stdin, stdout, saying, seen: Vec::new(), reading, errors }
    }

    /// Runs it to its end.
    pub(crate) fn done(mut self) -> Done {
        let input = std::mem::take(&mut self.stdin);
        let mut running = self.spawn();
        running.write(input);
        running.end()
    }
}

/// A program under way.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<Vec<u8>>,
    saying: Receiver<String>,
    seen: Vec<u8>,
    reading: JoinHandle<()>,
    errors: JoinHandle<Vec<u8>>,
}

impl Running {
    /// Hands over input; that the program does not want all of it is no failure.
    pub(crate) fn write(&mut self, bytes: impl Into<Vec<u8>>) {
        let (bytes, mut stdin) = (bytes.into(), self.stdin.take().unwrap());
        // On a thread, so that a program which reads nothing cannot hold up the test.
        let (back, written) = channel();
        std::thread::spawn(move || {
            let _ = stdin.write_all(&bytes);
            let _ = back.send(stdin);
        });
        self.stdin = Some(written.recv_timeout(DEADLINE).expect("the program takes its input"));
    }

    /// Waits for a line of output.
    pub(crate) fn line(&mut self) -> String {
        let line = self.stdout.recv_timeout(DEADLINE).expect("the program prints a line");
        self.seen.extend_from_slice(&line);
        String::from_utf8(line).unwrap()
    }

    /// Waits for a line of standard error that has this in it.
    pub(crate) fn wait_for_stderr(&self, text: &str) {
        while !self.saying.recv_timeout(DEADLINE).expect("the program says it").contains(text) {}
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// The most memory that it had so far, in KiB.
    pub(crate) fn memory_kib_max(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> Done {
        drop(self.stdin.take());
        self.ended()
    }

    /// Waits for its end with its input open.
    pub(crate) fn ended(self) -> Done {
        let Self { mut child, stdin, stdout, mut seen, reading, errors, saying: _ } = self;
        let pid = Pid::from_child(&child);
        let (ended, status) = channel();
        let waiting = std::thread::spawn(move || {
            let _ = ended.send(child.wait().unwrap());
        });
        let status = status.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            // It is ours and not waited for yet, so the id is still its own.
            kill_process(pid, Signal::KILL).unwrap();
            panic!("the program did not end in time");
        });
        drop(stdin);
        waiting.join().unwrap();
        while let Ok(line) = stdout.recv_timeout(DEADLINE) {
            seen.extend_from_slice(&line);
        }
        reading.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let status = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap();
        let done = Done { status, stdout: text(seen), stderr: text(errors.join().unwrap()) };
        done.is_decent();
        done
    }
}

impl Done {
    /// What holds for everything the program ever prints.
    fn is_decent(&self) {
        for text in [&self.stdout, &self.stderr] {
            assert!(!text.contains("panicked at") && !text.contains("RUST_BACKTRACE"), "{text}");
            let raw = text.chars().find(|&character| is_raw(character));
            assert_eq!(raw, None, "{text:?}");
        }
    }

    /// The lines of standard output as JSON.
    pub(crate) fn json_lines(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Checks the status and returns itself.
    #[track_caller]
    pub(crate) fn status(self, expected: i32) -> Self {
        assert_eq!(self.status, expected, "{}{}", self.stdout, self.stderr);
        self
    }
}

/// What a terminal obeys or an eye does not see: controls but line breaks and tabs, and what changes the direction.
fn is_raw(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Where a command of the `bash` tool says that it has begun, and shows by its end of the connection that it is gone.
pub(crate) struct Meeting(TcpListener);

impl Meeting {
    pub(crate) fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// What the command has to run first.
    pub(crate) fn hello(&self) -> String {
        format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo hello >&3", self.0.local_addr().unwrap().port())
    }

    /// Waits for the command.
    pub(crate) fn met(self) -> Met {
        let (sender, met) = channel();
        std::thread::spawn(move || sender.send(self.0.accept().unwrap().0));
        let stream = met.recv_timeout(DEADLINE).expect("the command begins");
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert_eq!(line, "hello\n");
        Met(stream)
    }
}

/// A command that has begun.
pub(crate) struct Met(BufReader<TcpStream>);

impl Met {
    /// Waits until every process that holds the connection is gone.
    pub(crate) fn gone(mut self) {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => assert!(rest.is_empty(), "{rest:?}"),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "something is left behind");
            }
        }
    }
}
