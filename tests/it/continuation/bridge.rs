//! Rounds through the module inside Claude Code: what it reports, and which actions it gets.

use serde_json::{Value, json};

use super::{Bare, FULL, PROMPT, Stage, full_turn, handoff, nonce};
use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, tool, with};
use crate::standin::{Options, Reply};

/// Tells what the module of client `pid` would, and returns what it is told to do.
fn tell(sandbox: &Sandbox, pid: u32, event: &str, report: Value) -> Vec<Value> {
    let mut command = sandbox.executable("longhaul");
    command.args(["bridge", event]).env("CLAUDE_PID", pid.to_string()).current_dir(sandbox.project());
    let told = Outcome::of(&mut command, report.to_string().as_bytes());
    assert_eq!(told.status, Some(0), "{told:?}");
    told.json()["actions"].as_array().expect("a list of actions").clone()
}

/// Returns what is to be done, apart from what is only shown.
fn deeds(actions: &[Value]) -> Vec<Value> {
    actions.iter().filter(|action| action["do"] != "status").cloned().collect()
}

fn usage(tokens: u64) -> Value {
    json!({ "context": { "tokens": tokens, "window": 1_000_000, "percent": tokens / 10_000 },
            "rateLimits": [{ "kind": "five_hour", "percentUsed": 12.5, "resetsAt": "2026-11-15T12:00:00Z" }] })
}

impl Bare {
    /// A client without a terminal, whose module runs.
    fn with_module() -> (Self, u32) {
        let pid = std::process::id();
        let bare = Self::new();
        let bare = Self { sandbox: bare.sandbox.with_env("CLAUDE_PID", pid.to_string()), ..bare };
        tell(&bare.sandbox, pid, "start", json!({ "plugin": "longhaul", "session": "a", "interactive": true }));
        (bare, pid)
    }

    fn turn(&self, pid: u32, session: &str) -> Vec<Value> {
        deeds(&tell(
            &self.sandbox,
            pid,
            "turn",
            json!({ "session": session, "reason": "answer", "usage": usage(5_000) }),
        ))
    }

    fn hook(&self, name: &str, executable: &str, changes: Value) -> Value {
        let all = with(json!({ "cwd": self.sandbox.project() }), &changes);
        self.sandbox.hook(executable, payload(name, all)).json()
    }

    fn state(&self) -> String {
        self.status()[0]["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Comes as far as the handoff, which the module asks for by a prompt: nothing is shown as the error of a hook.
    fn hands_over(&self) {
        assert_eq!(self.stop(json!({}))["decision"], Value::Null);
        let asked = self.turn(std::process::id(), "a");
        let nonce = self.prompted(&asked);
        let reply = format!("---\ncontinue: true\nnonce: {nonce}\n---\n# Remaining\n- the rest\n");
        self.stop(json!({ "last_assistant_message": reply }));
        assert_eq!(self.state(), "clearing");
    }

    /// Submits the one prompt that the module is told to, and returns the nonce in it.
    #[track_caller]
    fn prompted(&self, actions: &[Value]) -> String {
        let [question] = actions else { panic!("asked {actions:?}") };
        assert_eq!(question["do"], "submit", "{question}");
        let text = question["text"].as_str().unwrap();
        self.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "a", "prompt": text }));
        text.rsplit("nonce: ").next().unwrap().to_owned()
    }
}

#[test]
fn without_a_terminal_the_module_clears_and_prompts() {
    let (bare, pid) = Bare::with_module();
    bare.hands_over();
    assert_eq!(bare.turn(pid, "b"), [Value::Null; 0], "another session is none of its business");
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "clear" })]);
    assert_eq!(bare.turn(pid, "a"), [Value::Null; 0], "what it was told it does, and not twice");
    // The client says that it has cleared before the new session's hook has come to its end.
    let sandbox = &bare.sandbox;
    let actions = std::thread::scope(|scope| {
        let cleared = scope.spawn(|| tell(sandbox, pid, "cleared", json!({ "session": "b" })));
        let shown =
            bare.hook("SessionStart-clear", "longhaul-session-start", json!({ "session_id": "b", "source": "clear" }));
        assert!(shown["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("- the rest"), "{shown}");
        cleared.join().unwrap()
    });
    assert_eq!(deeds(&actions), [json!({ "do": "submit", "text": PROMPT })]);
    bare.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "b", "prompt": PROMPT }));
    wait_until(DEADLINE, "the end of the round", || bare.state() == "done");
    assert_eq!(bare.sandbox.error_log(), "");
}

