//! What a session may spend: it is stopped within one request, told how to go on, and nothing of it is lost; subagents that
//! are too many are denied; calls that are repeated are noticed.

mod cut_off;
mod days;
mod loops;
mod replay;

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_for};
use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload};

/// 2026-11-15 12:00 UTC.
const NOON: u64 = 1_794_744_000_000;

/// A session whose transcript grows.
struct Session {
    sandbox: Sandbox,
    id: &'static str,
    requests: std::cell::Cell<u32>,
}

impl Session {
    fn new(config: &Value) -> Self {
        Self::in_zone(config, "UTC", NOON)
    }

    /// A session in its first turn.
    fn working(config: &Value) -> Self {
        let session = Self::new(config);
        session.prompt("work");
        session
    }

    fn in_zone(config: &Value, zone: &str, now: u64) -> Self {
        let sandbox = Sandbox::new().at(now).with_env("TZ", zone);
        sandbox.write_config(&config.to_string());
        let session = Self { sandbox, id: "spender", requests: std::cell::Cell::default() };
        session.fire("SessionStart", json!({}));
        session
    }

    /// Runs the hook of an event. Nothing goes wrong, unless a limit has stopped the session.
    #[track_caller]
    fn fire(&self, event: &str, changes: Value) -> Value {
        self.fire_as(self.id, event, changes)
    }

    #[track_caller]
    fn fire_as(&self, id: &str, event: &str, mut changes: Value) -> Value {
        changes["session_id"] = json!(id);
        changes["transcript_path"] = json!(self.transcript(&format!("{id}.jsonl")));
        changes["cwd"] = json!(self.sandbox.project());
        let name = event.split('-').next().unwrap_or(event);
        let executable = part_of_payload(name);
        let outcome = self.sandbox.hook(&executable, payload(event, changes));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()
    }

    fn transcript(&self, name: &str) -> std::path::PathBuf {
        self.sandbox.home().join(".claude/projects/-project").join(name)
    }

    /// Returns a session that was asked to do something, and has spent more than its limit since.
    fn past_its_limit() -> Self {
        const PROMPT: &str = "port the parser to the new grammar";
        let session = Self::new(&json!({ "limits": { "session": 1 } }));
        session.prompt(PROMPT);
        let asked = json!({
            "type": "user", "uuid": "u1", "sessionId": session.id, "timestamp": "2026-11-15T11:58:00.000Z",
            "message": { "role": "user", "content": PROMPT },
        });
        session.append("spender.jsonl", &asked);
        session.spend(60_000);
        session
    }

    /// Appends a reply that reports this many output tokens of Opus 5.5: a thousand cost two cents.
    fn spend(&self, output: u64) {
        self.spend_in(&format!("{}.jsonl", self.id), self.id, "claude-opus-5-5", output);
    }

    fn spend_in(&self, name: &str, session: &str, model: &str, output: u64) {
        self.requests.set(self.requests.get() + 1);
        let line = json!({
            "type": "assistant", "timestamp": "2026-11-15T11:59:00.000Z", "sessionId": session, "requestId": "r",
            "cwd": self.sandbox.project(),
            "message": {
                "id": format!("m{}", self.requests.get()), "model": model,
                "usage": { "input_tokens": 0, "output_tokens": output },
            },
        });
        self.append(name, &line);
    }

