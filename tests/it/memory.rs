//! The memory through the hooks: what is stored, what is shown, and what is never written.

mod damage;
mod false_alarms;
mod late_reply;
mod long_prompts;
mod page;
pub(crate) mod private;
mod secrets;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::poll;
use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload, with};

/// A session that fires hooks.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: &'a str,
    prompt: AtomicUsize,
}

impl<'a> Session<'a> {
    fn new(sandbox: &'a Sandbox, id: &'a str) -> Self {
        Self { sandbox, id, prompt: AtomicUsize::default() }
    }

    fn fire(&self, name: &str, changes: Value) -> Value {
        self.fire_in(&self.sandbox.project(), name, changes)
    }

    fn fire_in(&self, project: &Path, name: &str, changes: Value) -> Value {
        let executable = part_of_payload(name);
        let prompt_id = format!("{}-{}", self.id, self.prompt.load(Ordering::Relaxed));
        let all = json!({
            "session_id": self.id, "cwd": project, "prompt_id": prompt_id, "transcript_path": "/nowhere.jsonl",
        });
        let mut command = self.sandbox.executable(&executable);
        command.env("CLAUDE_PROJECT_DIR", project);
        let outcome = Outcome::of(&mut command, payload(name, with(all, &changes)).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()
    }

    fn start(&self, source: &str) -> String {
        let reply = self.fire("SessionStart", json!({ "source": source }));
        reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    fn prompt(&self, text: &str) {
        self.prompt.fetch_add(1, Ordering::Relaxed);
        self.fire("UserPromptSubmit", json!({ "prompt": text }));
    }

    fn tool(&self, tool: &str, id: &str, input: Value, response: Value) {
        let call = json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input, "tool_response": response });
        self.fire("PostToolUse", call);
    }

    fn bash(&self, id: &str, command: &str, stdout: &str) {
        self.tool("Bash", id, json!({ "command": command }), json!({ "stdout": stdout, "stderr": "" }));
    }

    fn stop(&self, reply: &str) {
        self.fire("Stop", json!({ "last_assistant_message": reply }));
    }
}

fn titles(sandbox: &Sandbox) -> Vec<String> {
    sandbox.rows("SELECT kind || ': ' || title FROM observations ORDER BY id")
}

#[test]
fn the_next_session_is_shown_what_the_last_one_came_to() {
    let sandbox = Sandbox::new();
    let a = Session::new(&sandbox, "aaaaaaaa-first");
    assert_eq!(a.start("startup"), "", "nothing to say, nothing shown");
    a.prompt("make the parser faster");
    let file = sandbox.project().join("src/parser.rs");
    a.tool(
        "Read",
        "t1",
        json!({ "file_path": file }),
        json!({ "type": "text", "file": { "content": "fn parse() {}" } }),
    );
    a.tool(
        "Edit",
        "t2",
        json!({ "file_path": file, "old_string": "a", "new_string": "b" }),
        json!({ "filePath": file, "structuredPatch": [] }),
    );
    a.bash("t3", "cargo bench", "parse: 12 ms");
    a.stop("The parser is twice as fast.");
    a.fire("SessionEnd-prompt_input_exit", json!({}));

    let reply = Session::new(&sandbox, "bbbbbbbb-second").fire("SessionStart", json!({ "source": "startup" }));
    let shown = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(shown.contains("make the parser faster → The parser is twice as fast. Changed src/parser.rs"), "{shown}");
    assert!(!shown.contains("cargo bench"), "which commands ran says nothing: {shown}");
    assert!(shown.chars().count() <= 9_500);
    assert!(reply["systemMessage"].as_str().unwrap().contains("shown 1 session of"), "{reply}");
    let session = sandbox.rows("SELECT status || ' ' || end_reason FROM sessions WHERE session_id LIKE 'aaaa%'");
    assert_eq!(session, ["completed prompt_input_exit"]);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn calls_are_kept_once_however_often_they_are_taken_in() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    session.bash("t1", "ls", "a b");
    session.stop("one");
    session.stop("one");
    session.bash("t1", "ls", "a b");
    session.bash("t2", "ls", "a b");
    session.fire("PostToolUseFailure-Bash", json!({ "tool_use_id": "t3", "tool_input": { "command": "cargo test" } }));
    session.bash("t4", "cargo test", "ok");
    session.stop("two");
    assert_eq!(titles(&sandbox).len(), 3, "{:?}", titles(&sandbox));
    assert!(titles(&sandbox)[1].starts_with("problem: "), "{:?}", titles(&sandbox));
    assert!(titles(&sandbox)[2].starts_with("fix: "), "{:?}", titles(&sandbox));
    assert_eq!(sandbox.rows("SELECT title FROM observations WHERE repeats = 1").len(), 1, "the same again is counted");
    let raw = sandbox.rows("SELECT source_id FROM details ORDER BY source_id");
    assert_eq!(raw, ["t1", "t3", "t4"], "text that is the same is kept once");
}

