//! The reference of all keys, made from their list.

use std::fmt::Write as _;

use super::Config;
use super::keys::{self, GUARD, GUARD_KEYS, InProject, Key, Presence};

/// Describes every key: a file in which everything is commented out and says what holds without it.
pub(crate) fn reference() -> String {
    let mut config = Config::default();
    let mut out = String::from(
        "# fivegates.toml: the nearest one upward from the working directory (the project's), and your own in\n\
         # $XDG_CONFIG_HOME/fivegates or ~/.config/fivegates. The command line stands above the project's file, that\n\
         # above your own. A project's file may come from somebody else: it can only make things stricter.\n",
    );
    for key in keys::of_section("") {
        describe(&mut out, key, &mut config);
    }
    for section in keys::sections() {
        let _ = write!(out, "\n[{section}]\n");
        for key in keys::of_section(section) {
            describe(&mut out, key, &mut config);
        }
    }
    let _ = write!(
        out,
        "\n# Refuses a tool by its exact name; as many as you like. A project's file may add some.\n"
    );
    let _ = writeln!(out, "# [[{GUARD}]]");
    for (name, about, presence) in GUARD_KEYS {
        let example = match *name {
            "tool" => "bash",
            "reason" => "no commands here",
            _ => "NO_COMMANDS",
        };
        let need = if *presence == Presence::Required { "" } else { "; may be left out" };
        let _ = writeln!(out, "# {name} = \"{example}\"  # {about}{need}");
    }
    out
}

fn describe(out: &mut String, key: &Key, config: &mut Config) {
    let slot = (key.slot)(config);
    let project = match key.in_project {
        InProject::Tighten => "in a project's file: only stricter",
        InProject::Never => "not in a project's file",
    };
    let _ = writeln!(out, "\n# {}.", capital(key.about));
    let _ = writeln!(out, "# Takes {}; {project}.", slot.takes());
    match slot.written() {
        Some(value) => {
            let _ = writeln!(out, "# {} = {value}", key.name);
        }
        None => {
            let _ = writeln!(out, "# {} = {}  # not set", key.name, slot.example());
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}
