//! Handoff: what a session leaves, and who gets it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, payload};

/// A session with a transcript that grows.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: String,
    pid: u32,
    last: std::cell::RefCell<Option<String>>,
}

impl<'a> Session<'a> {
    fn new(sandbox: &'a Sandbox, id: &str, pid: u32) -> Self {
        Self { sandbox, id: id.to_owned(), pid, last: None.into() }
    }

    fn transcript(&self) -> PathBuf {
        self.sandbox.path(&format!("{}.jsonl", self.id))
    }

    /// Fires the hook of a recorded payload, as this session's client would.
    fn fire(&self, name: &str, changes: Value) -> Value {
        let event = name.split('-').next().unwrap();
        let executable = event.chars().fold("longhaul".to_owned(), |name, c| {
            if c.is_ascii_uppercase() { format!("{name}-{}", c.to_ascii_lowercase()) } else { format!("{name}{c}") }
        });
        let mut all = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "transcript_path": self.transcript(),
        });
        all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let mut command = self.sandbox.executable(&executable);
        command.env("CLAUDE_PID", self.pid.to_string()).env("CLAUDE_PROJECT_DIR", self.sandbox.project());
        let outcome = Outcome::of(&mut command, payload(name, all).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome.json()
    }

    fn start(&self, source: &str) -> String {
        context(&self.fire("SessionStart", json!({ "source": source })))
    }

    fn prompt(&self, text: &str) -> Value {
        self.fire("UserPromptSubmit", json!({ "prompt": text }))
    }

    fn stop(&self, reply: &str) -> Value {
        self.fire("Stop", json!({ "last_assistant_message": reply }))
    }

    fn clear(&self) {
        self.fire("SessionEnd-clear", json!({}));
    }

    /// Appends an entry to the transcript and returns its uuid.
    fn write(&self, kind: &str, content: Value) -> String {
        let parent = self.last.borrow().clone();
        self.write_after(parent.as_deref(), kind, content)
    }

    fn write_after(&self, parent: Option<&str>, kind: &str, content: Value) -> String {
        let count = fs::read_to_string(self.transcript()).map_or(0, |text| text.lines().count());
        let uuid = format!("{}-{count:04}", self.id);
        let entry = json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": self.id,
            "timestamp": format!("2026-11-14T{:02}:{:02}:00.000Z", 8 + count / 60, count % 60),
            "message": { "role": kind, "content": content, "model": "claude-opus-5-5" },
        });
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.transcript()).unwrap();
        writeln!(file, "{entry}").unwrap();
        *self.last.borrow_mut() = Some(uuid.clone());
        uuid
    }

    /// Writes a whole turn: prompt, a tool call with its output, reply.
    fn write_turn(&self, asked: &str, output: &str, replied: &str) -> String {
        let prompt = self.write("user", json!(asked));
        let id = format!("toolu_{prompt}");
        let input = json!({ "command": "make check" });
        self.write("assistant", json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": input }]));
        self.write("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]));
        self.write("assistant", json!([{ "type": "text", "text": replied }]));
        prompt
    }

    /// Goes through a whole turn, transcript and hooks.
    fn turn(&self, asked: &str, output: &str, replied: &str) {
        self.prompt(asked);
        self.write_turn(asked, output, replied);
        self.stop(replied);
    }

    fn longhaul(&self, args: &[&str]) -> Outcome {
        let mut command = self.sandbox.executable("longhaul");
        command.env("CLAUDE_PROJECT_DIR", self.sandbox.project()).args(args);
        Outcome::of(&mut command, b"")
    }
}

fn context(reply: &Value) -> String {
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// A process that stands for a client that lives.
struct Client(Child);

impl Client {
    fn new(sandbox: &Sandbox) -> Self {
        Self(sandbox.program("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn after_clear_the_next_session_is_shown_where_we_are() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "aaaa-old", client.pid());
    old.start("startup");
    old.turn("why does the parser fail", "test parser::quotes ... FAILED", "It loses quotes. I fixed the lexer.");
    old.turn("and the docs?", "docs built", "They are in step now.");
    old.clear();
    let new = Session::new(&sandbox, "bbbb-new", client.pid());
    let shown = new.start("clear");
    assert!(shown.contains("and the docs?") && shown.contains("They are in step now."), "{shown}");
    assert!(shown.contains("why does the parser fail") && !shown.contains("FAILED"), "{shown}");
    assert!(shown.starts_with("<longhaul-context>") && shown.chars().count() <= 9500, "{shown}");
    new.prompt("go on");

    let detail = new.longhaul(&["detail", "1", "--session", "aaaa"]);
    assert!(detail.stdout.contains("test parser::quotes ... FAILED"), "{detail:?}");
    let log = new.longhaul(&["handoff", "log", "--json"]).json();
    let events: Vec<&str> = log.as_array().unwrap().iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["injected", "merged"]);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn the_memory_of_a_chain_goes_on() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let mut earlier = Vec::new();
    for (n, id) in ["aaaa", "bbbb", "cccc"].iter().enumerate() {
        let session = Session::new(&sandbox, id, client.pid());
        let shown = session.start(if n == 0 { "startup" } else { "clear" });
        assert!(earlier.iter().all(|text| shown.contains(text)), "{shown}");
        let asked = format!("question number {n}");
        session.turn(&asked, "out", "answered");
        earlier.push(asked);
        session.clear();
    }
}

#[test]
fn two_clients_in_one_project_never_swap_memories() {
    // By their batons alone.
    let sandbox = Sandbox::new().with_env("LONGHAUL_DISABLE_AUTO_HANDOFF", "1");
    let clients = [Client::new(&sandbox), Client::new(&sandbox)];
    let ids = |round: usize| [format!("left-{round:03}"), format!("right-{round:03}")];
    for round in 0..=100 {
        thread::scope(|scope| {
            for (client, id) in clients.iter().zip(ids(round)) {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let session = Session::new(sandbox, &id, client.pid());
                    let side = id.split('-').next().unwrap();
                    let shown = session.start(if round == 0 { "startup" } else { "clear" });
                    if round > 0 {
                        let own = format!("{side} asks {}", round - 1);
                        assert!(shown.contains(&own), "{id} was not shown {own}: {shown}");
                        let other = if side == "left" { "right" } else { "left" };
                        assert!(!shown.contains(&format!("{other} asks")), "{id}: {shown}");
                    }
                    session.turn(&format!("{side} asks {round}"), "", "yes");
                    session.clear();
                });
            }
        });
    }
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_session_that_never_lives_does_not_eat_the_baton() {
    let sandbox = Sandbox::new().with_env("LONGHAUL_DISABLE_AUTO_HANDOFF", "1");
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let ghost = Session::new(&sandbox, "ghost", client.pid());
    assert!(ghost.start("clear").contains("remember the plan"));
    let real = Session::new(&sandbox, "real", client.pid());
    assert!(real.start("clear").contains("remember the plan"));
    real.prompt("go on");
    let shown = real.longhaul(&["handoff", "show", "--session", "real"]);
    assert!(shown.stdout.contains("remember the plan"), "{shown:?}");
}

#[test]
fn one_that_was_not_shown_the_memory_at_its_start_is_shown_it_at_its_first_prompt() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let real = Session::new(&sandbox, "real", client.pid());
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    // The other one starts before the baton is written: it finds nothing.
    assert_eq!(real.start("startup"), "");
    old.clear();
    assert!(context(&real.prompt("go on")).contains("remember the plan"));
    assert_eq!(context(&real.prompt("and on")), "");
}

#[test]
fn hooks_that_read_the_same_transcript_at_the_same_moment_store_it_once() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("ask");
    session.write("user", json!("ask"));
    for round in 0..10 {
        session.write("assistant", json!([{ "type": "text", "text": format!("piece {round}.") }]));
        let (sandbox, id) = (&sandbox, &session.id);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    Session::new(sandbox, id, 0).fire("Stop", json!({ "last_assistant_message": null }))
                });
            }
        });
    }
    let replied = stored_turns(&session)[0]["replied"].as_str().unwrap().to_owned();
    for round in 0..10 {
        assert_eq!(replied.matches(&format!("piece {round}.")).count(), 1, "{replied}");
    }
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_private_passage_goes_on_over_two_readings() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("ask");
    session.write("user", json!("ask"));
    session.write("assistant", json!([{ "type": "text", "text": "seen <private>secret one" }]));
    session.stop("seen");
    session.write("assistant", json!([{ "type": "text", "text": "secret two</private> seen again" }]));
    session.stop("seen again");
    let replied = stored_turns(&session)[0]["replied"].as_str().unwrap().to_owned();
    assert!(!replied.contains("secret") && replied.contains("seen again"), "{replied}");
}