#[test]
fn what_no_stop_took_in_the_next_start_does() {
    let sandbox = Sandbox::new();
    let killed = Session::new(&sandbox, "killed");
    killed.prompt("build the thing");
    killed.bash("t1", "make the-thing", "made");
    let shown = Session::new(&sandbox, "next").start("startup");
    assert!(shown.contains("build the thing"), "{shown}");
    assert_eq!(titles(&sandbox), ["command: Ran `make the-thing`"]);
}

#[test]
fn tools_that_leave_nothing_and_projects_that_are_excluded_leave_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    session.tool("TodoWrite", "t1", json!({ "todos": [] }), json!({}));
    session.tool("mcp__plugin_longhaul_longhaul__search", "t2", json!({ "query": "x" }), json!({}));
    session.stop("done");
    assert_eq!(titles(&sandbox), [""; 0]);

    // What was probably to be a list excludes everything.
    for exclude in [r#"{"memory":{"exclude":["*/project"]}}"#, r#"{"memroy":{"exclude":["*/project"]}}"#] {
        let sandbox = Sandbox::new();
        sandbox.write_config(exclude);
        let session = Session::new(&sandbox, "s");
        session.start("startup");
        session.prompt("a word nobody else says: quux");
        session.bash("t1", "echo quux", "quux");
        session.fire("PermissionRequest", json!({ "tool_name": "Bash", "tool_input": { "command": "echo quux" } }));
        session.fire("Notification-permission_prompt", json!({ "message": "Claude wants to run quux" }));
        let asked = "SELECT status || coalesce(wants, '') FROM agents";
        assert_eq!(sandbox.rows(asked), ["blocked"], "{exclude}");
        session.stop("quux");
        session.fire("SessionEnd-prompt_input_exit", json!({}));
        // The tracker has the session, and nothing of what was said in it.
        assert_eq!(private::holders(&sandbox.data_dir(), "quux"), [""; 0], "{exclude}");
    }
}

#[test]
fn forgetting_a_session_reaches_what_only_the_tracker_has_of_it() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"memory":{"enabled":false},"handoff":{"enabled":false},"snapshots":{"enabled":false}}"#);
    let session = Session::new(&sandbox, "s-tracked");
    session.start("startup");
    session.prompt("a word nobody else says: quux");
    session.stop("done");
    let database = sandbox.database();
    let summaries = || -> i64 {
        let sql = "SELECT count(*) FROM agents WHERE prompt_summary LIKE '%quux%'";
        database.query_row(sql, (), |row| row.get(0)).unwrap()
    };
    assert_eq!(summaries(), 1);
    let forgot = sandbox.longhaul(&["memory", "forget", "--session", "s-tr", "--yes"]);
    assert_eq!((forgot.status, summaries()), (Some(0), 0), "{forgot:?}");
}

