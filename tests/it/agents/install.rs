//! `longhaul install --agent` and `uninstall --agent`.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox};

fn longhaul(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    Outcome::of(sandbox.executable("longhaul").args(arguments), b"")
}

#[test]
fn an_installation_is_taken_back_to_the_byte() {
    for (agent, folder, text) in [
        (
            "gemini",
            ".gemini",
            "{\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n  \"hooks\": {}\n}",
        ),
        (
            "qwen",
            ".qwen",
            "{\"$version\":3,\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]}}\n",
        ),
    ] {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(folder).join("settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let dry = longhaul(&sandbox, &["install", "--agent", agent, "--dry-run"]);
        assert_eq!((dry.status, fs::read_to_string(&path).unwrap().as_str()), (Some(0), text), "{dry:?}");
        assert!(dry.stdout.contains("add the hooks to"), "{dry:?}");
        let done = longhaul(&sandbox, &["install", "--agent", agent]);
        assert_eq!(done.status, Some(0), "{done:?}");
        let settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(settings["hooks"]["SessionStart"].to_string().contains(&format!("hook --agent {agent} SessionStart")));
        assert_eq!(longhaul(&sandbox, &["install", "--agent", agent]).stdout, "", "nothing is left to do");
        let undone = longhaul(&sandbox, &["uninstall", "--agent", agent]);
        assert_eq!(undone.status, Some(0), "{undone:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{agent}");
    }
}

#[test]
fn the_module_of_opencode_is_written_and_removed() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join(".config/opencode");
    fs::create_dir_all(&folder).unwrap();
    let done = longhaul(&sandbox, &["install", "--agent", "opencode"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    let module = fs::read_to_string(folder.join("plugin/longhaul.js")).unwrap();
    assert!(module.contains("/longhaul\"\n") && !module.contains("the program"), "{module}");
    let undone = longhaul(&sandbox, &["uninstall", "--agent", "opencode"]);
    assert_eq!(undone.status, Some(0), "{undone:?}");
    assert!(!folder.join("plugin").exists() && folder.exists());
}

#[test]
fn an_agent_that_was_never_used_is_named() {
    let sandbox = Sandbox::new();
    let outcome = longhaul(&sandbox, &["install", "--agent", "gemini"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains(".gemini does not exist: start gemini once"), "{outcome:?}");
}

#[test]
fn the_doctor_reports_a_hook_that_is_missing_or_switched_off() {
    let sandbox = Sandbox::new();
    let path = sandbox.home().join(".qwen/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let doctor = || {
        let findings: Value = serde_json::from_str(&longhaul(&sandbox, &["doctor", "--json"]).stdout).unwrap();
        findings.to_string()
    };
    assert!(!doctor().contains("Qwen Code"), "an agent without Longhaul is not reported");
    assert_eq!(longhaul(&sandbox, &["install", "--agent", "qwen"]).status, Some(0));
    assert!(doctor().contains("Qwen Code: its hooks are registered, and none has run yet"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("--agent qwen PostToolUse\"", "--other\"")).unwrap();
    let found = doctor();
    assert!(found.contains("Qwen Code: no hook is registered for PostToolUse"), "{found}");
    assert!(found.contains("longhaul install --agent qwen"), "{found}");
    fs::write(&path, text.replacen('{', "{\"disableAllHooks\":true,", 1)).unwrap();
    assert!(doctor().contains("Qwen Code: its settings disable every hook"));
}
