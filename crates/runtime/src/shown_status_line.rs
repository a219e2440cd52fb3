//! Whether the client shows our own status line.

use std::path::Path;

use longhaul_core::{Env, json_text};
use serde_json::Value;

use crate::bounded_read;

/// The settings that a project may hold, the one that counts first.
const PROJECT_SETTINGS: [&str; 2] = [".claude/settings.local.json", ".claude/settings.json"];

/// Returns whether the client shows `longhaul statusline`, and not a command of the user's through it.
///
/// A project's settings count before the user's, as in the client.
pub(crate) fn is_shown(env: &Env, project: &Path) -> bool {
    let project = PROJECT_SETTINGS.iter().map(|name| project.join(name));
    let user = env.client_dir.as_ref().map(|dir| dir.join("settings.json"));
    project.chain(user).find_map(|path| command(&path)).is_some_and(|command| is_ours(&command))
}

fn command(settings: &Path) -> Option<String> {
    let bytes = bounded_read::bytes(settings, bounded_read::LARGE).ok()?;
    let settings: Value = json_text::from_file(&bytes).ok()?;
    Some(settings.get("statusLine")?.get("command")?.as_str()?.to_owned())
}

/// Returns whether a command is our status line alone. What follows `--` is shown in its place.
fn is_ours(command: &str) -> bool {
    let Some((program, rest)) = command.trim().split_once(" statusline") else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches(['\'', '"']);
    name == "longhaul" && rest.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_our_line_alone_is_ours() {
        for ours in ["longhaul statusline", "~/.local/bin/longhaul statusline", "'/a b/longhaul' statusline "] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in ["my-line", "longhaul statusline -- sh -c 'x'", "/bin/other statusline", "longhaul statuslines"] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