#[test]
fn nothing_is_recorded_and_it_is_said_while_the_configuration_cannot_be_read() {
    let bad: [&[u8]; 3] = [
        br#"{"memory":{"enabled":false,"enabled":true}}"#,
        b"",
        // In Latin-1: the folder would have another name.
        b"{\"memory\":{\"exclude\":[\"/home/jos\xe9\"]}}",
    ];
    for text in bad {
        let shown = String::from_utf8_lossy(text);
        let sandbox = Sandbox::new();
        sandbox.write_config("{}");
        std::fs::write(sandbox.data_dir().join("config.json"), text).unwrap();
        let session = Session::new(&sandbox, "s");
        let said = |reply: Value| reply["systemMessage"].as_str().unwrap_or_default().to_owned();
        let problem = "longhaul records nothing and types nothing: ";
        assert!(said(session.fire("SessionStart", json!({ "source": "startup" }))).starts_with(problem), "{shown}");
        let prompt = json!({ "prompt": "a word nobody else says: quux" });
        assert!(said(session.fire("UserPromptSubmit", prompt.clone())).contains("config.json"), "{shown}");
        session.bash("t1", "echo quux", "quux");
        session.stop("quux");
        assert_eq!(private::holders(&sandbox.data_dir(), "quux"), [""; 0], "{shown}");
        let mut left: Vec<String> = std::fs::read_dir(sandbox.data_dir())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["config.json", "longhaul.log"], "{shown}");
        for args in [&["memory", "import"][..], &["config", "check"], &["doctor"]] {
            let outcome = sandbox.longhaul(args);
            assert_ne!(outcome.status, Some(0), "{args:?} with {shown}: {outcome:?}");
        }
        let doctor = sandbox.longhaul(&["doctor"]);
        assert!(doctor.stdout.contains("nothing is recorded and nothing is typed"), "{shown}: {doctor:?}");
        // As soon as it can be read, it is in force.
        sandbox.write_config("\u{feff}{}");
        assert_eq!(said(session.fire("UserPromptSubmit", prompt)), "", "{shown}");
        assert_ne!(private::holders(&sandbox.data_dir(), "quux"), [""; 0], "{shown}");
    }
    // A link to a file that is not there now is not the same as no file.
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    std::os::unix::fs::symlink("/nowhere/config.json", sandbox.data_dir().join("config.json")).unwrap();
    Session::new(&sandbox, "s").prompt("a word nobody else says: quux");
    assert_eq!(private::holders(&sandbox.data_dir(), "quux"), [""; 0]);
}

#[test]
fn a_link_to_a_folder_is_that_folder() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("plain")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("plain"), sandbox.path("link")).unwrap();
    let first = Session::new(&sandbox, "first");
    first.fire_in(&sandbox.path("plain"), "UserPromptSubmit", json!({ "prompt": "teach it to fly" }));
    first.fire_in(&sandbox.path("plain"), "Stop", json!({ "last_assistant_message": "It flies." }));
    let reply = Session::new(&sandbox, "second").fire_in(&sandbox.path("link"), "SessionStart", json!({}));
    let shown = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(shown.contains("teach it to fly"), "{shown}");
}

#[test]
fn a_word_typed_while_the_turn_runs_is_remembered_too() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("build it");
    session.fire("UserPromptSubmit", json!({ "prompt": "and test it" }));
    session.fire("UserPromptSubmit", json!({ "prompt": "and test it", "prompt_id": "s-1" }));
    session.stop("done");
    let prompts = sandbox.rows("SELECT DISTINCT prompt FROM prompts ORDER BY prompt_number");
    assert_eq!(prompts, ["build it", "and test it"]);
}

#[test]
fn a_summary_asks_for_what_a_person_asked() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("count the beans");
    session.stop("I have sent somebody.");
    let notice = "<task-notification>\n<task-id>a1</task-id>\n<result>42 beans</result>\n</task-notification>";
    session.fire("UserPromptSubmit", json!({ "prompt": notice, "prompt_id": "other" }));
    session
        .fire("Stop", json!({ "last_assistant_message": "42 beans.", "prompt_id": "other", "stop_hook_active": true }));
    let shown = Session::new(&sandbox, "next").start("startup");
    assert!(shown.contains("count the beans") && !shown.contains("task-id"), "{shown}");
}

#[test]
fn a_prompt_that_finds_the_database_locked_is_taken_in_later() {
    let sandbox = Sandbox::new().impatient();
    let session = Session::new(&sandbox, "s");
    session.prompt("first");
    let database = sandbox.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    session.prompt("second");
    let started = std::time::Instant::now();
    session.stop("answer");
    assert!(started.elapsed() < std::time::Duration::from_millis(4_900) + poll::SLACK, "{:?}", started.elapsed());
    for number in 0..6 {
        session.prompt(&format!("more {number}"));
        session.stop("answer");
    }
    session.prompt("· while it was locked");
    session.bash("b1", "cargo build", "done");
    database.execute_batch("ROLLBACK").unwrap();
    session.stop("answer");
    let prompts = sandbox.rows("SELECT prompt FROM prompts ORDER BY prompt_number");
    assert_eq!(prompts.len(), 8, "{prompts:?}");
    assert_eq!(prompts[..3], ["first", "second", "more 0"]);
    let bookmarks = || sandbox.rows("SELECT note FROM bookmarks");
    assert_eq!(bookmarks(), ["while it was locked"]);
    assert_eq!(titles(&sandbox).len(), 1);
    session.stop("answer");
    assert_eq!(bookmarks().len(), 1, "once");
}