#[test]
fn what_the_client_refuses_is_tried_once_more_and_then_told() {
    let (bare, pid) = Bare::with_module();
    bare.hands_over();
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "clear" })]);
    let refused = json!({ "session": "a", "do": "clear", "error": "a turn runs" });
    assert_eq!(tell(&bare.sandbox, pid, "failed", refused.clone()), [json!({ "do": "clear" })]);
    let given_up = tell(&bare.sandbox, pid, "failed", refused);
    assert_eq!(given_up[0]["do"], "toast");
    assert!(given_up[0]["text"].as_str().unwrap().contains("refused to clear: a turn runs"), "{given_up:?}");
    assert_eq!(bare.state(), "failed");
    assert!(bare.sandbox.error_log().contains("bridge: Claude Code refused to clear: a turn runs"));
    let line = tell(&bare.sandbox, pid, "turn", json!({ "session": "a", "reason": "aborted" }));
    let line = line[0]["text"].as_str().unwrap_or_default();
    assert!(line.contains("not continued: clearing: Claude Code refused to clear"), "{line}");
}

#[test]
fn what_the_user_begins_before_the_clear_ends_it() {
    let (bare, pid) = Bare::with_module();
    bare.hands_over();
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "clear" })]);
    let overtaken = |action: &str| tell(&bare.sandbox, pid, "overtaken", json!({ "session": "a", "do": action }));
    assert_eq!(overtaken("compact"), [Value::Null; 0]);
    assert_eq!(bare.state(), "clearing", "that was no step of it");
    assert_eq!(overtaken("clear"), [Value::Null; 0]);
    assert_eq!(bare.state(), "cancelled");
    assert!(bare.sandbox.error_log().contains("not continued: something else was begun meanwhile"));
}

#[test]
fn without_a_terminal_the_module_is_waited_for_as_long_as_the_step_lasts() {
    let (bare, pid) = Bare::with_module();
    bare.sandbox.write_config(r#"{"continuation":{"at":1000}}"#);
    bare.hands_over();
    // Other programs' hooks hold the end of the turn up: longer than there is time to wait where it can be typed.
    let begun = std::time::Instant::now();
    wait_until(DEADLINE, "more than that", || begun.elapsed().as_secs() >= 4);
    assert_eq!(bare.status()[0]["attempt"], 1, "{}", bare.status());
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "clear" })]);
}

#[test]
fn where_the_user_clears_by_hand_the_module_prompts() {
    let (bare, pid) = Bare::with_module();
    bare.hands_over();
    let refused = json!({ "session": "a", "do": "clear", "error": "not now" });
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "clear" })]);
    tell(&bare.sandbox, pid, "failed", refused.clone());
    tell(&bare.sandbox, pid, "failed", refused);
    assert_eq!(bare.state(), "failed");
    let resumed = bare.sandbox.longhaul(&["continuation", "resume"]);
    assert!(resumed.stderr.contains("type /clear in that session"), "{resumed:?}");
    let time = |key: &str| bare.status()[0][key].as_u64().unwrap();
    assert!(time("deadline_ms") - time("since_ms") > 600_000, "a person has time: {}", bare.status());
    bare.hook("SessionStart-clear", "longhaul-session-start", json!({ "session_id": "b", "source": "clear" }));
    let told = tell(&bare.sandbox, pid, "end", json!({ "session": "a", "reason": "clear" }));
    assert_eq!(deeds(&told), [json!({ "do": "submit", "text": PROMPT })]);
    let again = tell(&bare.sandbox, pid, "cleared", json!({ "session": "b" }));
    assert_eq!(deeds(&again), [Value::Null; 0], "once");
}

