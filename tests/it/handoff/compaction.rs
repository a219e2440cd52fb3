//! What a session is given back after a compaction.

use serde_json::{Value, json};

use super::{Client, Session, context, is_stored};
use crate::sandbox::{Outcome, Sandbox, payload, with};

const SUMMARY: &str = "<analysis>x</analysis>\n<summary>They worked on src/named.rs and ran `make named`.</summary>";

impl Session<'_> {
    /// Makes a tool call: in the transcript and, as a hook reports it, in the spool.
    fn call(&self, id: &str, tool: &str, input: Value, output: &str) {
        self.write("assistant", json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]));
        self.write("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]));
        self.report(id, tool, input, json!({}));
    }

    fn report(&self, id: &str, tool: &str, input: Value, more: Value) {
        let call =
            with(json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": {} }), &more);
        self.fire("PostToolUse", call);
    }

    /// Goes through a compaction; returns the answer of SessionStart.
    fn compact(&self, trigger: &str, summary: &str, tasks: Value) -> Value {
        let all = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "transcript_path": self.transcript(), "trigger": trigger,
        });
        let mut command = self.sandbox.executable("longhaul-pre-compact");
        command.env("CLAUDE_PID", self.pid.to_string()).env("CLAUDE_PROJECT_DIR", self.sandbox.project());
        let outcome = Outcome::of(&mut command, payload("PreCompact-auto", all).as_bytes());
        assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""));
        let summed_up =
            json!({ "last_assistant_message": summary, "background_tasks": tasks, "agent_id": "compaction" });
        self.fire("SubagentStop-compaction", summed_up);
        self.fire("SessionStart-compact-interactive", json!({}))
    }

    fn file(&self, name: &str) -> Value {
        json!({ "file_path": self.sandbox.project().join(name) })
    }
}

/// A session with the memory, in the middle of a turn.
fn busy<'a>(sandbox: &'a Sandbox, client: &Client) -> Session<'a> {
    sandbox.write_config("{}");
    let session = Session::started(sandbox, "s", client.pid());
    session.turn("never use tabs in the makefile", "ok", "noted");
    session.prompt("now write the parser");
    session.write("user", json!("now write the parser"));
    session.call("t1", "Edit", session.file("src/named.rs"), "done");
    session.call("t2", "Write", session.file("src/lost.rs"), "done");
    session.call("t3", "Bash", json!({ "command": "make named" }), "ok");
    session.call("t4", "Bash", json!({ "command": "make parser" }), "ok");
    // Longer than what is kept of other calls.
    let done = (0..40).map(|n| json!({ "content": format!("{n} {}", "x".repeat(100)), "status": "completed" }));
    let open = json!({ "content": "print the tree", "status": "pending", "activeForm": "printing" });
    let todos = json!({ "todos": done.clone().chain([open]).chain(done).collect::<Vec<_>>() });
    session.call("t5", "TodoWrite", todos, "ok");
    session
}

#[test]
fn a_compaction_within_a_turn_gives_back_what_the_summary_lacks() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let session = busy(&sandbox, &client);
    session.call("t8", "Bash", json!({ "command": "npm run dev", "run_in_background": true }), "ok");
    // A subagent's command is its own; what it changed is not.
    session.report("t6", "Bash", json!({ "command": "make subagent" }), json!({ "agent_id": "a1", "agent_type": "x" }));
    session.report("t7", "Edit", session.file("src/sub.rs"), json!({ "agent_id": "a1", "agent_type": "x" }));
    let tasks = json!([
        { "id": "b1", "type": "shell", "status": "running", "command": "npm run dev" },
        { "id": "compaction", "type": "subagent", "status": "running", "description": "the compaction itself" },
    ]);
    let answer = session.compact("auto", SUMMARY, tasks);
    let text = context(&answer);
    for part in [
        "[The request at hand] now write the parser\n",
        "- never use tabs in the makefile\n",
        "- pending: print the tree\n",
        "- shell b1: npm run dev\n",
        "src/lost.rs (written)",
        "src/sub.rs (by a command, a subagent or an earlier session)",
        "- make parser\n",
        "longhaul detail",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    for absent in ["src/named.rs", "make named", "make subagent", "compaction itself", "Project"] {
        assert!(!text.contains(absent), "{absent:?} is in {text}");
    }
    let message = answer["systemMessage"].as_str().unwrap();
    assert!(message.contains("longhaul: after the compaction: 2 files, "), "{message}");
    assert!(message.contains("1 open task given back (about "), "{message}");
    let log = session.longhaul(&["handoff", "log"]).stdout;
    assert!(log.contains("compacted") && log.contains(&format!("{} characters", text.chars().count())), "{log}");
    // The summary itself is stored nowhere: it repeats what may be private.
    assert!(!is_stored(&sandbox, "They worked on"));
    // Another copy of the plugin shows nothing again.
    assert_eq!(context(&session.fire("SessionStart-compact-interactive", json!({}))), "");
}

