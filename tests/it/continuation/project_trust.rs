//! A project's own `.claude/longhaul.json`: without the user's consent it switches nothing on.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Bare;
use crate::sandbox::{Outcome, Sandbox, payload};

const HOSTILE: &str = r#"{"continuation":{"at":0.3},"bookmarks":{"marker":"do evil"},"memory":{"enabled":false}}"#;

fn write_project_file(sandbox: &Sandbox, text: &str) -> PathBuf {
    let file = sandbox.project().join(".claude/longhaul.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    file
}

/// Returns what a new session's user is told.
fn start(sandbox: &Sandbox, session: &str) -> String {
    let event = json!({ "session_id": session, "cwd": sandbox.project(), "source": "startup" });
    let reply = sandbox.hook("longhaul-session-start", payload("SessionStart", event)).json();
    reply["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn run(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    let outcome = sandbox.longhaul(args);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    outcome
}

/// Returns the row of a key in `config show --json`.
fn row(sandbox: &Sandbox, key: &str) -> Value {
    let shown = run(sandbox, &["config", "show", "--json"]).json();
    let mut rows = shown["values"].as_array().unwrap().iter();
    rows.find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key} in {shown}")).clone()
}

/// A session without a terminal whose context is nearly half full, in a project that wants it cleared at 30 %.
fn in_hostile_project() -> Bare {
    let bare = Bare::new();
    bare.sandbox.write_config("{}");
    let usage = json!({ "input_tokens": 450_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
    let entry = json!({ "type": "assistant", "uuid": "u", "message": { "model": super::MODEL, "usage": usage } });
    fs::write(&bare.transcript, format!("{entry}\n")).unwrap();
    write_project_file(&bare.sandbox, HOSTILE);
    bare
}

#[test]
fn a_hostile_project_switches_nothing_on_and_the_user_is_told_once() {
    let bare = in_hostile_project();
    let told = start(&bare.sandbox, "one");
    let meaning = "(sessions here are then cleared and continue by themselves)";
    for part in ["continuation.at = 0.3", "longhaul config trust", meaning, "2 values are refused"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("evil"), "{told}");
    assert_eq!(start(&bare.sandbox, "two"), "", "told once for each content");
    assert_eq!(bare.stop(json!({})), json!({ "continue": true }));
    assert_eq!(bare.status(), json!([]));

    let at = row(&bare.sandbox, "continuation.at");
    assert_eq!((&at["value"], &at["from"]), (&json!("off"), &json!("default")));
    assert_eq!(at["refused"]["value"], 0.3);
    assert!(at["refused"]["why"].as_str().unwrap().contains("without your trust"), "{at}");
    assert!(row(&bare.sandbox, "memory.enabled")["refused"]["why"].as_str().unwrap().contains("only your own"));
}

#[test]
fn what_is_trusted_works_until_its_content_changes() {
    let bare = in_hostile_project();
    let trusted = run(&bare.sandbox, &["config", "trust"]);
    let meaning = "(sessions here are then cleared and continue by themselves)";
    assert!(trusted.stdout.contains(&format!("continuation.at = 0.3 {meaning}\n")), "{trusted:?}");
    assert!(trusted.stdout.contains("bookmarks.marker = \"do evil\" is refused"), "{trusted:?}");
    let file = bare.sandbox.data_dir().join("trusted-projects.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(row(&bare.sandbox, "continuation.at")["from"], "project");
    assert_eq!(bare.stop(json!({ "session_id": "b" }))["decision"], "block");

    write_project_file(&bare.sandbox, &HOSTILE.replace("0.3", "0.25"));
    assert_eq!(bare.stop(json!({ "session_id": "c" })), json!({ "continue": true }));
    let told = start(&bare.sandbox, "c");
    assert!(told.contains("has changed since you trusted it") && told.contains("0.25"), "{told}");
    assert!(run(&bare.sandbox, &["config", "trust", "--list"]).stdout.starts_with("changed "));

    // What was allowed once is allowed again; what is withdrawn is not.
    write_project_file(&bare.sandbox, HOSTILE);
    assert_eq!(bare.stop(json!({ "session_id": "d" }))["decision"], "block");
    run(&bare.sandbox, &["config", "untrust"]);
    assert_eq!(bare.stop(json!({ "session_id": "e" })), json!({ "continue": true }));
    assert!(start(&bare.sandbox, "e").contains("asks for continuation.at = 0.3"));
    assert_eq!(bare.sandbox.longhaul(&["config", "untrust"]).status, Some(1), "there was nothing to withdraw");
}

#[test]
fn trust_is_for_one_folder_whichever_way_leads_there() {
    let bare = in_hostile_project();
    let link = bare.sandbox.path("link");
    symlink(bare.sandbox.project(), &link).unwrap();
    run(&bare.sandbox, &["config", "trust", link.to_str().unwrap()]);
    assert_eq!(bare.stop(json!({ "session_id": "b" }))["decision"], "block");
    // A copy elsewhere, such as another worktree, is another project.
    let copy = bare.sandbox.path("copy");
    fs::create_dir_all(copy.join(".claude")).unwrap();
    fs::write(copy.join(".claude/longhaul.json"), HOSTILE).unwrap();
    assert_eq!(bare.stop(json!({ "session_id": "c", "cwd": copy })), json!({ "continue": true }));
    // A list that others can write proves nothing.
    let file = bare.sandbox.data_dir().join("trusted-projects.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(bare.stop(json!({ "session_id": "d" })), json!({ "continue": true }));
}

#[test]
fn only_a_regular_file_can_be_trusted() {
    let sandbox = Sandbox::new();
    let missing = sandbox.longhaul(&["config", "trust"]);
    assert_eq!(missing.status, Some(1));
    assert!(missing.stderr.contains("there is no file .claude/longhaul.json"), "{missing:?}");
    let file = write_project_file(&sandbox, "{");
    assert!(sandbox.longhaul(&["config", "trust"]).stderr.contains("is not JSON"));
    fs::remove_file(&file).unwrap();
    fs::write(sandbox.path("elsewhere"), HOSTILE).unwrap();
    symlink(sandbox.path("elsewhere"), &file).unwrap();
    assert_eq!(sandbox.longhaul(&["config", "trust"]).status, Some(1));
    assert!(!sandbox.data_dir().join("trusted-projects.json").exists());
}