#[test]
fn a_client_that_was_killed_is_forgotten_and_one_that_runs_is_shown() {
    let (bare, pid) = Bare::with_module();
    bare.hook("SessionStart-startup-interactive", "longhaul-session-start", json!({ "session_id": "a" }));
    let row = || bare.sandbox.longhaul(&["status", "--json"]).json()[0].clone();
    assert_eq!(row()["bridge"], true, "{}", row());
    let mut killed = tool("sleep").arg("60").spawn().unwrap();
    tell(&bare.sandbox, killed.id(), "start", json!({ "session": "b", "interactive": true }));
    killed.kill().unwrap();
    killed.wait().unwrap();
    tell(&bare.sandbox, pid, "start", json!({ "session": "a", "interactive": true }));
    let store = longhaul_store::bridges_of(&bare.sandbox.data_dir().join("longhaul.db"), DEADLINE);
    assert_eq!(store.iter().map(|bridge| bridge.client_pid).collect::<Vec<_>>(), [pid]);
    tell(&bare.sandbox, pid, "end", json!({ "session": "a", "reason": "other" }));
    assert_eq!(row()["bridge"], false);
}

#[test]
fn in_a_pane_nothing_is_typed_where_the_module_runs() {
    let stage = Stage::new(Options::default());
    let pid = stage.standin.state().pid;
    let first = stage.standin.session_id();
    tell(&stage.sandbox, pid, "start", json!({ "session": first, "interactive": true }));
    stage.standin.replies([full_turn()]);
    stage.types("count to ten");
    stage.standin.wait_for_state("the end of the turn", |state| state.stops == 1);
    let report = json!({ "session": first, "reason": "answer", "usage": usage(FULL) });
    let asked = deeds(&tell(&stage.sandbox, pid, "turn", report.clone()));
    let question = asked[0]["text"].as_str().unwrap().to_owned();
    let nonce = question.rsplit("nonce: ").next().unwrap();
    let reply = format!("---\ncontinue: true\nnonce: {nonce}\n---\n# Remaining\n- the other half\n");
    stage.standin.replies([Reply::new(&reply), Reply::new("Going on.")]);
    stage.standin.submit(&question);
    stage.wait_for_state("clearing");
    assert_eq!(deeds(&tell(&stage.sandbox, pid, "turn", report)), [json!({ "do": "clear" })]);
    stage.standin.clear();
    let second = stage.standin.session_id();
    let prompt = deeds(&tell(&stage.sandbox, pid, "cleared", json!({ "session": second })));
    assert_eq!(prompt, [json!({ "do": "submit", "text": PROMPT })]);
    stage.standin.submit(PROMPT);
    stage.wait_for_state("done");
    assert_eq!(stage.prompts(), ["count to ten", &question, PROMPT], "no /clear was typed, and the prompt but once");
}

#[test]
fn a_module_that_is_silent_is_not_waited_for_and_comes_too_late() {
    let stage = Stage::with_step(Options::default(), 8.0);
    let pid = stage.standin.state().pid;
    let first = stage.standin.session_id();
    tell(&stage.sandbox, pid, "start", json!({ "session": first, "interactive": true }));
    stage.standin.replies([full_turn(), full_turn(), handoff("the other half"), Reply::new("Going on.")]);
    stage.types("count to ten");
    stage.standin.wait_for_state("the end of the turn", |state| state.stops == 1);
    // It has not fetched the question, so the next Stop asks.
    stage.types("and on");
    stage.standin.wait_for_session_change(DEADLINE * 2);
    stage.wait_for_state("done");
    let report = json!({ "session": first, "reason": "answer", "usage": usage(FULL) });
    assert_eq!(deeds(&tell(&stage.sandbox, pid, "turn", report)), [Value::Null; 0]);
    assert_eq!(stage.prompts(), ["count to ten", "and on", "/clear", PROMPT], "typed, as without a module");
}