#[test]
fn without_a_baton_a_window_goes_on_from_itself() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let own = Session::new(&sandbox, "own", here.pid());
    own.start("startup");
    own.turn("asked here", "", "yes");
    let other = Session::new(&sandbox, "other", there.pid());
    other.start("startup");
    other.turn("asked there, later", "", "yes");
    drop(there);
    let shown = Session::new(&sandbox, "new", here.pid()).start("clear");
    assert!(shown.contains("asked here") && !shown.contains("asked there"), "{shown}");
}

#[test]
fn a_session_that_was_handed_over_and_lives_on_keeps_what_comes_to_itself() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let old = Session::new(&sandbox, "old", here.pid());
    old.start("startup");
    old.turn("before", "", "yes");
    old.prompt("/longhaul:tl");
    let heir = Session::new(&sandbox, "heir", there.pid());
    assert!(heir.start("startup").contains("before"));
    heir.turn("in the heir", "", "yes");
    old.turn("after, in the old one", "", "yes");
    let shown = heir.longhaul(&["handoff", "show", "--session", "heir"]).stdout;
    assert!(shown.contains("in the heir") && !shown.contains("after, in the old one"), "{shown}");
    old.clear();
    let next = Session::new(&sandbox, "next", here.pid()).start("clear");
    assert!(next.contains("after, in the old one"), "{next}");
}

