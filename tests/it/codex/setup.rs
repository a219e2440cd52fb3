//! The MCP server in Codex's configuration, the doctor, and resuming.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use super::{Codex, SESSION, rollout};
use crate::sandbox::{Outcome, bin_dir};

const CONFIG: &str = "# mine\nmodel   =  \"x\"   # odd\n\n[tui]\ntheme=\"a\"\n# the end";

fn config(codex: &Codex) -> String {
    fs::read_to_string(codex.sandbox.home().join(".codex/config.toml")).unwrap()
}

/// A Codex with a configuration of its own, and `longhaul` where an installation links it.
fn configured() -> Codex {
    let codex = Codex::new();
    fs::write(codex.sandbox.home().join(".codex/config.toml"), CONFIG).unwrap();
    let link = codex.sandbox.home().join(".local/bin/longhaul");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(bin_dir().join("longhaul"), link).unwrap();
    codex
}

/// Puts a program called `codex` on the path.
fn with_program(codex: Codex, script: &str) -> Codex {
    let bin = codex.sandbox.home().join("codex-bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("codex"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    Codex { sandbox: codex.sandbox.with_programs(&bin), ..codex }
}

#[test]
fn the_mcp_server_is_added_as_text_and_removed_to_the_byte() {
    let codex = configured();
    let outcome = codex.sandbox.longhaul(&["install", "--codex"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(config(&codex).starts_with(CONFIG), "{}", config(&codex));
    let link = codex.sandbox.home().join(".local/bin/longhaul");
    let table = format!("[mcp_servers.longhaul]\ncommand = \"{}\"\nargs = [\"mcp\"]", link.display());
    assert!(config(&codex).contains(&table), "{}", config(&codex));
    codex.sandbox.longhaul(&["uninstall", "--codex"]);
    assert_eq!(config(&codex), CONFIG);
}

#[test]
fn codexs_own_command_is_used_where_it_works() {
    let log = "echo \"$@\" >> \"$HOME/called\"";
    let codex = with_program(configured(), log);
    let outcome = codex.sandbox.longhaul(&["install", "--codex"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let called = fs::read_to_string(codex.sandbox.home().join("called")).unwrap();
    assert!(called.contains("mcp add longhaul -- ") && called.trim_end().ends_with("/longhaul mcp"), "{called}");
    assert!(config(&codex).contains("[mcp_servers.longhaul]"), "it has done nothing, so the file was changed");
    codex.sandbox.longhaul(&["uninstall", "--codex"]);
    let called = fs::read_to_string(codex.sandbox.home().join("called")).unwrap();
    assert!(called.contains("mcp remove longhaul"), "{called}");
    assert_eq!(config(&codex), CONFIG);
}

#[test]
fn codex_is_an_agent_like_the_others() {
    let codex = configured();
    let long = codex.sandbox.longhaul(&["install", "--agent", "codex", "--dry-run"]);
    let short = codex.sandbox.longhaul(&["install", "--codex", "--dry-run"]);
    assert_eq!((long.status, &long.stdout), (Some(0), &short.stdout));
    assert!(long.stdout.contains("add the hooks to"), "{long:?}");
    codex.sandbox.longhaul(&["install", "--agent", "codex"]);
    let hooks = fs::read_to_string(codex.sandbox.home().join(".codex/hooks.json")).unwrap();
    assert!(hooks.contains("/longhaul hook --codex session-start\""), "the command that users have trusted: {hooks}");
    let mut hook = codex.sandbox.executable("longhaul");
    let payload = json!({ "session_id": SESSION, "hook_event_name": "SessionStart", "cwd": codex.sandbox.project() });
    let outcome = Outcome::of(hook.args(["hook", "--agent", "codex", "session-start"]), payload.to_string().as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(codex.sandbox.rows("SELECT session_id FROM agents"), [format!("codex:{SESSION}")]);
    codex.sandbox.longhaul(&["uninstall", "--agent", "codex"]);
    assert_eq!(config(&codex), CONFIG);
    assert!(!codex.sandbox.home().join(".codex/hooks.json").exists());
}

#[track_caller]
fn finds(codex: &Codex, expected: &str) {
    let outcome = codex.sandbox.longhaul(&["doctor", "--json"]);
    let findings: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let findings = findings.as_array().or_else(|| findings["findings"].as_array()).unwrap().iter();
    let found: Vec<String> = findings.filter(|finding| finding["check"] == "codex").map(ToString::to_string).collect();
    assert!(found.iter().any(|finding| finding.contains(expected)), "{expected:?} is not in {found:?}");
}

/// The events of Longhaul's hooks, as Codex names them in the keys of hooks.
const EVENTS: [&str; 7] = [
    "session_start",
    "user_prompt_submit",
    "permission_request",
    "post_tool_use",
    "pre_compact",
    "stop",
    "session_end",
];

#[test]
fn the_doctor_checks_hooks_trust_server_version_and_features() {
    let script = "case \"$1\" in --version) echo codex-cli 0.166.0 ;; features) cat \"$HOME/features\" ;; esac";
    let codex = with_program(configured(), script);
    let home = codex.sandbox.home();
    let write = |name: &str, text: &str| fs::write(home.join(name), text).unwrap();
    write("features", "hooks                 stable             true\n");
    finds(&codex, "codex-cli 0.166.0 does not run Longhaul's hooks");
    codex.sandbox.longhaul(&["install", "--codex"]);
    finds(&codex, "not trusted, so that Codex does not run them: SessionStart");
    let hooks = home.join(".codex/hooks.json").display().to_string();
    let trusted =
        EVENTS.map(|event| format!("\n[hooks.state.\"{hooks}:{event}:0:0\"]\ntrusted_hash = \"sha256:00\"\n"));
    let with_server = config(&codex);
    write(".codex/config.toml", &format!("{with_server}\n{}", trusted.concat()));
    finds(&codex, "codex-cli 0.166.0: hooks trusted, MCP server registered, no hook has run yet");
    write(".codex/config.toml", &format!("{with_server}\n{}", trusted.concat().replace(&hooks, "/other/hooks.json")));
    finds(&codex, "not trusted, so that Codex does not run them: SessionStart");
    let disabled = trusted.concat().replacen("sha256:00\"", "sha256:00\"\nenabled = false", 1);
    write(".codex/config.toml", &format!("{with_server}\n{disabled}"));
    finds(&codex, "hooks that are disabled: SessionStart");
    write(".codex/config.toml", &format!("{with_server}\n{}", trusted.concat()));
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    finds(&codex, "last event");
    write("features", "hooks                 stable             false\n");
    finds(&codex, "the feature \\\"hooks\\\" of Codex is switched off");
    write("features", "hooks stable true\n");
    write(".codex/config.toml", &trusted.concat());
    finds(&codex, "the MCP server is not registered");
}

#[test]
fn a_feature_that_is_off_is_switched_on_by_yes_and_otherwise_named() {
    let script = "case \"$1 $2\" in 'features list') echo codex_hooks experimental false ;; esac";
    let codex = with_program(configured(), script);
    let asked = codex.sandbox.longhaul(&["install", "--codex"]);
    assert_eq!(asked.status, Some(0), "{asked:?}");
    assert!(asked.stderr.contains("runs no hook before you run `codex features enable codex_hooks`"), "{asked:?}");
    assert!(!config(&codex).contains("[features]"));
    let done = codex.sandbox.longhaul(&["install", "--codex", "--yes"]);
    assert!(done.stdout.contains("codex features enable codex_hooks"), "{done:?}");
    assert!(config(&codex).contains("\n[features]\ncodex_hooks = true\n"), "{}", config(&codex));
    let skill = fs::read_to_string(codex.sandbox.home().join(".agents/skills/longhaul-memory/SKILL.md")).unwrap();
    for text in ["longhaul status --json", "longhaul resume ID", "which sessions run"] {
        assert!(skill.contains(text), "{text}: {skill}");
    }
}

/// Codex itself compares the hash of the command with the one that the user has trusted.
#[test]
fn the_doctor_asks_codex_whether_a_hook_is_trusted() {
    let script = "case \"$1\" in --version) echo codex-cli 0.166.0 ;; features) echo hooks stable true ;; \
                  app-server) read -r _; read -r _; read -r _; echo '{\"method\":\"x\"}'; cat \"$HOME/hooks-list\"; cat ;; esac";
    let codex = with_program(configured(), script);
    let home = codex.sandbox.home();
    codex.sandbox.longhaul(&["install", "--codex"]);
    let hooks = home.join(".codex/hooks.json").display().to_string();
    let answer = |status_of_stop: &str| {
        let hooks = EVENTS.map(|event| {
            let status = if event == "stop" { status_of_stop } else { "trusted" };
            json!({ "key": format!("{hooks}:{event}:0:0"), "enabled": true, "trustStatus": status })
        });
        let text = json!({ "id": 1, "result": { "data": [{ "cwd": "/", "hooks": hooks }] } });
        fs::write(home.join("hooks-list"), format!("{text}\n")).unwrap();
    };
    answer("trusted");
    finds(&codex, "hooks trusted, MCP server registered");
    answer("modified");
    finds(&codex, "not trusted, so that Codex does not run them: Stop");
}

#[test]
fn resume_starts_the_agent_of_the_session() {
    let codex = with_program(Codex::new(), "pwd > \"$HOME/resumed\"; echo \"$@\" >> \"$HOME/resumed\"");
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.stop(0);
    let printed = codex.sandbox.longhaul(&["resume", "--dry-run"]);
    assert!(printed.stdout.contains("'resume'") && printed.stdout.contains(SESSION), "{printed:?}");
    let outcome = codex.sandbox.longhaul(&["resume", &format!("codex:{}", &SESSION[..8])]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let resumed = fs::read_to_string(codex.sandbox.home().join("resumed")).unwrap();
    let folder = fs::canonicalize(codex.sandbox.project()).unwrap();
    assert_eq!(resumed, format!("{}\nresume {SESSION}\n", Path::new(&folder).display()));
    fs::remove_file(&codex.rollout).unwrap();
    let gone = codex.sandbox.longhaul(&["resume"]);
    assert!(gone.status == Some(1) && gone.stderr.contains("no transcript"), "{gone:?}");
}