#[test]
fn a_private_turn_and_one_that_was_taken_back_are_left_out() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    sandbox.write_config("{}");
    let session = Session::started(&sandbox, "s", client.pid());
    session.turn("begin with the lexer", "ok", "done");
    let before = session.last.borrow().clone();
    session.write("user", json!("always use the zeppelin"));
    session.call("t1", "Bash", json!({ "command": "make zeppelin" }), "ok");
    // A rewind: the next prompt stands where that one stood.
    *session.last.borrow_mut() = before;
    session.turn("the other way", "ok", "done");
    session.prompt("<private>count the submarines</private>");
    session.write("user", json!("<private>count the submarines</private>"));
    session.call("t2", "Bash", json!({ "command": "make submarines" }), "ok");
    let text = context(&session.compact("auto", "They counted the submarines in a zeppelin.", json!([])));
    assert!(text.contains("- the other way\n") && text.contains("- begin with the lexer\n"), "{text}");
    for absent in ["zeppelin", "submarine", "at hand"] {
        assert!(!text.contains(absent), "{absent:?} is in {text}");
    }
    assert!(!is_stored(&sandbox, "submarines"));
}

/// What the user typed while the turn ran belongs to the request. A turn that a finished subagent began has none.
#[test]
fn queued_prompts_are_at_hand_and_the_request_before_a_notification_is_not() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let session = busy(&sandbox, &client);
    let prompt = |text: &str, id: &str| {
        session.fire("UserPromptSubmit", json!({ "prompt": text, "prompt_id": id }));
        session.write("user", json!(text));
    };
    prompt("now the lexer", "p7");
    prompt("and its tests", "p7");
    let text = context(&session.compact("auto", SUMMARY, json!([])));
    // The recorded PreCompact has another id, as from a client that reports none.
    assert!(text.contains("[The request at hand] and its tests\n"), "{text}");
    let pre_compact = json!({
        "session_id": "s", "cwd": sandbox.project(), "transcript_path": session.transcript(), "prompt_id": "p7",
    });
    let mut command = sandbox.executable("longhaul-pre-compact");
    command.env("CLAUDE_PID", client.pid().to_string()).env("CLAUDE_PROJECT_DIR", sandbox.project());
    Outcome::of(&mut command, payload("PreCompact-auto", pre_compact).as_bytes());
    let text = context(&session.fire("SessionStart-compact-interactive", json!({})));
    assert!(text.contains("[The request at hand] now the lexer\n[The request at hand] and its tests\n"), "{text}");
    session.write("assistant", json!([{ "type": "text", "text": "done" }]));
    session.stop("done");
    session.write("user", json!("<task-notification>\n<task-id>a1</task-id>\n</task-notification>"));
    session.write("assistant", json!([{ "type": "text", "text": "it has ended" }]));
    let text = context(&session.compact("auto", SUMMARY, json!([])));
    assert!(!text.contains("at hand") && text.contains("- and its tests\n"), "{text}");
}

/// Longhaul was installed while the session ran: only its transcript tells what happened before.
#[test]
fn a_session_of_which_only_the_transcript_is_there_is_given_back_all_the_same() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    sandbox.write_config("{}");
    let session = Session::new(&sandbox, "s", client.pid());
    for n in 0..300 {
        session.write_turn(&format!("question {n}"), &"output\n".repeat(500), "answer");
    }
    session.write("user", json!("now write the parser"));
    let input = session.file("src/lost.rs");
    session.write("assistant", json!([{ "type": "tool_use", "id": "t", "name": "Edit", "input": input }]));
    session.write("user", json!([{ "type": "tool_result", "tool_use_id": "t", "content": "done" }]));
    let text = context(&session.compact("auto", SUMMARY, json!([])));
    for part in ["[The request at hand] now write the parser\n", "src/lost.rs", "- make check  (300 runs)"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn it_can_be_looked_at_switched_off_and_forgotten() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let session = busy(&sandbox, &client);
    let shown = session.longhaul(&["handoff", "show", "--compaction", "--session", "s"]);
    assert!(shown.stdout.contains("make named") && shown.stdout.contains("- pending: print the tree\n"), "{shown:?}");
    assert!(shown.stderr.contains("open task in "), "{shown:?}");
    sandbox.write_config(r#"{"handoff":{"enabled":false}}"#);
    let answer = session.compact("auto", SUMMARY, json!([]));
    assert_eq!((context(&answer).as_str(), &answer["systemMessage"]), ("", &Value::Null), "{answer}");
    let shown = session.longhaul(&["handoff", "show", "--compaction", "--session", "s"]);
    assert!(shown.stderr.contains("handoff.enabled is false"), "{shown:?}");
    sandbox.write_config("{}");
    let mut command = sandbox.executable("longhaul-pre-compact");
    command.env("CLAUDE_PID", client.pid().to_string()).env("CLAUDE_PROJECT_DIR", sandbox.project());
    let all = json!({ "session_id": "s", "cwd": sandbox.project(), "transcript_path": session.transcript() });
    Outcome::of(&mut command, payload("PreCompact-auto", all).as_bytes());
    assert!(is_stored(&sandbox, "print the tree"));
    let forgotten = session.longhaul(&["memory", "forget", "--session", "s", "--yes"]);
    assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
    assert!(!is_stored(&sandbox, "print the tree"));
    assert_eq!(context(&session.fire("SessionStart-compact-interactive", json!({}))), "");
}