#[test]
fn tl_as_the_first_prompt_passes_on_what_was_inherited() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let between = Session::new(&sandbox, "between", client.pid());
    assert!(between.start("clear").contains("remember the plan"));
    between.prompt("/longhaul:tl");
    let last = Session::new(&sandbox, "last", client.pid());
    assert!(last.start("clear").contains("remember the plan"));
}

#[test]
fn tl_writes_a_baton_and_costs_nothing() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let old = Session::new(&sandbox, "old", here.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    let reply = old.prompt("/longhaul:tl");
    assert_eq!(reply["continue"], false);
    // Passed on purpose: another window may take it although this one lives.
    let new = Session::new(&sandbox, "new", there.pid());
    assert!(new.start("startup").contains("remember the plan"));
}

#[test]
fn without_clear_or_baton_nothing_is_handed_over() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    assert_eq!(Session::new(&sandbox, "new", client.pid()).start("startup"), "");
    // The fallback: cleared, but the baton is gone.
    assert!(Session::new(&sandbox, "next", client.pid()).start("clear").contains("remember the plan"));
    let off = sandbox.with_env("LONGHAUL_DISABLE_AUTO_HANDOFF", "1");
    assert_eq!(Session::new(&off, "last", client.pid()).start("clear"), "");
}

#[test]
fn a_baton_waits_for_an_hour() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let late =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64 + 3_700_000;
    let sandbox = sandbox.at(late).with_env("LONGHAUL_DISABLE_AUTO_HANDOFF", "1");
    let new = Session::new(&sandbox, "new", client.pid());
    assert_eq!(new.start("clear"), "");
    let log = new.longhaul(&["handoff", "log", "--json"]).json();
    assert_eq!(log[0]["reason"], "expired");
}

fn stored_turns(session: &Session<'_>) -> Vec<Value> {
    let outcome = session.longhaul(&["detail", "2026-11-14", "--session", &session.id, "--json"]);
    if outcome.stdout.is_empty() { Vec::new() } else { outcome.json().as_array().unwrap().clone() }
}

#[test]
fn every_turn_is_kept_once_however_often_stop_fires() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    for n in 0..5 {
        session.prompt(&format!("ask {n}"));
        session.write_turn(&format!("ask {n}"), &format!("output {n}"), &format!("reply {n}"));
        for _ in 0..3 {
            session.stop(&format!("reply {n}"));
        }
    }
    let turns = stored_turns(&session);
    assert_eq!(turns.len(), 5, "{turns:?}");
    for (n, turn) in turns.iter().enumerate() {
        assert_eq!((&turn["asked"], &turn["replied"]), (&json!(format!("ask {n}")), &json!(format!("reply {n}"))));
        assert_eq!(turn["details"].as_array().unwrap().len(), 2, "{turn}");
    }
}

