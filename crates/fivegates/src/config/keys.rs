//! Every key: what it is for, who may say it, and where its value is kept. This is the one list; what is read, what is
//! refused, the error texts and the reference all come from it.

use super::Config;
use super::value::Slot;

/// What a file found upward from the working directory may do with a key. Such a file may come with a foreign
/// repository, so it can make things stricter and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InProject {
    /// It may be set to what is at least as strict as what holds without the project's file.
    Tighten,
    /// It may not stand there.
    Never,
}

/// One key.
pub(super) struct Key {
    /// The section; empty for a key above all sections.
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) in_project: InProject,
    /// What it is for, as one clause.
    pub(super) about: &'static str,
    pub(super) slot: fn(&mut Config) -> &mut dyn Slot,
}

impl Key {
    /// The key with its section, as on the command line.
    pub(super) fn path(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }
}

const fn key(
    section: &'static str,
    name: &'static str,
    in_project: InProject,
    about: &'static str,
    slot: fn(&mut Config) -> &mut dyn Slot,
) -> Key {
    Key { section, name, in_project, about, slot }
}

use InProject::{Never, Tighten};

/// All keys but those of `[[guard]]`, section by section.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("", "permission", Tighten, "how much a model may do without a person", |c| &mut c.permission),

    key("model", "use", Never, "which model answers", |c| &mut c.model.choice),
    key("model", "base_url", Never, "where the server answers, if not at its own address", |c| &mut c.model.base_url),
    key("model", "system_prompt", Never, "what the model is told before anything else", |c| &mut c.model.system_prompt),
    key("model", "steps_max", Tighten, "model requests in one turn", |c| &mut c.model.steps_max),
    key("model", "parallel_max", Tighten, "calls of one message that may overlap", |c| &mut c.model.parallel_max),

    key("bash", "timeout_ms", Tighten, "deadline of a command for which the model asks for none", |c| &mut c.bash.timeout_ms),
    key("bash", "timeout_ms_max", Tighten, "longest deadline that the model may ask for", |c| &mut c.bash.timeout_ms_max),
    key("bash", "output_bytes_max", Tighten, "bytes kept of each of stdout and stderr", |c| &mut c.bash.output_bytes_max),
    key("bash", "grace_ms", Tighten, "time between TERM and KILL", |c| &mut c.bash.grace_ms),

    key("files", "read_lines_max", Tighten, "lines of one `read`", |c| &mut c.files.read_lines_max),
    key("files", "read_bytes_max", Tighten, "bytes of one `read`", |c| &mut c.files.read_bytes_max),
    key("files", "text_bytes_max", Tighten, "bytes of a file that is written or edited", |c| &mut c.files.text_bytes_max),

    key("record", "path", Never, "the file that holds the record", |c| &mut c.record.path),
    key("record", "sync", Tighten, "what a recorded event survives: kill -9, or a power loss too", |c| &mut c.record.sync),

    key("waits", "pre_execute_ms", Tighten, "for all pre-execute listeners of a call together", |c| &mut c.waits.pre_execute_ms),
    key("waits", "approval_ms", Tighten, "for a person's answer", |c| &mut c.waits.approval_ms),
    key("waits", "guard_ms", Tighten, "for each guard", |c| &mut c.waits.guard_ms),
    key("waits", "post_execute_ms", Tighten, "for all post-execute listeners of a call together", |c| &mut c.waits.post_execute_ms),

    key("limits", "arguments_bytes_max", Tighten, "bytes of one call's arguments", |c| &mut c.limits.arguments_bytes_max),

    key("deadline", "default_ms", Tighten, "deadline of tools that declare none", |c| &mut c.deadline.default_ms),
    key("deadline", "max_ms", Tighten, "no deadline is longer, whatever a tool declares", |c| &mut c.deadline.max_ms),
];

/// The list of guards; its tables hold [`GUARD_KEYS`]. A project's file may add to it.
pub(super) const GUARD: &str = "guard";

/// The keys of a `[[guard]]`: name, what it is for, and whether it must be there.
pub(super) const GUARD_KEYS: &[(&str, &str, Presence)] = &[
    ("tool", "exact name of the tool that is refused; it need not exist", Presence::Required),
    ("reason", "what the model is told", Presence::Required),
    ("code", "code of the denial, in capitals; `GUARD_DENIED` without one", Presence::Optional),
];

/// Whether a key must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// The keys of a section.
pub(super) fn of_section(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// All sections, in the order of the list.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for key in KEYS {
        if !key.section.is_empty() && sections.last() != Some(&key.section) {
            sections.push(key.section);
        }
    }
    sections
}

/// What may stand in a section, in words.
pub(super) fn allowed_in(section: &str) -> String {
    let mut names: Vec<String> = of_section(section).map(|key| format!("`{}`", key.name)).collect();
    if !section.is_empty() {
        return format!("the keys of `[{section}]` are {}", names.join(", "));
    }
    names.extend(sections().into_iter().map(|section| format!("`[{section}]`")));
    names.push(format!("`[[{GUARD}]]`"));
    format!("a file may hold {}", names.join(", "))
}
