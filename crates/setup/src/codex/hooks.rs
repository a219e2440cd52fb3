//! Longhaul's hooks in Codex's hooks.json.

use std::path::Path;

use longhaul_core::catalog::{CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration};
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

use crate::settings::{self, Change, change_hooks};

/// Returns the file with Longhaul's hooks, which start `program`.
pub(crate) fn with_hooks(text: Option<&str>, program: &Path) -> Change {
    let program = word(&program.to_string_lossy());
    let wanted: Vec<_> = CODEX_REGISTRATIONS.iter().map(|hook| (hook.event.as_str(), group(hook, &program))).collect();
    change_hooks(text, &wanted, is_ours)
}

/// Returns the file without Longhaul's hooks, or an empty text if it holds nothing else.
pub(crate) fn without_hooks(text: &str) -> Change {
    let left = change_hooks(Some(text), &[], is_ours)?;
    Ok(left.map(|left| if settings::names(&left).is_empty() { String::new() } else { left }))
}

fn group(hook: &CodexRegistration, program: &str) -> Value {
    let command = format!("{program} hook --codex {}", hook.argument);
    json!({ "hooks": [{ "type": "command", "command": command, "timeout": hook.timeout_seconds }] })
}

/// Returns a path quoted for a shell, if that is necessary.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { shell_single_quote(path) }
}

/// Returns whether a command is one of Longhaul's, of any version and in any folder.
pub(crate) fn is_ours(command: &str) -> bool {
    let name = |program: &str| {
        let program = program.trim().trim_matches(['\'', '"']);
        program.rsplit('/').next().map(str::to_owned)
    };
    let by_name = command.split_once(" hook --codex ").and_then(|(program, _)| name(program));
    let direct = command.rsplit_once(' ').and_then(|(program, _)| name(program));
    by_name.as_deref() == Some(crate::PLUGIN) || direct.as_deref() == Some(CODEX_EXECUTABLE)
}
