//! `longhaul install --agent` and `uninstall --agent`.

use std::fs;
use std::path::PathBuf;

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
    assert!(module.contains("/longhaul\"\n") && !module.contains("/* the program */"), "{module}");
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

/// Makes a folder of settings, and returns the path of the file.
fn settings(sandbox: &Sandbox, folder: &str, text: &str) -> PathBuf {
    let path = sandbox.home().join(folder).join("settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_doctor_reports_disabled_hooks_a_missing_server_and_a_missing_program() {
    let sandbox = Sandbox::new();
    let path = settings(&sandbox, ".gemini", "{}");
    let doctor = || longhaul(&sandbox, &["doctor", "--json"]).stdout;
    assert_eq!(longhaul(&sandbox, &["install", "--agent", "gemini"]).status, Some(0));
    let text = fs::read_to_string(&path).unwrap();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    changed["hooksConfig"] = serde_json::json!({ "disabled": ["longhaul"] });
    changed["mcpServers"] = serde_json::json!({});
    let hook = &mut changed["hooks"]["AfterAgent"][0]["hooks"][0]["command"];
    *hook = "/nowhere/longhaul hook --agent gemini AfterAgent".into();
    fs::write(&path, changed.to_string()).unwrap();
    let found = doctor();
    for expected in [
        "Gemini CLI: its settings disable the hooks of Longhaul",
        "Gemini CLI: the MCP server is not registered",
        "Gemini CLI: its hooks start a program that does not exist: /nowhere/longhaul",
    ] {
        assert!(found.contains(expected), "{expected} is not in {found}");
    }
    fs::write(&path, text.replacen('}', "", 1)).unwrap();
    let found = doctor();
    assert!(found.contains("settings.json has hooks of Longhaul, but is not JSON"), "{found}");
}

#[test]
fn settings_that_were_commented_are_uninstalled_and_broken_ones_stop_everything() {
    let sandbox = Sandbox::new();
    let path = settings(&sandbox, ".gemini", "{\n  \"theme\": \"dark\"\n}\n");
    assert_eq!(longhaul(&sandbox, &["install", "--agent", "gemini"]).status, Some(0));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('}', "", 1)).unwrap();
    let stopped = longhaul(&sandbox, &["uninstall"]);
    assert_eq!(stopped.status, Some(1), "{stopped:?}");
    assert!(stopped.stderr.contains("the hooks of Gemini CLI cannot be removed"), "{stopped:?}");
    assert!(stopped.stderr.contains("settings.json is not JSON"), "{stopped:?}");
    assert_eq!(stopped.stdout, "", "nothing was done");
    fs::write(&path, format!("// mine\n{text}")).unwrap();
    let done = longhaul(&sandbox, &["uninstall"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "// mine\n{\n  \"theme\": \"dark\"\n}\n");
    fs::write(&path, "{ broken").unwrap();
    assert_eq!(longhaul(&sandbox, &["uninstall"]).status, Some(0), "it has nothing of Longhaul");
}

#[test]
fn the_variables_of_the_agents_name_the_folder() {
    for (agent, variable, below) in [("gemini", "GEMINI_CLI_HOME", "other/.gemini"), ("qwen", "QWEN_HOME", "other")] {
        let sandbox = Sandbox::new();
        let other = sandbox.home().join("other").display().to_string();
        let sandbox = sandbox.with_env(variable, other);
        let (path, usual) =
            (settings(&sandbox, below, "{}\n"), settings(&sandbox, &format!(".{agent}"), "{\"usual\":1}\n"));
        let done = longhaul(&sandbox, &["install", "--agent", agent]);
        assert_eq!(done.status, Some(0), "{done:?}");
        assert!(fs::read_to_string(&path).unwrap().contains(&format!("hook --agent {agent} SessionStart")));
        assert_eq!(fs::read_to_string(&usual).unwrap(), "{\"usual\":1}\n");
        assert_eq!(longhaul(&sandbox, &["uninstall", "--agent", agent]).status, Some(0));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }
}
