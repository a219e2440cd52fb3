//! Whatever arrives on standard input, a hook prints one JSON object with `continue`, exits 0, and is in time. PreCompact
//! prints nothing.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use longhaul_core::catalog::{self, REGISTRATIONS};
use longhaul_core::event::EventName;
use serde_json::{Value, json};

use crate::poll::SLACK;
use crate::sandbox::{Outcome, Sandbox, part_of_event, payload};

#[track_caller]
fn check(outcome: &Outcome) {
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.json()["continue"], Value::Bool(true), "{outcome:?}");
    assert_eq!(outcome.stderr, "", "{outcome:?}");
}

/// Checks the answer of a hook of Claude Code.
#[track_caller]
fn check_hook(event: EventName, outcome: &Outcome) {
    if event == EventName::PreCompact {
        assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""));
    } else {
        check(outcome);
    }
}

/// Runs every executable with the same input.
#[track_caller]
fn check_all(sandbox: &Sandbox, input: &[u8]) {
    for registration in REGISTRATIONS {
        let started = Instant::now();
        check_hook(registration.event, &sandbox.hook(&part_of_event(registration.event), input));
        let limit = Duration::from_secs(registration.timeout_seconds) + SLACK;
        assert!(started.elapsed() < limit, "{} took {:?}", registration.event, started.elapsed());
    }
}

#[test]
fn bad_input_is_answered_and_logged() {
    for (input, problem) in [
        (&b""[..], "no payload on standard input"),
        (b"{", "payload is not JSON"),
        (b"[]", "payload is not a JSON object"),
        (br#"{"session_id":"s","hook_event_name":"SomethingNew"}"#, "payload is that of another event: SomethingNew\n"),
        (b"\xff\xfe{\"session_id\"", "payload is not a JSON object"),
        (br#"{"session_id":7}"#, "payload has no session_id"),
    ] {
        let sandbox = Sandbox::new();
        check_all(&sandbox, input);
        assert!(sandbox.error_log().contains(problem), "{input:?}: {}", sandbox.error_log());
        assert_eq!(sandbox.error_log().lines().count(), REGISTRATIONS.len(), "{}", sandbox.error_log());
    }
}

#[test]
fn every_recorded_payload_is_answered() {
    let sandbox = Sandbox::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/payloads");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for path in files {
        let text = fs::read(path).unwrap();
        let name = serde_json::from_slice::<Value>(&text).unwrap()["hook_event_name"].clone();
        if let Some(registration) = REGISTRATIONS.iter().find(|registration| name == registration.event.as_str()) {
            check_hook(registration.event, &sandbox.hook(&part_of_event(registration.event), text));
        }
    }
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn fifty_megabytes_are_read_in_time() {
    let sandbox = Sandbox::new();
    let large = "x".repeat(50 << 20);
    let input = payload("PostToolUse", json!({ "session_id": "big", "tool_response": large }));
    let started = Instant::now();
    check(&sandbox.hook("longhaul-post-tool-use", input));
    assert!(started.elapsed() < Duration::from_secs(3) + SLACK, "{:?}", started.elapsed());
    assert_eq!(sandbox.log_lines("big")[0].split(' ').nth(2), Some("52428800"), "{:?}", sandbox.log_lines("big"));
}

#[test]
fn what_is_not_utf8_inside_is_replaced_and_the_rest_is_read() {
    let sandbox = Sandbox::new();
    let input = b"{\"session_id\":\"s\",\"hook_event_name\":\"PostToolUse\",\"tool_response\":\"a\xff\xfeb\"}";
    check(&sandbox.hook("longhaul-post-tool-use", input));
    assert_eq!(sandbox.log_lines("s")[0].split(' ').nth(2), Some("4"), "{:?}", sandbox.log_lines("s"));
}

/// Starts the executable, writes `input` and keeps its standard input open.
fn with_open_stdin(sandbox: &Sandbox, executable: &str, input: &str) -> (Outcome, Duration) {
    let started = Instant::now();
    let mut command = sandbox.executable(executable);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let status = child.wait().unwrap().code();
    drop(stdin);
    (Outcome { status, stdout, stderr: String::new() }, started.elapsed())
}

#[test]
fn a_stdin_that_is_never_closed_does_not_hold_the_session_up() {
    let sandbox = Sandbox::new();
    let input = payload("PostToolUse", json!({ "session_id": "open" }));
    let (outcome, took) = with_open_stdin(&sandbox, "longhaul-post-tool-use", &input);
    check(&outcome);
    assert!(took < catalog::stdin_deadline(EventName::PostToolUse), "{took:?}");
    assert_eq!(sandbox.count_lines("open", "T"), 1);
}

#[test]
fn half_a_payload_is_given_up_before_the_clients_timeout() {
    let sandbox = Sandbox::new();
    let (outcome, took) = with_open_stdin(&sandbox, "longhaul-post-tool-use", r#"{"session_id":"open""#);
    check(&outcome);
    assert!(took < Duration::from_secs(3) + SLACK, "{took:?}");
    assert!(sandbox.error_log().contains("no payload came in time"), "{}", sandbox.error_log());
}

#[test]
fn a_session_id_cannot_leave_the_folder() {
    let sandbox = Sandbox::new();
    check(&sandbox.hook("longhaul-post-tool-use", payload("PostToolUse", json!({ "session_id": "../../etc/x" }))));
    assert_eq!(sandbox.count_lines("______etc_x", "T"), 1);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_survived() {
    let sandbox = Sandbox::new();
    // A file where the folder should be: stops root as well, whom permissions would not.
    fs::write(sandbox.data_dir(), "in the way").unwrap();
    check_all_recorded(&sandbox);
    assert_eq!(fs::read_to_string(sandbox.data_dir()).unwrap(), "in the way");
}

#[test]
fn a_full_disk_is_survived() {
    let sandbox = Sandbox::new();
    check(&sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "full" }))));
    let before = sandbox.log_lines("full");
    // No file may grow past what the log has already: as on a disk without a free block, writing fails with an error.
    for registration in REGISTRATIONS {
        let hook = sandbox.executable(&part_of_event(registration.event));
        let script = "ulimit -f 0; trap '' XFSZ; exec \"$@\"";
        let outcome = Outcome::of(
            &mut sandbox.wrapped("sh", &["-c", script, "sh"], &hook),
            recorded(registration.event, "full").as_bytes(),
        );
        check_hook(registration.event, &outcome);
    }
    assert_eq!(sandbox.log_lines("full"), before);
}