#[test]
fn a_turn_that_the_user_stopped_leaves_the_session_idle_and_uncleared() {
    let (bare, pid) = Bare::with_module();
    bare.hook("SessionStart-startup-interactive", "longhaul-session-start", json!({ "session_id": "a" }));
    bare.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "a", "prompt": "go" }));
    let status = || bare.sandbox.longhaul(&["status", "--json"]).json()[0]["status"].as_str().unwrap().to_owned();
    assert_eq!(status(), "working");
    let report = json!({ "session": "a", "reason": "aborted", "usage": usage(5_000) });
    assert_eq!(deeds(&tell(&bare.sandbox, pid, "turn", report)), [Value::Null; 0]);
    assert_eq!(status(), "idle", "without a refresh");
}

#[test]
fn the_clients_own_figures_are_kept_and_shown() {
    let (bare, pid) = Bare::with_module();
    bare.hook("SessionStart-startup-interactive", "longhaul-session-start", json!({ "session_id": "a" }));
    let report = json!({ "session": "a", "reason": "answer", "usage": usage(420_000) });
    let actions = tell(&bare.sandbox, pid, "turn", report.clone());
    assert_eq!(actions, [json!({ "do": "status", "text": null })], "Claude Code adds a warning sign");
    let full = json!({ "session": "a", "reason": "answer", "usage": usage(920_000) });
    let actions = tell(&bare.sandbox, pid, "turn", full);
    assert_eq!(actions, [json!({ "do": "status", "text": "context 92 %, 80k left" })]);
    tell(&bare.sandbox, pid, "turn", report);
    let monitor = bare.sandbox.longhaul(&["monitor", "--all", "--once", "--json"]).json();
    assert_eq!((&monitor[0]["used_tokens"], &monitor[0]["window_tokens"]), (&json!(420_000), &json!(1_000_000)));
}