#[test]
fn a_transcript_that_grows_in_any_pieces_gives_the_same_turns() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("first");
    session.write_turn("first", "one", "reply one");
    session.write_turn("second", "two", "reply two");
    let whole = fs::read(session.transcript()).unwrap();
    for end in (0..whole.len()).step_by(97).chain([whole.len()]) {
        fs::write(session.transcript(), &whole[..end]).unwrap();
        session.fire("Stop", json!({ "last_assistant_message": null }));
    }
    let turns = stored_turns(&session);
    assert_eq!(turns.len(), 2);
    assert_eq!((&turns[0]["replied"], &turns[1]["replied"]), (&json!("reply one"), &json!("reply two")));
    assert!(turns.iter().all(|turn| turn["details"].as_array().unwrap().len() == 2), "{turns:?}");
}

#[test]
fn the_last_reply_is_kept_before_the_transcript_has_it_and_not_twice_after() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("ask");
    session.write("user", json!("ask"));
    session.stop("the reply");
    assert_eq!(stored_turns(&session)[0]["replied"], "the reply");
    session.write("assistant", json!([{ "type": "text", "text": "the reply" }]));
    session.stop("the reply");
    assert_eq!(stored_turns(&session)[0]["replied"], "the reply");
}

#[test]
fn a_turn_whose_prompt_the_transcript_does_not_have_yet_is_kept_as_its_own() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC").at(1_794_700_800_000);
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.turn("first", "", "one");
    session.prompt("second");
    session.stop("two");
    let told = |turns: Vec<Value>| -> Vec<(String, String)> {
        let text = |turn: &Value, key: &str| turn[key].as_str().unwrap().to_owned();
        turns.iter().map(|turn| (text(turn, "asked"), text(turn, "replied"))).collect()
    };
    let all = || {
        let shown = session.longhaul(&["detail", "2026-11-15", "--session", "s", "--json"]);
        let later = if shown.stdout.is_empty() { Vec::new() } else { shown.json().as_array().unwrap().clone() };
        let mut turns = told(stored_turns(&session));
        turns.extend(told(later).into_iter().filter(|turn| turn.0 == "second"));
        turns.dedup();
        turns
    };
    let expected = [("first".to_owned(), "one".to_owned()), ("second".to_owned(), "two".to_owned())];
    assert_eq!(all(), expected);
    session.write_turn("second", "", "two");
    session.stop("two");
    assert_eq!(told(stored_turns(&session)), expected);
}

#[test]
fn a_rewound_branch_replaces_what_it_rewound() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("keep this");
    session.write_turn("keep this", "", "kept");
    let branch = session.last.borrow().clone();
    session.write_turn("a dead end", "", "lost");
    session.stop("lost");
    assert_eq!(stored_turns(&session).len(), 2);
    session.write_after(branch.as_deref(), "user", json!("the other way"));
    session.stop("found");
    let asked: Vec<Value> = stored_turns(&session).iter().map(|turn| turn["asked"].clone()).collect();
    assert_eq!(asked, ["keep this", "the other way"]);
}

#[test]
fn when_stop_never_fired_the_next_start_catches_up() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    // SessionEnd takes in a megabyte; the rest waits for the next start.
    old.write_turn("something large", &"x".repeat(3 << 20), "large");
    old.write_turn("the very last", "", "done");
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.contains("the very last") && shown.contains("remember the plan"), "{shown}");
}

#[test]
fn two_hundred_large_turns_fit_and_say_what_was_left_out() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("begin");
    for n in 0..200 {
        old.write_turn(
            &format!("question {n} {}", "é".repeat(10_000)),
            "",
            &format!("answer {n} {}", "ü".repeat(10_000)),
        );
    }
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.chars().count() <= 9500, "{}", shown.chars().count());
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} is not in {shown}"));
    assert!(at("question 199") < at("question 198"), "where we are comes first");
    assert!(shown.contains("left out"), "{shown}");
}

