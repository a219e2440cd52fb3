//! Scripted turns, blocked stops and every way in which `/clear` can go.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_transcript::latest_usage;
use serde_json::{Value, json};

use super::{Stage, stage_with};
use crate::poll::{DEADLINE, wait_until};
use crate::standin::{Hooks, Kind, Options, Reply};

const MODEL: &str = "claude-opus-5-5";

fn without_hooks() -> Options {
    Options { hooks: Hooks::None, ..Options::default() }
}

impl Stage {
    /// Writes a program for `StandIn::use_hook`.
    fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.sandbox.path(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Types `text` and Enter the way our injector does it: through tmux.
    fn types(&self, text: &str) {
        self.tmux.type_text(&self.pane, text);
        self.tmux.send_keys(&self.pane, &["Enter"]);
    }
}

fn entries(transcript: &Path) -> Vec<Value> {
    let text = fs::read_to_string(transcript).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

fn is_fresh_start(payload: &Value) -> bool {
    payload.get("prompt_id").is_none() && payload.get("permission_mode").is_none()
}

#[test]
fn a_prompt_plays_its_tools_and_its_reply_and_stops() {
    let stage = stage_with(&Options::default());
    stage.standin.replies([Reply::new("All three ran.").after_tools(3), "Unused.".into()]);
    stage.types("run them");
    let state = stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    assert_eq!((state.turns, state.replies_left, state.status.as_str()), (1, 1, "idle"));

    let fired: Vec<String> = stage.standin.log().iter().filter(|line| line["event"] == "hook").map(name_of).collect();
    assert_eq!(fired, ["UserPromptSubmit", "PostToolUse", "PostToolUse", "PostToolUse", "Stop"]);
    let stop = &stage.standin.fired("Stop")[0];
    assert_eq!(stop["last_assistant_message"], "All three ran.");
    assert_eq!((&stop["stop_hook_active"], &stop["background_tasks"]), (&json!(false), &json!([])));
    // Our own executables have seen it.
    assert_eq!(
        stage.sandbox.count_lines(&state.session_id, "T"),
        3,
        "{:?}",
        stage.sandbox.log_lines(&state.session_id)
    );
    assert!(!state.transcript_path.exists(), "there is a transcript only where it was asked for");
}

fn name_of(line: &Value) -> String {
    line["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_turn_without_a_reply_waits_to_be_stopped() {
    let stage = stage_with(&without_hooks());
    stage.standin.submit("think");
    stage.standin.wait_for_state("the turn", |state| state.status == "busy");
    stage.standin.stop();
    assert_eq!(stage.standin.state().status, "idle");
}

#[test]
fn a_blocked_stop_goes_on_with_the_reason_and_stops_again() {
    let stage = stage_with(&without_hooks().usage(800_000, MODEL));
    let block = stage.script(
        "block",
        r#"if grep -q '"stop_hook_active":false'; then
            printf '%s' '{"decision":"block","reason":"Reply with\n---\nnonce: n-4711\nkey `k9`\n---"}'
        fi"#,
    );
    stage.standin.use_hook("Stop", &block);
    stage.standin.replies([
        Reply::new("Halfway."),
        Reply::new("nonce: {{nonce}}, key {{match:key }}, {{match:nothing }}").using(801_000),
    ]);
    stage.types("work");
    let state = stage.standin.wait_for_state("both stops", |state| state.stops == 2);
    assert_eq!((state.turns, state.status.as_str(), state.replies_left), (1, "idle", 0));

    let reason = "Reply with\n---\nnonce: n-4711\nkey `k9`\n---";
    let stops = stage.standin.fired("Stop");
    let seen: Vec<_> = stops.iter().map(|stop| (&stop["stop_hook_active"], &stop["last_assistant_message"])).collect();
    let filled = json!("nonce: n-4711, key k9, {{match:nothing }}");
    assert_eq!(seen, [(&json!(false), &json!("Halfway.")), (&json!(true), &filled)]);
    assert_eq!(stops[0]["prompt_id"], stops[1]["prompt_id"]);
    assert_eq!(stage.standin.shown_by("Stop", Kind::BlockReason), [reason]);

    let entries = entries(&state.transcript_path);
    let kinds: Vec<&str> = entries
        .iter()
        .map(|entry| {
            entry["subtype"].as_str().or(entry["attachment"]["type"].as_str()).or(entry["type"].as_str()).unwrap()
        })
        .collect();
    assert_eq!(
        kinds,
        ["user", "assistant", "user", "hook_blocking_error", "stop_hook_summary", "assistant", "stop_hook_summary"]
    );
    assert_eq!(entries[2]["message"]["content"], format!("Stop hook feedback:\n{reason}"));
    assert_eq!(entries[2]["isMeta"], true);
    assert!(entries.windows(2).all(|pair| pair[1]["parentUuid"] == pair[0]["uuid"]));
    let usage = latest_usage(&fs::read(&state.transcript_path).unwrap()).expect("the reply has usage");
    assert_eq!((usage.tokens, usage.model.as_deref()), (801_000, Some(MODEL)));

    // The next prompt's turn starts from the beginning.
    stage.standin.replies(["Done."]);
    stage.standin.use_hook("Stop", Path::new("/bin/true"));
    stage.standin.submit("more");
    stage.standin.wait_for_state("the third stop", |state| state.stops == 3);
    assert_eq!(stage.standin.fired("Stop")[2]["stop_hook_active"], false);
}

#[test]
fn a_stop_told_from_outside_can_be_blocked_and_played_on() {
    let stage = stage_with(&without_hooks());
    let block =
        stage.script("block", r#"grep -q '"stop_hook_active":true' || echo '{"decision":"block","reason":"x"}'"#);
    stage.standin.use_hook("Stop", &block);
    stage.standin.replies(["The answer."]);
    stage.standin.turn();
    assert_eq!(stage.standin.stop(), "{\"decision\":\"block\",\"reason\":\"x\"}\n");
    stage.standin.wait_for_state("the second stop", |state| state.stops == 2 && state.status == "idle");
    assert_eq!(stage.standin.fired("Stop")[1]["last_assistant_message"], "The answer.");

    // With nothing left to say it is still at work.
    stage.standin.turn();
    stage.standin.stop();
    assert_eq!(stage.standin.state().status, "busy");
}

#[test]
fn what_hooks_say_is_kept_by_session_event_and_reader() {
    let stage = stage_with(&without_hooks());
    let context = stage.script(
        "context",
        r#"echo '{"systemMessage":"carried on","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"the handoff"}}'"#,
    );
    stage.standin.use_hook("SessionStart", &context);
    stage.standin.use_hook("UserPromptSubmit", &stage.script("plain", "echo plain text"));
    stage.types("/clear");
    let session = stage.standin.wait_for_session_change(DEADLINE);
    stage.shows("SessionStart:clear says: carried on");
    stage.standin.replies(["Yes."]);
    stage.standin.submit("go on");
    stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    let shown = stage.standin.shown();
    let seen: Vec<_> = shown.iter().map(|shown| (shown.event.as_str(), shown.kind, shown.text.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("SessionStart", Kind::SystemMessage, "carried on"),
            ("SessionStart", Kind::AdditionalContext, "the handoff"),
            ("UserPromptSubmit", Kind::AdditionalContext, "plain text"),
        ]
    );
    assert!(shown.iter().all(|shown| shown.session_id == session));
}

#[test]
fn a_late_transcript_lacks_the_reply_while_stop_runs() {
    let stage = stage_with(&without_hooks().usage(100, MODEL).with_late_transcript());
    let copy = stage.sandbox.path("copy");
    let transcript = stage.standin.state().transcript_path;
    let script = stage.script("look", &format!("cp '{}' '{}'", transcript.display(), copy.display()));
    stage.standin.use_hook("Stop", &script);
    stage.standin.replies(["Here."]);
    stage.types("say it");
    stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    let types = |path: &Path| -> Vec<Value> { entries(path).iter().map(|entry| entry["type"].clone()).collect() };
    assert_eq!(types(&copy), ["user"]);
    assert_eq!(types(&transcript), ["user", "assistant", "system"]);
}

#[test]
fn stop_says_what_still_runs_and_a_failure_fires_its_own_event() {
    let stage = stage_with(&Options::default().usage(500_000, MODEL));
    let tasks = json!([{ "id": "a0", "type": "subagent", "status": "running" }]);
    stage.standin.replies([
        Reply::new("Launched.").with_stop(json!({ "background_tasks": tasks })),
        Reply::failure("rate_limit").after_tools(1),
    ]);
    stage.types("launch");
    stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    assert_eq!(stage.standin.fired("Stop")[0]["background_tasks"], tasks);

    stage.types("go on");
    stage.standin.wait_for_answers("StopFailure", 1);
    stage.standin.turn();
    stage.standin.stop_failure("server_error");
    let failures = stage.standin.fired("StopFailure");
    assert_eq!((&failures[0]["error"], &failures[1]["error"]), (&json!("rate_limit"), &json!("server_error")));
    assert!(failures[0].get("permission_mode").is_none() && failures[0].get("prompt_id").is_some());
    let state = stage.standin.state();
    assert_eq!((state.stops, state.status.as_str()), (1, "idle"));
    let usage = latest_usage(&fs::read(&state.transcript_path).unwrap()).expect("the tool call has usage");
    assert_eq!(usage.tokens, 500_000, "an error of the client's own has none");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn a_clear_ends_one_session_and_starts_another_in_the_same_process() {
    let stage = stage_with(&Options::default().usage(900_000, MODEL));
    let before = stage.standin.state();
    stage.standin.replies(["First.", "Second."]);
    stage.types("one");
    stage.standin.wait_for_state("the stop", |state| state.stops == 1);
    stage.types("/clear");
    let session = stage.standin.wait_for_session_change(DEADLINE);
    assert_ne!(session, before.session_id);
    assert_eq!(stage.record()["sessionId"], session.as_str());
    stage.standin.wait_for_answers("SessionStart", 1);

    let end = &stage.standin.fired("SessionEnd")[0];
    assert_eq!((&end["reason"], &end["session_id"]), (&json!("clear"), &json!(before.session_id)));
    assert_eq!(end["prompt_id"], stage.standin.fired("Stop")[0]["prompt_id"]);
    let start = &stage.standin.fired("SessionStart")[0];
    assert_eq!((&start["source"], &start["session_id"]), (&json!("clear"), &json!(session)));
    assert!(is_fresh_start(start), "{start}");

    stage.types("two");
    let after = stage.standin.wait_for_state("the second stop", |state| state.stops == 2);
    assert_eq!(after.pid, before.pid);
    assert_ne!(after.transcript_path, before.transcript_path);
    assert_eq!(start["transcript_path"], json!(after.transcript_path));
    assert_eq!(entries(&after.transcript_path)[0]["parentUuid"], Value::Null);
    assert!(entries(&before.transcript_path).iter().all(|entry| entry["sessionId"] == before.session_id.as_str()));
    let prompts = stage.standin.prompts();
    let prompts: Vec<_> = prompts.iter().map(|prompt| (prompt.session_id.as_str(), prompt.text.as_str())).collect();
    let old = before.session_id.as_str();
    assert_eq!(prompts, [(old, "one"), (old, "/clear"), (session.as_str(), "two")]);
    assert_eq!(stage.standin.fired("UserPromptSubmit").len(), 2, "/clear is not a prompt");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn a_clear_can_be_slow_with_or_without_showing_it() {
    let delay = Duration::from_millis(700);
    for busy in [false, true] {
        let options = without_hooks();
        let options = if busy { options.with_busy_clear_delay(delay) } else { options.with_clear_delay(delay) };
        let stage = stage_with(&options);
        let old = stage.standin.session_id();
        let began = Instant::now();
        stage.types("/clear");
        let state = stage.standin.wait_for_state("the command", |state| !state.submitted.is_empty());
        assert_eq!((state.status.as_str(), &state.session_id), (if busy { "busy" } else { "idle" }, &old));
        assert_eq!(stage.tmux.capture(&stage.pane).contains("esc to interrupt"), busy);

        // A person's prompt is heard at once, by the old session's hooks, and answered by the new session.
        stage.types("wait, do this");
        stage.standin.wait_for_answers("UserPromptSubmit", 1);
        assert_eq!(stage.standin.fired("UserPromptSubmit")[0]["session_id"], old.as_str());
        let session = stage.standin.wait_for_session_change(DEADLINE);
        assert!(began.elapsed() >= delay);
        let state = stage.standin.wait_for_state("the prompt's turn", |state| state.turns == 1);
        assert_eq!((state.session_id, state.submitted[1].started_turn), (session, true));
    }
}

#[test]
fn a_clear_can_be_swallowed_a_number_of_times() {
    let stage = stage_with(&without_hooks().swallowing_clears(2));
    let old = stage.standin.session_id();
    let swallowed = |n| {
        stage.types("/clear");
        let count = || stage.standin.log().iter().filter(|line| line["event"] == "clear_swallowed").count();
        wait_until(DEADLINE, "the swallowed command", || count() == n);
    };
    swallowed(1);
    swallowed(2);
    let state = stage.standin.state();
    assert_eq!((state.session_id, state.status.as_str(), state.draft.as_str()), (old, "idle", ""));
    assert!(stage.standin.fired("SessionEnd").is_empty());
    stage.types("/clear");
    stage.standin.wait_for_session_change(DEADLINE);
    stage.standin.swallow_clears(u32::MAX);
    swallowed(3);
}

#[test]
fn a_clear_can_be_the_last_thing_before_a_crash() {
    for (options, starts) in
        [(Options::default().killed_after_clear(), 1), (Options::default().killed_before_session_start(), 0)]
    {
        let stage = stage_with(&options);
        let state = stage.standin.state();
        stage.types("/clear");
        stage.standin.wait_for_end();
        assert_eq!(stage.standin.fired("SessionEnd").len(), 1);
        assert_eq!(stage.standin.fired("SessionStart").len(), starts);
        stage.standin.wait_for_answers("SessionStart", starts);
        // Its record stays behind and names the session that nobody runs.
        let record = stage.sandbox.home().join(format!(".claude/sessions/{}.json", state.pid));
        let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
        assert_ne!(record["sessionId"], state.session_id.as_str());
    }
}