#[test]
fn a_bookmark_that_finds_the_database_locked_is_taken_in_later_without_a_memory_too() {
    for config in [r#"{"memory":{"enabled":false}}"#, r#"{"memory":{"exclude":["*"]}}"#] {
        let sandbox = Sandbox::new().impatient();
        sandbox.write_config(config);
        let session = Session::new(&sandbox, "s");
        session.start("startup");
        session.prompt("first");
        let database = sandbox.database();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        session.prompt("· while it was locked");
        session.bash("b1", "cargo build", "done");
        database.execute_batch("ROLLBACK").unwrap();
        for _ in 0..2 {
            session.stop("answer");
            assert_eq!(sandbox.rows("SELECT note FROM bookmarks"), ["while it was locked"], "{config}");
        }
        assert_eq!(titles(&sandbox), [""; 0], "{config}");
    }
}

#[test]
fn several_that_take_in_at_the_same_moment_lose_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.prompt("go");
    // Every spool counts as at rest: each taking in also empties it.
    let later = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + 3_600_000;
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for _ in 0..15 {
                    let mut stop = sandbox.executable("longhaul-stop");
                    stop.env("LONGHAUL_NOW_MS", later.to_string()).env("CLAUDE_PROJECT_DIR", sandbox.project());
                    let changes = json!({ "session_id": "s", "cwd": sandbox.project(), "last_assistant_message": format!("{reader}") });
                    Outcome::of(&mut stop, payload("Stop", changes).as_bytes());
                }
            });
        }
        for writer in 0..2 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let session = Session::new(sandbox, "s");
                for number in 0..20 {
                    let size = if number % 3 == 0 { 9_000 } else { 10 };
                    session.bash(&format!("w{writer}-{number}"), &format!("echo {writer} {number}"), &"x".repeat(size));
                }
            });
        }
    });
    session.stop("done");
    assert_eq!(titles(&sandbox).len(), 40);
}

/// What was said a year and a day ago is known, word for word no more.
#[test]
fn raw_text_is_dropped_when_it_is_too_old_once_a_day() {
    const BEGINNING: u64 = 1_700_000_000_000;
    const DAY: u64 = 86_400_000;
    let on_day = |day: u64, sandbox: Sandbox| sandbox.at(BEGINNING + day * DAY);
    let sandbox = on_day(0, Sandbox::new());
    let details = |sandbox: &Sandbox| {
        let database = sandbox.database();
        database.query_row("SELECT count(*) FROM details", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let begin = |sandbox: &Sandbox, id: &str| Session::new(sandbox, id).start("startup");
    begin(&sandbox, "first");
    let first = Session::new(&sandbox, "first");
    first.prompt("build it");
    first.tool("Bash", "toolu_old", json!({ "command": "make all" }), json!({ "stdout": "done" }));
    first.stop("It is built.");
    let stored = details(&sandbox);
    assert!(stored > 0);

    let sandbox = on_day(364, sandbox);
    begin(&sandbox, "second");
    let stamp = || std::fs::read_to_string(sandbox.data_dir().join("upkeep")).unwrap();
    let second = BEGINNING + 364 * DAY;
    assert_eq!(stamp(), format!("{second} {second}"), "the clock may have jumped: nothing is deleted for a day");
    let sandbox = on_day(366, sandbox);
    begin(&sandbox, "third");
    // Ages are counted up to the newest record.
    Session::new(&sandbox, "third").prompt("go on");
    let sandbox = on_day(367, sandbox);
    begin(&sandbox, "fourth");
    assert!(poll::becomes_true(poll::DEADLINE, || details(&sandbox) == 0));
    let found = sandbox.longhaul(&["memory", "search", "--all", "make", "--json"]).json();
    assert_eq!(found[0]["title"], "Ran `make all`", "{found}");
    assert_eq!(sandbox.error_log(), "");
}