#[test]
fn what_is_mostly_tools_is_handed_over_in_a_tenth_of_the_tokens() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("begin");
    for n in 0..50 {
        let said = format!("turn {n}: {}", "words and more words ".repeat(10));
        old.write_turn(&said, &"output of a tool, line by line\n".repeat(55), &said);
    }
    old.clear();
    let new = Session::new(&sandbox, "new", client.pid());
    let shown = new.start("clear");
    let transcript = fs::metadata(old.transcript()).unwrap().len();
    assert!((shown.len() as u64) * 10 <= transcript, "{} of {transcript}", shown.len());
    let log = new.longhaul(&["handoff", "log"]).stdout;
    assert!(log.contains("tokens saved"), "{log}");
}

#[test]
fn a_private_prompt_and_its_turn_leave_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s", 0);
    session.start("startup");
    session.prompt("<private>the secret word is xyzzy</private>");
    session.write_turn("<private>the secret word is xyzzy</private>", "xyzzy in a tool", "xyzzy in a reply");
    session.stop("xyzzy in a reply");
    session.prompt("something public");
    session.write_turn("something public", "", "fine <private>xyzzy again</private>");
    session.stop("fine <private>xyzzy again</private>");
    session.clear();
    let mut folders = vec![sandbox.data_dir()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(5).any(|window| window == b"xyzzy"), "{}", path.display());
        }
    }
}

#[test]
fn a_transcript_that_cannot_be_read_is_survived_and_the_hooks_own_words_are_kept() {
    for damage in ["directory", "missing", "nul", "truncated", "sparse"] {
        let sandbox = Sandbox::new();
        let client = Client::new(&sandbox);
        let old = Session::new(&sandbox, "old", client.pid());
        old.start("startup");
        old.prompt("remember the plan");
        match damage {
            "directory" => fs::create_dir(old.transcript()).unwrap(),
            "nul" => fs::write(old.transcript(), [0; 5000]).unwrap(),
            "truncated" => {
                old.write_turn("remember the plan", "", "I do.");
                old.stop("I do.");
                fs::write(old.transcript(), "{").unwrap();
            }
            "sparse" => fs::File::create(old.transcript()).unwrap().set_len(3 << 30).unwrap(),
            _ => {}
        }
        old.stop("I do.");
        old.stop("I do.");
        old.clear();
        let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
        if !matches!(damage, "nul" | "sparse") {
            assert!(shown.contains("remember the plan") && shown.contains("I do."), "{damage}: {shown}");
            assert_eq!(shown.matches("I do.").count(), 1, "{damage}: {shown}");
        }
        if damage == "directory" {
            assert!(sandbox.error_log().contains("cannot read"), "{damage}: {}", sandbox.error_log());
        }
    }
}

#[test]
fn a_database_locked_for_a_second_is_waited_for() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    let other = rusqlite::Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let holder = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_secs(1));
        other.execute_batch("COMMIT").unwrap();
    });
    old.stop("I do.");
    holder.join().unwrap();
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert_eq!(shown.matches("I do.").count(), 1, "{shown}");
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_cycle_of_merges_is_survived_and_said() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    for id in ["one", "two"] {
        let session = Session::new(&sandbox, id, client.pid());
        session.start("startup");
        session.turn("remember the plan", "", "I do.");
    }
    let store = rusqlite::Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap();
    let cycle = "UPDATE sessions SET merged_into = CASE session_id WHEN 'one' THEN 'two' ELSE 'one' END";
    store.execute_batch(cycle).unwrap();
    Session::new(&sandbox, "two", client.pid()).clear();
    let new = Session::new(&sandbox, "new", client.pid());
    assert_eq!(new.start("clear"), "");
    let log = new.longhaul(&["handoff", "log", "--json"]).json();
    assert_eq!(log.as_array().unwrap().last().unwrap()["reason"], "merge_cycle");
}

#[test]
fn wrong_questions_name_the_thing_and_the_mend() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s", 0);
    let message = |args: &[&str]| {
        let outcome = session.longhaul(args);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        outcome.stderr
    };
    assert_eq!(message(&["detail", "14:03"]), "longhaul: nothing has been kept yet\n");
    session.start("startup");
    assert!(message(&["detail", "25:99"]).contains("\"25:99\" is no time: try 14:03"));
    assert!(message(&["detail", "14:03", "--date", "yesterdayish"]).contains("is no date"));
    assert!(message(&["detail", "14:03"]).contains("Nothing is kept of 14:03"));
    assert!(message(&["handoff", "show"]).contains("name one with --session ID"));
    assert!(message(&["handoff", "write", "--session", "zz"]).contains("no session is known"));
}