    fn append(&self, name: &str, line: &Value) {
        let path = self.transcript(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    #[track_caller]
    fn use_tool(&self) -> Value {
        self.fire("PostToolUse", json!({}))
    }

    #[track_caller]
    fn prompt(&self, text: &str) -> Value {
        self.fire("UserPromptSubmit", json!({ "prompt": text }))
    }

    fn longhaul(&self, args: &[&str]) -> Outcome {
        self.sandbox.longhaul(args)
    }
}

#[track_caller]
fn goes_on(answer: &Value) {
    assert_eq!(answer["continue"], true, "{answer}");
}

#[track_caller]
fn stops(answer: &Value, because: &str) {
    assert_eq!(answer["continue"], false, "{answer}");
    let reason = answer["stopReason"].as_str().unwrap();
    assert!(reason.contains(because), "{reason}");
}

#[test]
fn a_session_is_warned_once_stopped_and_goes_on_when_its_limit_is_raised() {
    let session = Session::new(&json!({ "limits": { "session": 5 } }));
    goes_on(&session.prompt("work"));
    session.spend(100_000);
    let first = session.use_tool();
    assert_eq!(first.get("systemMessage"), None, "{first}");
    session.spend(105_000);
    let near = session.use_tool();
    goes_on(&near);
    let message = near["systemMessage"].as_str().unwrap();
    assert_eq!(message, "longhaul: this session has spent $4.10 of $5, 82 % of limits.session");
    assert_eq!(session.use_tool().get("systemMessage"), None, "told once");

    session.spend(50_000);
    let stopped = session.use_tool();
    stops(&stopped, "this session has spent $5.10 of $5 (limits.session)");
    let reason = stopped["stopReason"].as_str().unwrap();
    assert!(reason.contains("`longhaul limit raise 5`") && reason.contains("`!!`"), "{reason}");
    let is_shown = || {
        let status = session.longhaul(&["status", "--json"]).json();
        status[0]["status"] == "blocked" && status[0]["reason"] == "limits.session: $5.10 of $5"
    };
    assert!(is_shown());
    // A call that ran beside this one, and takes longer.
    stops(&session.use_tool(), "limits.session");
    assert!(is_shown());

    // A prompt asks; one that begins with `!!` goes on, for its turn.
    stops(&session.prompt("go on"), "limits.session");
    goes_on(&session.prompt(" !!go on"));
    session.spend(1_000);
    goes_on(&session.use_tool());
    stops(&session.prompt("and now"), "$5.12 of $5");

    let shown = session.longhaul(&["limit"]);
    assert!(shown.stdout.contains("limits.session") && shown.stdout.contains("102 %"), "{}", shown.stdout);
    session.spend(10_000);
    stops(&session.use_tool(), "$5.32 of $5");
    let raised = session.longhaul(&["limit", "raise", "5"]);
    assert_eq!(raised.status, Some(0), "{raised:?}");
    assert!(raised.stderr.contains("limits.session is $10.32"), "{}", raised.stderr);
    goes_on(&session.prompt("go on"));
    session.spend(100_000);
    goes_on(&session.use_tool());
    session.spend(200_000);
    stops(&session.use_tool(), "of $10.32");
}

#[test]
fn the_next_session_continues_what_a_limit_has_stopped() {
    for is_in_turn in [true, false] {
        let session = Session::past_its_limit();
        match is_in_turn {
            true => stops(&session.use_tool(), "limits.session"),
            false => stops(&session.prompt("go on"), "limits.session"),
        }
        let database = session.sandbox.database();
        let sql = "SELECT reason FROM handoff_log WHERE project_path IS NOT NULL";
        let baton = database.query_row(sql, [], |row| row.get::<_, String>(0));
        assert_eq!(baton.as_deref(), Ok("limit"), "{is_in_turn}");
        let next = session.fire_as("next", "SessionStart", json!({ "source": "startup" }));
        let shown = next["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        assert!(shown.contains("port the parser to the new grammar"), "{is_in_turn}: {next}");
        assert!(!shown.contains("go on"), "{next}");
    }
}

#[test]
fn requests_of_subagents_count_and_copies_and_repetitions_do_not() {
    let session = Session::working(&json!({ "limits": { "session": 1 } }));
    session.spend_in("spender/subagents/agent-a.jsonl", session.id, "claude-opus-5-5", 30_000);
    goes_on(&session.use_tool());
    // A fork has copied this from another session.
    let copied = json!({
        "timestamp": "2026-11-15T11:00:00.000Z", "sessionId": session.id, "forkedFrom": { "sessionId": "origin" },
        "message": { "id": "old", "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": 900_000 } },
    });
    session.append("spender.jsonl", &copied);
    // A reply is written in pieces, each with what was reported so far.
    for output in [1_000, 1_000, 15_000, 15_000] {
        let piece = json!({
            "timestamp": "2026-11-15T11:59:00.000Z", "sessionId": session.id,
            "message": { "id": "pieces", "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": output } },
        });
        session.append("spender.jsonl", &piece);
        goes_on(&session.use_tool());
    }
    let limits = session.longhaul(&["limit", "--json"]).json();
    assert_eq!(limits["sessions"][0]["limits"][0]["cost_usd"], 0.9, "{limits}");
    let cost = session.longhaul(&["cost", "--by", "session", "--json"]).json();
    let own = cost["rows"].as_array().unwrap().iter().find(|row| row["key"] == session.id).unwrap();
    assert_eq!(own["cost_usd"], 0.9, "{cost}");
    session.spend_in("spender/subagents/agent-a.jsonl", session.id, "claude-opus-5-5", 10_000);
    stops(&session.fire("PostToolUse-in-subagent", json!({})), "$1.10 of $1");
}

#[test]
fn tokens_count_without_a_price_and_dollars_say_that_they_do_not() {
    let session = Session::working(&json!({ "limits": { "session": "1M" } }));
    session.spend_in("spender.jsonl", session.id, "claude-next-9", 900_000);
    let near = session.use_tool();
    assert!(near["systemMessage"].as_str().unwrap().contains("900k of 1M tokens, 90 %"), "{near}");
    session.spend_in("spender.jsonl", session.id, "claude-next-9", 100_000);
    stops(&session.use_tool(), "1M of 1M tokens");
    let wrong = session.longhaul(&["limit", "raise", "5"]);
    assert!(wrong.status == Some(1) && wrong.stderr.contains("no limit in dollars"), "{wrong:?}");

    let session = Session::working(&json!({ "limits": { "session": 5 } }));
    session.spend_in("spender.jsonl", session.id, "claude-next-9", 900_000);
    let blind = session.use_tool();
    let message = blind["systemMessage"].as_str().unwrap();
    assert!(message.contains("the price of 900k tokens is not known") && message.contains("models"), "{message}");
    assert_eq!(session.use_tool().get("systemMessage"), None, "told once");
}

#[test]
fn the_limit_of_a_day_is_that_of_all_sessions() {
    let session = Session::new(&json!({ "limits": { "day": 3, "project_day": 4 } }));
    // A session whose hooks were not running.
    session.spend_in("other.jsonl", "other", "claude-opus-5-5", 50_000);
    assert_eq!(session.longhaul(&["limit", "count"]).status, Some(0));
    session.prompt("work");
    session.spend(50_000);
    goes_on(&session.use_tool());
    session.fire_as("third", "SessionStart", json!({}));
    session.spend_in("third.jsonl", "third", "claude-opus-5-5", 60_000);
    stops(
        &session.fire_as("third", "PostToolUse", json!({})),
        "all sessions have spent $3.20 of $3 today (limits.day)",
    );
    stops(&session.use_tool(), "$3.20 of $3 today");
    let shown = session.longhaul(&["limit"]).stdout;
    assert!(shown.contains("All sessions have spent $3.20 of $3 today."), "{shown}");
}

#[test]
fn a_project_may_be_stricter_and_nothing_else() {
    for (project, spent) in [(1, 60_000), (9, 260_000)] {
        let session = Session::new(&json!({ "limits": { "session": 5 } }));
        let dir = session.sandbox.project().join(".claude");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("longhaul.json"), json!({ "limits": { "session": project } }).to_string()).unwrap();
        session.prompt("work");
        session.spend(spent);
        stops(&session.use_tool(), "limits.session");
    }
}

