//! What became of a command, and what the model reads of it (spec §7.4).

use fivegates_core::json::Json;
use fivegates_process::{Captured, Finished};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BashOutput {
    /// The exit code, when the shell exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the shell, when one did: `SIGTERM` for example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether the command was stopped at its deadline, also when it then exited with 0.
    pub timed_out: bool,
    /// Whether the caller stopped the command; the call then fails.
    pub aborted: bool,
    /// Whether what was left of the command had to be killed.
    pub killed: bool,
    /// The deadline in milliseconds.
    pub timeout_ms: u64,
    /// How long the command took, in milliseconds.
    pub duration_ms: u64,
    /// What is known about the processes of the command.
    pub certainty: Certainty,
    /// Standard output.
    pub stdout: StreamOutput,
    /// Standard error.
    pub stderr: StreamOutput,
}

/// What is known about the processes of a command when the call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// None is left in its process group, and none holds its output.
    GroupGone,
    /// One may be left.
    SurvivorsPossible,
    /// The shell itself was not seen to end.
    Unconfirmed,
}

/// The kept end of one output stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamOutput {
    /// The text; what was not UTF-8 is replaced by U+FFFD.
    pub text: String,
    /// Whether the beginning was left out.
    pub truncated: bool,
    /// How many bytes were left out.
    pub omitted_bytes: u64,
    /// How many bytes were written.
    pub total_bytes: u64,
    /// Whether there was something that is not UTF-8.
    pub invalid_utf8: bool,
}

impl StreamOutput {
    fn of(captured: &Captured) -> Self {
        let kept = captured.text();
        Self {
            truncated: kept.omitted_bytes > 0,
            text: kept.text,
            omitted_bytes: kept.omitted_bytes,
            total_bytes: captured.total_bytes,
            invalid_utf8: kept.invalid_utf8,
        }
    }

    /// The lines that the model reads of it: the text without its last line end, and whether there was more.
    fn lines<'a>(&'a self, lines: &mut Vec<&'a str>) {
        if !self.text.is_empty() {
            lines.push(self.text.strip_suffix('\n').unwrap_or(&self.text));
        }
        if self.truncated {
            lines.push("[output truncated; full output: (unavailable)]");
        }
    }
}

impl BashOutput {
    pub(super) fn of(finished: &Finished, timeout_ms: u64) -> Self {
        Self {
            exit_code: finished.exit_code,
            signal: finished.signal.map(|signal| signal.to_string()),
            timed_out: finished.timed_out,
            aborted: finished.aborted,
            killed: finished.killed,
            timeout_ms,
            duration_ms: u64::try_from(finished.wall_time.as_millis()).unwrap_or(u64::MAX),
            certainty: match finished.certainty {
                fivegates_process::Certainty::GroupGone => Certainty::GroupGone,
                fivegates_process::Certainty::Unconfirmed => Certainty::Unconfirmed,
                // Also what a later version may tell apart: nothing is claimed that is not known.
                _ => Certainty::SurvivorsPossible,
            },
            stdout: StreamOutput::of(&finished.stdout),
            stderr: StreamOutput::of(&finished.stderr),
        }
    }

    /// What the model reads. The order is fixed; how the command ended comes last.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        self.stdout.lines(&mut lines);
        if !self.stderr.text.is_empty() || self.stderr.truncated {
            lines.push("[stderr]");
            self.stderr.lines(&mut lines);
        }
        if lines.is_empty() {
            lines.push("(no output)");
        }
        let timed_out = format!("[timed out after {}ms]", self.timeout_ms);
        if self.timed_out {
            lines.push(&timed_out);
        }
        let end = self.end();
        lines.extend(end.as_deref());
        lines.join("\n")
    }

    fn end(&self) -> Option<String> {
        match (&self.signal, self.exit_code) {
            (Some(signal), _) => Some(format!("[killed by signal: {signal}]")),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(format!("[exit code: {code}]")),
            (None, None) => Some("[exit code: unknown]".to_owned()),
        }
    }

    /// What a result card needs.
    pub(super) fn meta(&self) -> Json {
        let mut members = vec![("kind", Json::from("terminal"))];
        members.extend(self.exit_code.map(|code| ("exitCode", Json::from(i64::from(code)))));
        members.extend(self.signal.as_deref().map(|signal| ("signal", Json::from(signal))));
        members.push(("timedOut", Json::from(self.timed_out)));
        members.push(("truncated", Json::from(self.stdout.truncated || self.stderr.truncated)));
        members.push(("durationMs", Json::from(self.duration_ms)));
        Json::object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str, truncated: bool) -> StreamOutput {
        let omitted_bytes = u64::from(truncated);
        let total_bytes = text.len() as u64 + omitted_bytes;
        StreamOutput { text: text.into(), truncated, omitted_bytes, total_bytes, invalid_utf8: false }
    }

    fn output(stdout: StreamOutput, stderr: StreamOutput) -> BashOutput {
        BashOutput {
            exit_code: Some(0),
            signal: None,
            timed_out: false,
            aborted: false,
            killed: false,
            timeout_ms: 50,
            duration_ms: 1,
            certainty: Certainty::GroupGone,
            stdout,
            stderr,
        }
    }

    #[track_caller]
    fn check(output: &BashOutput, expected: &str) {
        assert_eq!(output.text(), expected);
    }

    #[test]
    fn the_order_of_the_text_is_fixed() {
        let none = || stream("", false);
        check(&output(stream("a\nb\n", false), none()), "a\nb");
        check(&output(none(), none()), "(no output)");
        check(&output(none(), stream("e\n", false)), "[stderr]\ne");
        let truncated = "[output truncated; full output: (unavailable)]";
        let both = output(stream("a\n\n", true), stream("e", true));
        check(&both, &format!("a\n\n{truncated}\n[stderr]\ne\n{truncated}"));
        check(&output(stream("", true), none()), truncated);
        let failed = BashOutput { exit_code: Some(3), ..output(none(), none()) };
        check(&failed, "(no output)\n[exit code: 3]");
        let late = BashOutput { timed_out: true, ..output(stream("x", false), none()) };
        check(&late, "x\n[timed out after 50ms]");
        let late = BashOutput { exit_code: None, signal: Some("SIGTERM".into()), ..late };
        check(&late, "x\n[timed out after 50ms]\n[killed by signal: SIGTERM]");
        let unseen = BashOutput { exit_code: None, ..output(none(), none()) };
        check(&unseen, "(no output)\n[exit code: unknown]");
    }
}
