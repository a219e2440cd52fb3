//! Whether Codex runs a hook: its user must trust exactly this command, and may have disabled it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{NextLine, ProgramLines, waiting_times};
use serde_json::{Value, json};

/// The number of bytes that the list of hooks may have.
const MAX_LIST: usize = 1024 * 1024;

/// Whether Codex runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It does.
    Trusted,
    /// The user has not trusted it, or it was changed since.
    Untrusted,
    /// The user has disabled it.
    Disabled,
}

/// What Codex says of its hooks.
pub(super) struct HookTrust {
    /// The hooks that Codex lists, by their keys. Empty if it did not answer.
    listed: Vec<(String, Trust)>,
    /// Its config.toml.
    config: String,
    /// Its hooks.json: as it is named, and with links resolved.
    files: Vec<PathBuf>,
}

impl HookTrust {
    /// Asks Codex, in the root folder, because the user may not trust the current one.
    pub(super) fn ask(program: Option<&Path>, hooks_json: &Path, config: &str) -> Self {
        let resolved = std::fs::canonicalize(hooks_json).ok();
        Self {
            listed: program.and_then(list).unwrap_or_default(),
            config: config.to_owned(),
            files: std::iter::once(hooks_json.to_owned()).chain(resolved).collect(),
        }
    }

    /// Returns whether Codex runs the hook at `place` in hooks.json, such as `stop:0:0`.
    pub(super) fn of(&self, place: &str) -> Trust {
        let keys: Vec<String> = self.files.iter().map(|file| format!("{}:{place}", file.display())).collect();
        let listed = self.listed.iter().find(|(key, _)| keys.contains(key)).map(|(_, trust)| *trust);
        // The hash is not compared without Codex's help: how it is computed differs between versions.
        listed.or_else(|| keys.iter().find_map(|key| in_config(&self.config, key))).unwrap_or(Trust::Untrusted)
    }
}

/// Returns the hooks that `codex app-server` lists, by their keys; `None` if it does not answer in time.
fn list(program: &Path) -> Option<Vec<(String, Trust)>> {
    let requests = [
        json!({ "id": 0, "method": "initialize", "params": { "clientInfo": { "name": crate::PLUGIN, "version": env!("CARGO_PKG_VERSION") } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 1, "method": "hooks/list", "params": { "cwds": ["/"] } }),
    ];
    let step = TerminalCommand {
        argv: vec![program.to_str()?.to_owned(), "app-server".to_owned()],
        stdin: Some(requests.iter().map(|request| format!("{request}\n")).collect()),
    };
    let deadline = Instant::now() + waiting_times::CODEX_FOR_DOCTOR;
    let mut server = ProgramLines::start_in(Path::new("/"), &step, MAX_LIST).ok()?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let NextLine::Line(line) = server.next_line(left.max(Duration::from_millis(1))) else { return None };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"] == 1 {
            return hooks_in(&message["result"]);
        }
        if left.is_zero() {
            return None;
        }
    }
}

fn hooks_in(result: &Value) -> Option<Vec<(String, Trust)>> {
    let folders = result["data"].as_array()?;
    let hooks = folders.iter().filter_map(|folder| folder["hooks"].as_array()).flatten();
    let trust = |hook: &Value| match hook["trustStatus"].as_str() {
        _ if hook["enabled"] == false => Trust::Disabled,
        Some("trusted" | "managed") => Trust::Trusted,
        _ => Trust::Untrusted,
    };
    Some(hooks.filter_map(|hook| Some((hook["key"].as_str()?.to_owned(), trust(hook)))).collect())
}

/// Returns what config.toml records of the hook with this key; `None` if it records nothing.
fn in_config(config: &str, key: &str) -> Option<Trust> {
    let headers = [format!("[hooks.state.{}]", Value::from(key)), format!("[hooks.state.'{key}']")];
    let mut lines = config.lines().map(str::trim);
    lines.find(|line| headers.iter().any(|header| line.starts_with(header)))?;
    let mut is_trusted = false;
    for line in lines.take_while(|line| !line.starts_with('[')) {
        match line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("trusted_hash", _)) => is_trusted = true,
            Some(("enabled", value)) if value.starts_with("false") => return Some(Trust::Disabled),
            _ => {}
        }
    }
    Some(if is_trusted { Trust::Trusted } else { Trust::Untrusted })
}

#[cfg(test)]
mod tests {
    use super::{Trust, hooks_in, in_config};

    const KEY: &str = "/home/dev/.codex/hooks.json:stop:0:0";

    #[test]
    fn config_names_the_whole_path_and_may_disable_a_hook() {
        let of = |header: &str, rest: &str| in_config(&format!("a = 1\n{header}\n{rest}\n[z]\nenabled = false\n"), KEY);
        let quoted = format!("[hooks.state.\"{KEY}\"]");
        assert_eq!(of(&quoted, "trusted_hash = \"sha256:1\""), Some(Trust::Trusted));
        assert_eq!(of(&format!("[hooks.state.'{KEY}'] # mine"), "trusted_hash = \"x\""), Some(Trust::Trusted));
        assert_eq!(of(&quoted, "trusted_hash = \"x\"\nenabled = false"), Some(Trust::Disabled));
        assert_eq!(of(&quoted, "# trusted_hash = \"x\""), Some(Trust::Untrusted));
        assert_eq!(of("[hooks.state.\"/other/hooks.json:stop:0:0\"]", "trusted_hash = \"x\""), None);
    }

    #[test]
    fn codexs_own_answer_tells_a_changed_command_from_a_trusted_one() {
        let hook = |key: &str, status: &str, enabled: bool| serde_json::json!({ "key": key, "trustStatus": status, "enabled": enabled });
        let hooks = [hook("a", "trusted", true), hook("b", "modified", true), hook("c", "trusted", false)];
        let listed = hooks_in(&serde_json::json!({ "data": [{ "cwd": "/", "hooks": hooks }] })).unwrap();
        let found: Vec<(&str, Trust)> = listed.iter().map(|(key, trust)| (key.as_str(), *trust)).collect();
        assert_eq!(found, [("a", Trust::Trusted), ("b", Trust::Untrusted), ("c", Trust::Disabled)]);
        assert!(hooks_in(&serde_json::json!({ "error": 1 })).is_none());
    }
}
