//! Makes the launcher of each executable from `launcher.sh`, which has the messages, and `launcher/`: what it does if there
//! is no executable for the machine.

use std::fmt::Write;

use longhaul_core::catalog::{self, AGENT_EXECUTABLE, CODEX_EXECUTABLE, REGISTRATIONS};
use longhaul_core::event::EventName;

use crate::choose;

/// The launcher without what differs: `@NAME@`, `@TARGETS@` and `@GIVE_UP@`.
const TEMPLATE: &str = include_str!("launcher.sh");

/// How every launcher begins.
const BEGINNING: &str = "#!/bin/sh\n# longhaul launcher: ";

/// What a launcher does if there is no executable for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fallback {
    /// The hook at the start of a session: answer, and report it to the user once.
    Report,
    /// Another hook: answer.
    Answer,
    /// A hook whose answer would be shown: nothing.
    Nothing,
    /// A program that a person or the module starts: print the reason.
    Print,
}

impl Fallback {
    fn of(name: &str) -> Self {
        match REGISTRATIONS.iter().find(|registration| registration.executable == name) {
            Some(registration) if registration.event == EventName::SessionStart => Self::Report,
            Some(registration) if !catalog::answers(registration.event) => Self::Nothing,
            Some(_) => Self::Answer,
            None if [AGENT_EXECUTABLE, CODEX_EXECUTABLE].contains(&name) => Self::Answer,
            None => Self::Print,
        }
    }

    /// Returns the shell code, which ends the launcher.
    fn code(self) -> &'static str {
        match self {
            Self::Report => include_str!("launcher/report.sh"),
            Self::Answer => include_str!("launcher/answer.sh"),
            Self::Nothing => "    exit 0\n",
            Self::Print => include_str!("launcher/print.sh"),
        }
    }
}

/// Returns the text of the launcher of the executable `name`, in a bundle with these targets.
pub fn launcher<'a>(name: &str, targets: impl IntoIterator<Item = &'a str>) -> String {
    let mut cases = String::new();
    for (machine, target) in choose(targets) {
        // Writing to a string cannot fail.
        let _ = writeln!(cases, "{}-{}) target={target} ;;", machine.system, machine.processor);
    }
    TEMPLATE.replace("@GIVE_UP@\n", Fallback::of(name).code()).replace("@TARGETS@\n", &cases).replace("@NAME@", name)
}

/// Returns whether a file with this content, or beginning, is a launcher.
pub fn is_launcher(content: &[u8]) -> bool {
    content.starts_with(BEGINNING.as_bytes())
}