#[test]
fn too_many_subagents_are_denied_and_say_why_once() {
    let session = Session::working(&json!({ "limits": { "subagents": { "at_once": 2, "in_turn": 4 } } }));
    let launch = |n: u32| session.fire("PreToolUse-Agent", json!({ "tool_use_id": format!("t{n}") }));
    let denied = |answer: &Value| answer["hookSpecificOutput"]["permissionDecision"] == "deny";
    assert!(!denied(&launch(1)) && !denied(&launch(2)));
    let third = launch(3);
    assert!(denied(&third), "{third}");
    let reason = third["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("2 subagents are running") && reason.contains("limits.subagents.at_once is 2"), "{reason}");
    assert!(third["systemMessage"].as_str().unwrap().contains("no more subagents"), "{third}");
    assert_eq!(launch(3).get("systemMessage"), None, "the user is told once in a turn");
    // In the background: the call returns when the subagent has started, and not when it has ended.
    for n in [1, 2] {
        session.fire("SubagentStart", json!({ "agent_id": format!("a{n}") }));
        session.fire("PostToolUse-Agent", json!({}));
    }
    assert!(denied(&launch(3)));
    session.fire("SubagentStop", json!({ "agent_id": "a1" }));
    assert!(!denied(&launch(3)) && denied(&launch(4)));
    session.fire("SubagentStart", json!({ "agent_id": "a3" }));
    for n in ["a2", "a3"] {
        session.fire("SubagentStop", json!({ "agent_id": n }));
    }
    assert!(!denied(&launch(4)));
    let fifth = launch(5)["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert!(fifth.contains("limits.subagents.in_turn is 4"), "{fifth}");
    session.prompt("more");
    assert!(!denied(&launch(6)));
}

#[test]
fn a_subagent_beyond_a_limit_is_denied_and_only_the_user_is_told_how_to_go_on() {
    let session = Session::working(&json!({ "limits": { "session": 1 } }));
    session.spend(60_000);
    let denied = session.fire("PreToolUse-Agent", json!({}));
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert_eq!(reason, "this session has spent $1.20 of $1 (limits.session)");
    assert!(denied["systemMessage"].as_str().unwrap().contains("`longhaul limit raise 5`"), "{denied}");
}

#[test]
fn a_session_is_stopped_although_what_it_has_spent_cannot_be_written() {
    let session = Session::working(&json!({ "limits": { "session": 1, "day": 100 } }));
    session.spend(60_000);
    // A file is where the folder of the days was.
    let days = session.sandbox.data_dir().join("limits");
    fs::remove_dir_all(&days).unwrap();
    fs::write(&days, "").unwrap();
    stops(&session.use_tool(), "limits.session");
    stops(&session.prompt("go on"), "limits.session");
}

#[test]
fn a_limit_that_is_near_or_reached_is_notified() {
    for (output, expected) in [
        (205_000, "is near a limit: this session has spent $4.10 of $5"),
        (255_000, "has reached a limit: limits.session: $5.10 of $5"),
    ] {
        let session = Session::new(&json!({}));
        let (script, record) = (session.sandbox.path("record.sh"), session.sandbox.path("record"));
        fs::write(&script, format!("#!/bin/sh\necho \"$4: $5\" >> '{}'\n", record.display())).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let notify = json!({ "limit": ["command"], "command": [script] });
        session.sandbox.write_config(&json!({ "limits": { "session": 5 }, "notify": notify }).to_string());
        session.prompt("work");
        session.spend(output);
        session.use_tool();
        let recorded = || fs::read_to_string(&record).unwrap_or_default();
        wait_for(DEADLINE, "the notification", || recorded().ends_with('\n').then_some(()));
        assert!(recorded().contains(expected), "{}", recorded());
    }
}

#[test]
fn the_doctor_names_what_a_limit_has_stopped_and_what_it_does_not_see() {
    let session = Session::working(&json!({ "limits": { "session": 5 } }));
    session.spend_in("spender.jsonl", session.id, "claude-next-9", 900_000);
    session.spend(300_000);
    stops(&session.use_tool(), "without 900k tokens of unknown price");
    let findings = session.longhaul(&["doctor", "--json"]).json();
    let of = |level: &str| {
        let all = findings.as_array().or(findings["findings"].as_array()).unwrap();
        let found = all.iter().find(|one| one["check"] == "limits" && one["level"] == level);
        found.unwrap_or_else(|| panic!("no {level} in {findings}"))["what"].as_str().unwrap().to_owned()
    };
    assert!(of("note").contains("$6.00 of $5"), "{}", of("note"));
    assert!(of("warning").contains("tokens of unknown price"), "{}", of("warning"));
}

#[test]
fn a_session_of_another_agent_is_named_as_one_that_is_not_stopped() {
    let session = Session::new(&json!({ "limits": { "session": 5 } }));
    let payload = json!({
        "session_id": "01a1de69-9a48-7213-b664-b016f981bf57", "hook_event_name": "UserPromptSubmit", "prompt": "work",
        "cwd": session.sandbox.project(), "turn_id": "t", "model": "gpt-5-codex", "permission_mode": "default",
    });
    let mut hook = session.sandbox.executable("longhaul");
    let outcome = Outcome::of(hook.args(["hook", "--codex", "user-prompt-submit"]), payload.to_string().as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let shown = session.longhaul(&["limit"]).stdout;
    let line = "Not stopped, because limits stop only Claude Code: codex:01a1de69-9a48 in project.";
    assert!(shown.contains(line), "{shown}");
    let json = session.longhaul(&["limit", "--json"]).json();
    assert_eq!(json["not_stopped"], json!(["codex:01a1de69-9a48-7213-b664-b016f981bf57"]), "{json}");
    session.sandbox.write_config("{}");
    assert!(!session.longhaul(&["limit"]).stdout.contains("Not stopped"));
}

#[test]
fn without_a_limit_nothing_is_written() {
    let session = Session::working(&json!({}));
    session.spend(1_000_000);
    goes_on(&session.use_tool());
    assert!(!session.sandbox.data_dir().join("sessions/spender.limits").exists());
    let shown = session.longhaul(&["limit"]).stdout;
    assert!(shown.starts_with("No limit is set."), "{shown}");
}

#[test]
fn an_account_that_was_cut_off_is_made_again_from_the_transcript() {
    let session = Session::working(&json!({ "limits": { "session": 1 } }));
    session.spend(30_000);
    goes_on(&session.use_tool());
    fs::write(session.sandbox.data_dir().join("sessions/spender.limits"), "{\"session\":{\"co").unwrap();
    session.spend(25_000);
    stops(&session.use_tool(), "$1.10 of $1");
    // It is written in one piece, so that this is not lost.
    session.longhaul(&["limit", "raise", "5"]);
    goes_on(&session.use_tool());
    let account = fs::read(session.sandbox.data_dir().join("sessions/spender.limits")).unwrap();
    assert!(serde_json::from_slice::<Value>(&account).is_ok(), "{account:?}");
}

#[test]
fn the_status_line_shows_the_limit_on_request() {
    let session = Session::working(&json!({ "limits": { "session": 5 } }));
    session.spend(205_000);
    session.use_tool();
    let input = json!({ "session_id": session.id, "cost": { "total_cost_usd": 4.1 } }).to_string();
    let mut command = session.sandbox.executable("longhaul");
    let line = Outcome::of(command.args(["statusline", "--cost"]), input.as_bytes()).stdout;
    assert!(line.contains("$4.10 of $5") && line.matches("$4.10").count() == 1, "{line}");
}
