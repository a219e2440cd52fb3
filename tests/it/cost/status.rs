//! `longhaul status --json --cost`: what the running sessions cost so far.

use super::*;
use crate::sandbox::{Outcome, payload};

/// Starts a session with this transcript, in the sandbox's project.
fn start(sandbox: &Sandbox, session: &str, transcript: &Path) {
    let changes = json!({ "session_id": session, "cwd": sandbox.project(), "transcript_path": transcript });
    let started = sandbox.hook("longhaul-session-start", payload("SessionStart", changes));
    assert_eq!(started.status, Some(0), "{started:?}");
}

/// Returns the sessions of `longhaul status --json` with more arguments, by their id.
#[track_caller]
fn status(sandbox: &Sandbox, more: &[&str]) -> std::collections::BTreeMap<String, Value> {
    let outcome = sandbox.longhaul(&[&["status", "--json"], more].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let rows = outcome.json().as_array().unwrap().clone();
    rows.into_iter().map(|row| (row["session"].as_str().unwrap().to_owned(), row)).collect()
}

#[test]
fn the_status_has_the_cost_of_each_session_only_if_it_is_asked_for() {
    let sandbox = sandbox().with_env("LONGHAUL_NO_REAP", "1");
    two_sessions(&sandbox);
    let projects = sandbox.home().join(".claude/projects");
    start(&sandbox, "app", &projects.join("-work-app/app.jsonl"));
    start(&sandbox, "lib", &projects.join("-work-lib/lib.jsonl"));
    start(&sandbox, "new", &projects.join("-work-new/new.jsonl"));
    assert!(status(&sandbox, &[]).values().all(|row| row.get("cost").is_none()));
    let rows = status(&sandbox, &["--cost"]);
    let app = &rows["app"]["cost"];
    assert_eq!(
        (&app["cost_usd"], &app["total_tokens"], &app["requests"]),
        (&json!(5.30004), &json!(2_600_010), &json!(3))
    );
    let lib = &rows["lib"]["cost"];
    assert_eq!((&lib["cost_usd"], &lib["total_tokens"]), (&json!(null), &json!(500)), "its price is not known");
    assert_eq!(rows["new"]["cost"]["total_tokens"], json!(0), "it has made no request");
    // The same sums as those of `longhaul cost`.
    let sessions = super::rows(&sandbox, &["--by", "session"]);
    assert_eq!(sessions[0], ("app".to_owned(), 2_600_010, Some(5.30004)));
    let table = sandbox.longhaul(&["status", "--cost"]);
    assert_ne!(table.status, Some(0), "it needs --json: {table:?}");
}

#[test]
fn the_status_has_the_tokens_of_a_session_of_codex() {
    let sandbox = sandbox().with_env("LONGHAUL_NO_REAP", "1");
    let folder = sandbox.home().join(".codex/sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let rollout = folder.join("rollout-2026-11-15T08-53-45-01a1.jsonl");
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/codex");
    fs::copy(recorded.join("rollout.jsonl"), &rollout).unwrap();
    let start = json!({
        "session_id": "01a1", "transcript_path": rollout, "cwd": sandbox.project(), "hook_event_name": "SessionStart",
        "model": "gpt-5-codex", "permission_mode": "default", "source": "startup",
    });
    let mut hook = sandbox.executable("longhaul");
    let outcome = Outcome::of(hook.args(["hook", "--codex", "session-start"]), start.to_string().as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let tokens = || status(&sandbox, &["--cost"])["codex:01a1"]["cost"]["total_tokens"].clone();
    assert_eq!(tokens(), json!(6_000));
    // Codex compresses it after a while.
    fs::remove_file(&rollout).unwrap();
    fs::copy(recorded.join("rollout.jsonl.zst"), rollout.with_extension("jsonl.zst")).unwrap();
    assert_eq!(tokens(), json!(6_000));
}