#[test]
fn the_guard_leaves_compacting_to_the_module() {
    let (bare, pid) = Bare::with_module();
    bare.sandbox.write_config(r#"{"guard":{"compact_percent":0.004}}"#);
    bare.stop(json!({}));
    assert_eq!(bare.turn(pid, "a"), [json!({ "do": "compact" })]);
    assert_eq!(bare.turn(pid, "a"), [Value::Null; 0], "once");
}

#[test]
fn what_was_to_be_compacted_is_gone_with_its_session() {
    for event in ["end", "cleared"] {
        let (bare, pid) = Bare::with_module();
        bare.sandbox.write_config(r#"{"guard":{"compact_percent":0.004}}"#);
        bare.stop(json!({}));
        let told = tell(&bare.sandbox, pid, event, json!({ "session": "a", "reason": "clear" }));
        assert_eq!(deeds(&told), [Value::Null; 0], "{event}");
        assert_eq!(bare.turn(pid, "b"), [Value::Null; 0], "{event}");
    }
}

#[test]
fn whatever_the_module_sends_is_answered() {
    let sandbox = Sandbox::new();
    for input in ["", "{", "null", "[]", r#"{"session":7}"#, r#"{"usage":"x"}"#, r#"{"session":"../../x","reason":[]}"#]
    {
        for event in ["start", "turn", "cleared", "end", "failed", "overtaken", "trouble"] {
            let mut command = sandbox.executable("longhaul");
            let told = Outcome::of(command.args(["bridge", event]).env("CLAUDE_PID", "1"), input.as_bytes());
            assert_eq!((told.status, told.json()["actions"].is_array()), (Some(0), true), "{event} {input}: {told:?}");
        }
    }
    assert!(sandbox.error_log().contains("cannot parse the report of the bridge"));
    let unknown = sandbox.longhaul(&["bridge", "nonsense"]);
    assert_eq!(unknown.status, Some(1));
    assert!(unknown.stderr.contains("use one of start, turn"), "{}", unknown.stderr);
}

#[test]
fn a_headless_client_is_left_alone() {
    let (bare, pid) = Bare::with_module();
    tell(&bare.sandbox, pid, "start", json!({ "session": "a", "interactive": false }));
    let asked = bare.stop(json!({}));
    assert!(!nonce(&asked).is_empty());
    let kept = bare.answer(&asked, "# Remaining\n- the rest\n");
    assert!(kept["systemMessage"].as_str().unwrap().contains("type /clear"), "{kept}");
    let chain = wait_for(DEADLINE, "the chain", || bare.status().get(0).cloned());
    assert_eq!(chain["state"], "clearing");
}

/// Returns what the module is told after a turn of session `a` that has left this many tokens in the context.
fn turn_of(bare: &Bare, pid: u32, tokens: u64, reason: &str) -> Vec<Value> {
    deeds(&tell(&bare.sandbox, pid, "turn", json!({ "session": "a", "reason": reason, "usage": usage(tokens) })))
}

#[test]
fn a_first_turn_without_tool_calls_is_asked_as_soon_as_its_use_is_known() {
    // The context use is known to nobody at the Stop: there is no transcript yet.
    for round in 0..2 {
        let (bare, pid) = Bare::with_module();
        bare.sandbox.write_config(r#"{"continuation":{"at":"on"}}"#);
        let transcript = json!({ "transcript_path": bare.sandbox.path("none.jsonl") });
        bare.hook("SessionStart-startup-interactive", "longhaul-session-start", json!({ "session_id": "a" }));
        bare.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "a", "prompt": "count" }));
        let stopped = bare.stop(transcript.clone());
        assert_eq!(stopped["decision"], Value::Null, "{round}: {stopped}");
        let asked = turn_of(&bare, pid, 900_000, "answer");
        let [question] = &asked[..] else { panic!("{round}: asked {asked:?}") };
        assert_eq!(question["do"], "submit");
        let text = question["text"].as_str().unwrap();
        let nonce = text.rsplit("nonce: ").next().unwrap();
        assert!(nonce.starts_with("lh-") && !text.contains('\n'), "{text}");
        assert_eq!(turn_of(&bare, pid, 900_000, "answer"), [Value::Null; 0], "{round}: once");
        bare.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "a", "prompt": text }));
        assert_eq!(bare.state(), "asked", "{round}");
        let reply = format!("---\ncontinue: true\nnonce: {nonce}\n---\n# Remaining\n- the rest\n");
        let mut answered = transcript.clone();
        answered["last_assistant_message"] = json!(reply);
        bare.stop(answered);
        assert_eq!(bare.state(), "clearing", "{round}");
        assert_eq!(turn_of(&bare, pid, 901_000, "answer"), [json!({ "do": "clear" })], "{round}");
        assert_eq!(bare.sandbox.error_log(), "");
    }
}

