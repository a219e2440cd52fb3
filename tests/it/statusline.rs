//! The client's status line: what it shows, what it keeps, and that it never fails.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, payload};

/// What the client sent after a reply, with the members of `changes` put into it.
fn report(changes: Value) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/statusline/after-reply.json");
    let mut report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    report.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    report.to_string()
}

/// Renders the status line; it must succeed without a word on stderr.
#[track_caller]
fn render(sandbox: &Sandbox, input: impl AsRef<[u8]>, command: &[&str]) -> String {
    let args = [&["statusline"], command].concat();
    let outcome = Outcome::of(sandbox.executable("longhaul").args(args), input.as_ref());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    outcome.stdout
}

fn monitored(sandbox: &Sandbox, session: &str) -> Value {
    sandbox.longhaul(&["monitor", "--json", "--session", session]).json()[0].clone()
}

fn start(sandbox: &Sandbox, session: &str) {
    sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": session })));
}

#[test]
fn it_shows_model_place_context_and_limits() {
    let sandbox = Sandbox::new().at(1_000_000).with_env("NO_COLOR", "1");
    std::fs::create_dir(sandbox.project().join(".git")).unwrap();
    std::fs::write(sandbox.project().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let limits =
        json!({ "five_hour": { "used_percentage": 71.6, "resets_at": 4_600 }, "seven_day": { "used_percentage": 9 } });
    let changes = json!({
        "workspace": { "current_dir": sandbox.project() },
        "session_id": "s",
        "rate_limits": limits,
        "model": { "id": "claude-opus-5-5", "display_name": "Opus\u{1b}[31m 5.5\n" },
    });
    let shown = render(&sandbox, report(changes.clone()), &[]);
    assert_eq!(shown, "Opus[31m 5.5  project (main)  █░░░░░░░░░ 1% · 987k left  5h 72% (1h)  7d 9%\n");
    start(&sandbox, "s");
    for prompt in ["work", "·", "·"] {
        sandbox.hook(
            "longhaul-user-prompt-submit",
            payload("UserPromptSubmit", json!({ "session_id": "s", "prompt": prompt })),
        );
    }
    assert!(render(&sandbox, report(changes.clone()), &[]).contains(" left  ·2  5h"));
    let coloured = render(&sandbox.with_env("NO_COLOR", ""), report(changes), &[]);
    assert!(coloured.contains("\u{1b}[32m█\u{1b}[0m"), "{coloured:?}");
}

#[test]
fn the_monitor_knows_what_it_was_told() {
    let sandbox = Sandbox::new();
    start(&sandbox, "told");
    start(&sandbox, "other");
    let window = json!({
        "context_window_size": 400_000,
        "used_percentage": 50,
        "current_usage": { "input_tokens": 100_000, "cache_creation_input_tokens": 60_000, "cache_read_input_tokens": 40_000 },
    });
    render(
        &sandbox,
        report(
            json!({ "session_id": "told", "context_window": window, "rate_limits": { "seven_day": { "used_percentage": 12 } } }),
        ),
        &[],
    );
    let told = monitored(&sandbox, "told");
    assert_eq!((&told["used_tokens"], &told["window_tokens"]), (&json!(200_000), &json!(400_000)));
    assert_eq!((&told["window_from"], &told["model"]), (&json!("statusline"), &json!("claude-opus-5-5")));
    assert!(sandbox.longhaul(&["monitor", "--once"]).stdout.starts_with("2 sessions  7d 12%\n"));
    assert_eq!(monitored(&sandbox, "other")["used_tokens"], Value::Null);
    render(&sandbox, report(json!({ "session_id": "other", "context_window": null })), &[]);
    let other = monitored(&sandbox, "other");
    assert_eq!((&other["window_tokens"], &other["window_from"]), (&json!(400_000), &json!("statusline of the model")));
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn the_users_own_command_is_shown_instead_and_ours_is_recorded() {
    let sandbox = Sandbox::new();
    start(&sandbox, "s");
    let input = report(json!({ "session_id": "s" }));
    assert_eq!(render(&sandbox, &input, &["--", "cat"]), input, "the same input, the output as it is");
    assert_eq!(monitored(&sandbox, "s")["used_tokens"], 13_233);
    assert_eq!(render(&sandbox, &input, &["--", "printf", "%s", "a b; $HOME \u{1b}[1m"]), "a b; $HOME \u{1b}[1m");
    assert_eq!(render(&sandbox, &input, &["--", "true"]), "", "what it does not say is its own affair");
    assert_eq!(render(&sandbox, &input, &["--", "sh", "-c", "echo half; exit 3"]), "half\n");
}

#[test]
fn a_command_that_fails_or_hangs_breaks_nothing() {
    let sandbox = Sandbox::new().with_env("NO_COLOR", "1");
    let input = report(json!({}));
    let own = render(&sandbox, &input, &[]);
    assert!(own.starts_with("Opus 5.5  project"), "{own}");
    assert_eq!(render(&sandbox, &input, &["--", "false"]), own);
    assert_eq!(render(&sandbox, &input, &["--", "/no/such/program"]), own);
    assert!(sandbox.error_log().contains("cannot start /no/such/program"), "{}", sandbox.error_log());
    let started = Instant::now();
    assert_eq!(render(&sandbox, &input, &["--", "sh", "-c", "sleep 60; true"]), own);
    assert_eq!(render(&sandbox, &input, &["--", "sh", "-c", "echo early; exec sleep 60"]), "early\n");
    let left_behind = ["--", "sh", "-c", "sleep 9 & echo done"];
    assert_eq!(render(&sandbox, &input, &left_behind), "done\n", "something keeps its output open");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn bad_input_is_a_short_line() {
    let sandbox = Sandbox::new().with_env("NO_COLOR", "1");
    let huge = format!("{{\"session_id\":\"{}\"}}", "x".repeat(1 << 20));
    for input in [&b""[..], b"{", b"null", b"\xff\xfe\x00", b"[[[[", huge.as_bytes()] {
        assert_eq!(render(&sandbox, input, &[]), "longhaul\n");
    }
    assert!(!sandbox.data_dir().exists(), "nothing told, nothing kept");
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    std::fs::write(sandbox.data_dir().join("longhaul.db"), "no database".repeat(400)).unwrap();
    assert!(render(&sandbox, report(json!({})), &[]).starts_with("Opus 5.5"));
    assert!(sandbox.error_log().contains("statusline: the database was damaged"), "{}", sandbox.error_log());
    let nowhere = sandbox.with_env("LONGHAUL_HOME", "/dev/null/x");
    assert!(render(&nowhere, report(json!({})), &[]).starts_with("Opus 5.5"));
}
