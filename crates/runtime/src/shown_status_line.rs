//! Whether Claude Code shows Longhaul's status line.

use std::path::Path;

use longhaul_core::{Env, json_text};
use serde_json::Value;

use crate::bounded_read;

/// The settings files of a project, in the order of their precedence.
const PROJECT_SETTINGS: [&str; 2] = [".claude/settings.local.json", ".claude/settings.json"];

/// Returns whether Claude Code shows `longhaul statusline` without a command of the user inside it.
///
/// As in Claude Code, a project's settings take precedence over the user's.
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

/// Returns whether a command is Longhaul's status line only. With a command after `--`, that command's output is shown
/// instead.
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