#[test]
fn nothing_is_asked_after_a_turn_that_the_stop_would_not_have_asked_after() {
    let transcript = |bare: &Bare| json!({ "transcript_path": bare.sandbox.path("none.jsonl") });
    let background = json!([{ "id": "b1", "type": "subagent", "status": "running" }]);
    for (name, changes, tokens, reason) in [
        ("half empty", json!({}), 300_000, "answer"),
        ("interrupted", json!({}), 900_000, "aborted"),
        ("in the background", json!({ "background_tasks": background }), 900_000, "answer"),
        ("blocked before", json!({ "stop_hook_active": true }), 900_000, "answer"),
    ] {
        let (bare, pid) = Bare::with_module();
        bare.sandbox.write_config(r#"{"continuation":{"at":"on"}}"#);
        let stop = with(transcript(&bare), &changes);
        bare.stop(stop);
        assert_eq!(turn_of(&bare, pid, tokens, reason), [Value::Null; 0], "{name}");
        assert_eq!(bare.status(), json!([]), "{name}");
        // The same session is asked as soon as nothing is in the way.
        let by_stop = bare.stop(transcript(&bare))["decision"] == "block";
        let by_module = turn_of(&bare, pid, 900_000, "answer").iter().any(|action| action["do"] == "submit");
        assert!(by_stop ^ by_module, "{name}: {by_stop} {by_module}");
    }
}

#[test]
fn a_question_that_the_user_overtakes_is_asked_after_the_next_turn() {
    let (bare, pid) = Bare::with_module();
    bare.sandbox.write_config(r#"{"continuation":{"at":"on"}}"#);
    let transcript = json!({ "transcript_path": bare.sandbox.path("none.jsonl") });
    bare.stop(transcript.clone());
    assert_eq!(turn_of(&bare, pid, 900_000, "answer")[0]["do"], "submit");
    tell(&bare.sandbox, pid, "overtaken", json!({ "session": "a", "do": "submit" }));
    bare.hook("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "session_id": "a", "prompt": "wait" }));
    bare.stop(transcript);
    assert_eq!(turn_of(&bare, pid, 900_000, "answer")[0]["do"], "submit");
}

/// A reply that is no handoff: the module asks once more, and says what was wrong; then the user is told.
#[test]
fn a_reply_that_is_no_handoff_is_asked_for_once_more_and_then_told() {
    let (bare, pid) = Bare::with_module();
    bare.stop(json!({}));
    let first = bare.prompted(&bare.turn(pid, "a"));
    bare.stop(json!({ "last_assistant_message": "Done." }));
    let asked = bare.turn(pid, "a");
    assert!(
        asked[0]["text"].as_str().unwrap_or_default().contains("once more for the handoff: the reply is no handoff")
    );
    assert_ne!(bare.prompted(&asked), first);
    let told = bare.stop(json!({ "last_assistant_message": "Done." }));
    assert!(told["systemMessage"].to_string().contains("not continued: the reply is no handoff"), "{told}");
    assert_eq!(bare.state(), "armed");
    assert_eq!(bare.turn(pid, "a"), [Value::Null; 0]);
    bare.stop(json!({}));
    assert_eq!(bare.turn(pid, "a"), [Value::Null; 0], "the limit is spent");
    let compacted = json!({ "session_id": "a", "source": "compact" });
    bare.hook("SessionStart-compact-interactive", "longhaul-session-start", compacted);
    bare.stop(json!({}));
    assert_eq!(bare.turn(pid, "a")[0]["do"], "submit", "and counts anew after a compaction");
}

/// `/clear` ends subagents: nothing is asked before they have ended, and that is said once. A shell runs on.
#[test]
fn subagents_hold_the_question_back_and_shells_do_not() {
    let task = |kind: &str| json!({ "background_tasks": [{ "id": "b1", "type": kind, "status": "running" }] });
    let (bare, pid) = Bare::with_module();
    let told = bare.stop(task("subagent"));
    assert!(told["systemMessage"].to_string().contains("not continued: subagents still run"), "{told}");
    assert_eq!(bare.stop(task("subagent"))["systemMessage"], Value::Null, "once");
    assert_eq!(bare.turn(pid, "a"), [Value::Null; 0]);
    let status = bare.sandbox.longhaul(&["continuation", "status"]).stdout;
    let header: Vec<&str> = status.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["SINCE", "SESSION", "STATE", "ROUND", "PROJECT", "REASON"], "{status}");
    assert_eq!(status.find("REASON"), status.lines().nth(1).and_then(|row| row.find("subagents")), "{status}");
    assert!(status.contains("subagents still run in the background"), "{status}");
    bare.stop(task("shell"));
    assert_eq!(bare.turn(pid, "a")[0]["do"], "submit");
}

#[test]
fn what_our_status_line_shows_is_not_said_under_the_prompt_too() {
    let (bare, pid) = Bare::with_module();
    bare.sandbox.write_config("{}");
    let settings = bare.sandbox.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let line = |command: &str| {
        let text = json!({ "statusLine": { "type": "command", "command": command } }).to_string();
        std::fs::write(&settings, text).unwrap();
        let report = json!({ "session": "a", "reason": "answer", "usage": usage(920_000) });
        tell(&bare.sandbox, pid, "turn", report)
    };
    let status = |text: Value| vec![json!({ "do": "status", "text": text })];
    let context = "context 92 %, 80k left";
    assert_eq!(line("~/.local/bin/longhaul statusline"), status(Value::Null));
    assert_eq!(
        line("~/.local/bin/longhaul statusline -- sh -c 'date'"),
        status(json!(context)),
        "the user's own is shown"
    );
    assert_eq!(line("date"), status(json!(context)));
}