#[track_caller]
fn check_all_recorded(sandbox: &Sandbox) {
    for registration in REGISTRATIONS {
        check_hook(
            registration.event,
            &sandbox.hook(&part_of_event(registration.event), recorded(registration.event, "s")),
        );
    }
}

/// Returns a recorded payload of `event`, or a plain one for the few that could not be recorded.
fn recorded(event: EventName, session: &str) -> String {
    let changes = json!({ "session_id": session });
    match event {
        EventName::PreCompact => payload("PreCompact-auto", changes),
        EventName::PostToolUseFailure => payload("PostToolUseFailure-Bash", changes),
        EventName::Notification => payload("Notification-permission_prompt", changes),
        EventName::SessionEnd => payload("SessionEnd-other", changes),
        EventName::TeammateIdle | EventName::TaskCompleted => {
            json!({ "session_id": session, "hook_event_name": event.as_str() }).to_string()
        }
        event => payload(event.as_str(), changes),
    }
}

/// Hooks that are neither of a plugin nor of `longhaul install` were not installed by the user; past transcripts are there from the second session on.
#[test]
fn the_first_session_says_once_what_to_try() {
    let said = |sandbox: &Sandbox| {
        let start = payload("SessionStart", json!({ "transcript_path": sandbox.path("own.jsonl") }));
        let started = sandbox.hook("longhaul-session-start", start).json();
        started["systemMessage"].as_str().unwrap_or_default().to_owned()
    };
    let bare = Sandbox::new();
    assert_eq!(said(&bare), "");
    for has_past in [false, true] {
        let sandbox = Sandbox::new().with_env("CLAUDE_PLUGIN_ROOT", "/plugin");
        if has_past {
            let project = sandbox.home().join(".claude/projects/p");
            fs::create_dir_all(&project).unwrap();
            fs::write(project.join("past.jsonl"), "").unwrap();
        }
        let first = said(&sandbox);
        assert!(first.contains("`longhaul` shows all sessions") && first.contains("`longhaul worker open`"), "{first}");
        assert_eq!(first.contains("`longhaul memory import`"), has_past, "{first}");
        assert!(!first.contains('\n'), "{first}");
        assert_eq!(said(&sandbox), "", "once");
    }
}

#[test]
fn disabled_means_that_nothing_is_written() {
    let sandbox = Sandbox::new().with_env("LONGHAUL_DISABLE", "1");
    check_all_recorded(&sandbox);
    assert!(!sandbox.data_dir().exists());
}

#[test]
fn without_any_home_the_hook_still_answers() {
    let sandbox = Sandbox::new().with_env("HOME", "").with_env("LONGHAUL_HOME", "");
    check_all_recorded(&sandbox);
}

#[test]
fn what_is_stored_is_private() {
    let sandbox = Sandbox::new();
    let marker = payload("UserPromptSubmit", json!({ "prompt": "·" }));
    sandbox.hook("longhaul-session-start", payload("SessionStart", json!({})));
    sandbox.hook("longhaul-user-prompt-submit", marker);
    sandbox.hook("longhaul-stop", "{");
    let mut folders = vec![sandbox.data_dir()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
            files += 1;
        }
    }
    assert!(files >= 4, "only {files} files");
}
