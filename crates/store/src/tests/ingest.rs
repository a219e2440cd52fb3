use std::path::Path;

use longhaul_core::{Config, Millis};
use longhaul_memory::{Kind, Observation};
use longhaul_transcript::{Cursor, Reader};
use rusqlite::Row;
use serde_json::{Value, json};

use super::memory::call;
use super::memory::indexes::assert_consistent;
use super::{empty, new_session, open, place};
use crate::{
    NewObservation, NewSession, PastPrompt, PastTurn, RecordId, Snapshot, SnapshotKind, Store, StoreError, Turn, What,
    Within,
};

fn register(store: &Store, id: &str, project_key: &str) {
    let new = NewSession { project_key, project_path: project_key, ..new_session(id) };
    store.register_session(&new).unwrap();
}

fn entry(kind: &str, uuid: &str, parent: Option<&str>, minute: u32, content: &Value) -> String {
    let time = format!("2026-11-14T08:{minute:02}:00.000Z");
    let message = json!({ "role": kind, "content": content });
    let entry = json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": time, "message": message });
    format!("{entry}\n")
}

/// A prompt and its reply; the prompt's uuid is its text.
fn turn(asked: &str, replied: &str, minute: u32) -> String {
    turn_after(None, asked, replied, minute)
}

fn turn_after(before: Option<&str>, asked: &str, replied: &str, minute: u32) -> String {
    let reply = json!([{ "type": "text", "text": replied }]);
    let parent = before.map(|before| format!("{before}-reply"));
    entry("user", asked, parent.as_deref(), minute, &json!(asked))
        + &entry("assistant", &format!("{asked}-reply"), Some(asked), minute, &reply)
}

/// Reads `text` as the beginning of a session's transcript.
fn take_in(store: &Store, id: &str, text: &str) -> bool {
    let session = store.session(id).unwrap().unwrap();
    let mut reader = Reader::default();
    reader.feed(text.as_bytes());
    store.ingest(&session, &Cursor::default(), &reader.take(), &Config::default(), Millis(5)).unwrap()
}

fn said(turns: &[Turn]) -> Vec<(&str, &str)> {
    turns.iter().map(|turn| (turn.asked.as_str(), turn.replied.as_str())).collect()
}

#[test]
fn what_another_has_read_meanwhile_is_not_stored_again() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    let text = turn("ask", "yes", 1);
    assert!(take_in(&store, "s", &text));
    assert!(!take_in(&store, "s", &text));
    assert_eq!(said(&store.turns("s", None, 10).unwrap().0), [("ask", "yes")]);
    assert!(store.has_turn("s", "ask").unwrap() && !store.has_turn("s", "other").unwrap());
}

#[test]
fn what_is_read_of_a_session_that_was_handed_over_is_its_heirs() {
    let (_folder, store) = empty();
    register(&store, "old", "/p");
    register(&store, "heir", "/p");
    assert!(store.merge("old", "heir").unwrap());
    assert!(take_in(&store, "old", &turn("ask", "yes", 1)));
    assert_eq!(said(&store.turns("heir", None, 10).unwrap().0), [("ask", "yes")]);
    assert_eq!(store.turns("old", None, 10).unwrap().0, []);
    let merged: Vec<String> = store.merged_sessions("/p").unwrap().into_iter().map(|row| row.session).collect();
    assert_eq!(merged, ["old"]);
}

#[test]
fn a_turn_that_a_fork_copied_counts_once() {
    let (_folder, store) = empty();
    for id in ["origin", "fork", "heir"] {
        register(&store, id, "/p");
    }
    let copied = turn("copied", "yes", 1);
    assert!(take_in(&store, "origin", &(copied.clone() + &turn_after(Some("copied"), "in the origin", "yes", 2))));
    assert!(take_in(&store, "fork", &(copied + &turn_after(Some("copied"), "in the fork", "yes", 3))));
    let asked = |store: &Store, session: &str, besides: Option<&str>| -> Vec<String> {
        let (turns, older) = store.turns(session, besides, 10).unwrap();
        assert_eq!(older, 0);
        turns.into_iter().map(|turn| turn.asked).collect()
    };
    assert_eq!(asked(&store, "origin", Some("fork")), ["in the origin"]);
    assert!(store.merge("origin", "fork").unwrap());
    assert_eq!(asked(&store, "fork", None), ["copied", "in the origin", "in the fork"]);
    assert!(store.merge("fork", "heir").unwrap());
    assert_eq!(asked(&store, "heir", None), ["copied", "in the origin", "in the fork"]);
    // By its name it is still to be had from either.
    for id in ["origin", "fork"] {
        assert_eq!(store.turns_named(Within::Session(id), "copied").unwrap().len(), 1, "{id}");
    }
    assert_eq!(store.turns_named(Within::Everything, "copied").unwrap().len(), 1);
}

#[test]
fn turns_are_looked_for_where_one_asks() {
    let (_folder, store) = empty();
    for (id, project, minute) in [("one", "/p", 1), ("two", "/q", 2)] {
        register(&store, id, project);
        assert!(take_in(&store, id, &turn(&format!("asked in {id}"), "yes", minute)));
    }
    let end = Millis(u64::from(u32::MAX) * 1000);
    let found = |within: Within<'_>| -> Vec<String> {
        let turns = store.turns_between(within, Millis(0), end).unwrap();
        let last = store.turn_at(within, end).unwrap().map(|turn| turn.asked);
        assert_eq!(last, turns.last().map(|turn| turn.asked.clone()));
        assert_eq!(store.turns_named(within, "1").unwrap().len(), turns.len());
        turns.into_iter().map(|turn| turn.asked).collect()
    };
    assert_eq!(found(Within::Session("o")), ["asked in one"]);
    assert_eq!(found(Within::Project("/q")), ["asked in two"]);
    assert_eq!(found(Within::Everything), ["asked in one", "asked in two"]);
    assert_eq!(found(Within::Project("/none")), Vec::<String>::new());
}

#[test]
fn a_reply_that_a_hook_told_is_kept_once() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    store.keep_reply("s", "hook:1", Some("ask\n\nme"), "one\ntwo", Millis(9)).unwrap();
    assert_eq!(said(&store.turns("s", None, 10).unwrap().0), [("ask\n\nme", "one\ntwo")]);
    assert!(take_in(&store, "s", &turn("ask\nme", "one\n\ntwo", 1)));
    // The last time, the prompt was not recorded, because the database was locked: the one before is taken for it.
    for prompt in ["ask me", "what was asked before"] {
        store.keep_reply("s", "hook:1", Some(prompt), "one two", Millis(9)).unwrap();
        assert_eq!(said(&store.turns("s", None, 10).unwrap().0), [("ask\nme", "one\n\ntwo")], "{prompt}");
    }
}

#[test]
fn a_reply_goes_to_what_was_asked_and_not_to_a_command_in_between() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    let shell = entry("user", "shell", Some("ask"), 2, &json!("<bash-input>ls</bash-input>"));
    assert!(take_in(&store, "s", &(entry("user", "ask", None, 1, &json!("ask")) + &shell)));
    for _ in 0..2 {
        store.keep_reply("s", "hook:1", Some("ask"), "told", Millis(9)).unwrap();
        assert_eq!(said(&store.turns("s", None, 10).unwrap().0), [("ask", "told"), ("!ls", "")]);
    }
}

/// Bookmarks of a long turn, more of them than there may be commands between a prompt and its reply.
#[test]
fn a_reply_after_bookmarks_makes_no_second_turn_of_the_prompt() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    let marks: String = (1..=12)
        .map(|n| {
            let before = if n == 1 { "ask".to_owned() } else { format!("b{}", n - 1) };
            let text = if n == 3 { "· a note" } else { "·" };
            entry("user", &format!("b{n}"), Some(&before), n, &json!(text))
        })
        .collect();
    assert!(take_in(&store, "s", &(entry("user", "ask", None, 0, &json!("ask")) + &marks)));
    for _ in 0..2 {
        store.keep_reply("s", "hook:1", Some("ask"), "told", Millis(9)).unwrap();
        let turns = store.turns("s", None, 20).unwrap().0;
        assert_eq!(
            turns.iter().map(|turn| turn.role == "bookmark").collect::<Vec<_>>(),
            [&[false][..], &[true; 12]].concat()
        );
        assert_eq!(turns.last().unwrap().replied, "told");
    }
    // The marker of another prompt with the same words is not a request for this reply.
    store.keep_reply("s", "hook:2", Some("ask again"), "told again", Millis(10)).unwrap();
    assert_eq!(said(&store.turns("s", None, 1).unwrap().0), [("ask again", "told again")]);
}

#[test]
fn files_that_tools_and_commands_changed_are_named_newest_first() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    let call = |id: &str, parent: &str, minute: u32, tool: &str, input: &serde_json::Value, error: bool| {
        let call = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
        let output = json!([{ "type": "tool_result", "tool_use_id": id, "content": "", "is_error": error }]);
        entry("assistant", id, Some(parent), minute, &call)
            + &entry("user", &format!("{id}-output"), Some(id), minute, &output)
    };
    let write = |id: &str, parent: &str, minute: u32, file: &str, error: bool| {
        call(id, parent, minute, "Write", &json!({ "file_path": file, "content": "" }), error)
    };
    let patch = json!({ "patch": "*** Begin Patch\n*** Add File: src/new.rs\n+x\n*** Update File: /p/src/a.rs\n+y" });
    let text = entry("user", "ask", None, 0, &json!("ask"))
        + &call("patch", "ask", 0, "apply_patch", &patch, false)
        + &write("one", "patch-output", 1, "/p/src/a.rs", false)
        + &write("two", "one-output", 2, "/elsewhere/b.rs", false)
        + &write("failed", "two-output", 3, "/p/src/c.rs", true);
    assert!(take_in(&store, "s", &text));
    assert_eq!(store.changed_files("s", "/p").unwrap(), ["/elsewhere/b.rs", "src/a.rs", "src/new.rs"]);
    for (kind, at, name) in [(SnapshotKind::Start, 1, "before.rs"), (SnapshotKind::Prompt, u32::MAX, "by-command.rs")] {
        let mut snapshot = Snapshot::new("s", u64::from(at) * 1000, kind);
        snapshot.work_tree = Some("/p".to_owned());
        snapshot.changed_some = vec![name.to_owned(), "src/a.rs".to_owned()];
        store.add_snapshot(&snapshot).unwrap();
    }
    assert_eq!(store.changed_files("s", "/p").unwrap(), ["by-command.rs", "src/a.rs", "/elsewhere/b.rs", "src/new.rs"]);
}

/// What one source tells of a session. Each is one transaction, or several: a kill means that a part does not come, or comes again.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The hook at a prompt, with whether it knows the prompt's id.
    Prompt(usize, bool),
    /// The spool with the call of a turn, with whether it knows the prompt's id.
    Spool(usize, bool),
    /// The hook at the end of a turn.
    Stop(usize),
    /// The transcript is read up to this line.
    Read(usize),
    /// So many turns are imported.
    Import(usize),
    /// Somebody has the memory forget a prompt, if it is there.
    Forget(usize),
    /// The same with the call of a turn.
    ForgetCall(usize),
}

/// How many lines of the transcript a turn has.
const LINES: usize = 4;

/// A session with four turns, of which two have the same prompt, and each has a call.
struct Told {
    lines: Vec<String>,
    turns: Vec<(&'static str, &'static str, u64)>,
}

impl Told {
    fn new() -> Self {
        let turns = [("one", "first"), ("go on", "second"), ("go on", "third"), ("last", "fourth")];
        let mut lines = Vec::new();
        for (number, (asked, replied)) in turns.iter().enumerate() {
            let minute = number as u32 + 1;
            let (uuid, before) = (format!("u{number}"), number.checked_sub(1).map(|before| format!("r{before}")));
            let asked = entry("user", &uuid, before.as_deref(), minute, &json!(asked));
            let id = format!("{{\"promptId\":\"p{number}\",");
            lines.push(asked.replacen('{', &id, 1));
            let (used, done) = (format!("t{number}"), format!("d{number}"));
            let input = json!({ "command": format!("make {number}") });
            let call = json!([{ "type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": input }]);
            lines.push(entry("assistant", &used, Some(&uuid), minute, &call));
            let output = format!("made {number}, says the transcript");
            let result = json!([{ "type": "tool_result", "tool_use_id": format!("c{number}"), "content": output }]);
            lines.push(entry("user", &done, Some(&used), minute, &result));
            let reply = json!([{ "type": "text", "text": replied }]);
            lines.push(entry("assistant", &format!("r{number}"), Some(&done), minute, &reply));
        }
        let mut reader = Reader::default();
        reader.feed(lines.concat().as_bytes());
        let times: Vec<u64> = reader.take().turns.iter().map(|turn| turn.at.unwrap().0).collect();
        Self { lines, turns: turns.into_iter().zip(times).map(|((asked, replied), at)| (asked, replied, at)).collect() }
    }

    fn call<'a>(&self, number: usize, id: &'a str, prompt_id: Option<&'a str>) -> NewObservation<'a> {
        let at = Millis(self.turns[number].2 + 5_000);
        let observation = Observation::new(Kind::Command, "Bash", format!("Ran make {number}"));
        NewObservation { observation, prompt_id, input: "{}", response: "made", ..call(id, Kind::Command, "", at.0) }
    }

    /// Returns whether something was forgotten.
    fn happen(&self, store: &mut Store, event: Event) -> Result<bool, StoreError> {
        match event {
            Event::Prompt(number, knows_id) => {
                let ((asked, _, at), id) = (self.turns[number], format!("p{number}"));
                store.count_prompt("s", Some(asked))?;
                store.remember_prompt("s", knows_id.then_some(id.as_str()), asked, Millis(at + 300))?;
            }
            Event::Spool(number, knows_id) => {
                let (id, prompt) = (format!("c{number}"), format!("p{number}"));
                store.take_in("s", &[self.call(number, &id, knows_id.then_some(prompt.as_str()))], None)?;
            }
            Event::Stop(number) => {
                let (asked, replied, at) = self.turns[number];
                store.keep_reply("s", &format!("hook:{number}"), Some(asked), replied, Millis(at + 20_000))?;
            }
            Event::Read(lines) => {
                let session = store.session("s")?.unwrap();
                let text = self.lines[..lines].concat();
                let from = session.cursor.offset as usize;
                if from >= text.len() {
                    return Ok(false);
                }
                let before = &text.as_bytes()[session.cursor.check_offset() as usize..from];
                let mut reader = match from {
                    0 => Reader::default(),
                    _ => Reader::resume(session.cursor.clone(), before).unwrap(),
                };
                reader.feed(&text.as_bytes()[from..]);
                let expected = session.cursor.clone();
                store.ingest(&session, &expected, &reader.take(), &Config::default(), Millis(5))?;
            }
            Event::Import(turns) => {
                let ids: Vec<(String, String)> = (0..turns).map(|n| (format!("p{n}"), format!("c{n}"))).collect();
                let past = |(number, (id, call)): (usize, &'_ (String, String))| {
                    let (text, _, at) = self.turns[number];
                    let prompt = Some(PastPrompt { id: id.clone().leak(), text, at: Millis(at) });
                    let call = self.call(number, call.clone().leak(), None);
                    PastTurn { prompt, calls: vec![NewObservation { input: "", response: "", ..call }] }
                };
                let turns = ids.iter().enumerate().map(past).collect();
                let bulk = store.bulk()?;
                bulk.take_in_past("s", turns, 0)?.unwrap();
                bulk.link_replies("s")?;
            }
            Event::Forget(number) => {
                let sql = "SELECT id FROM prompts WHERE abs(created_at - ?1) < 1000";
                let found = store.connection.query_row(sql, [self.turns[number].2 as i64], |row| row.get(0));
                return found.map_or(Ok(false), |id| store.forget(RecordId { what: What::Prompt, id }));
            }
            Event::ForgetCall(number) => {
                let sql = "SELECT id FROM observations WHERE tool_use_id = ?1";
                let found = store.connection.query_row(sql, [format!("c{number}")], |row| row.get(0));
                return found.map_or(Ok(false), |id| store.forget(RecordId { what: What::Observation, id }));
            }
        }
        Ok(false)
    }

    /// Does the same in a process that is killed in one of its transactions: those before it are stored.
    fn be_killed(&self, path: &Path, event: Event, mut stored: usize) {
        let mut store = open(path).unwrap();
        let is_killed = move || {
            let is_stored = stored > 0;
            stored = stored.saturating_sub(1);
            !is_stored
        };
        store.connection.commit_hook(Some(is_killed)).unwrap();
        let _ = self.happen(&mut store, event);
    }
}

fn rows_of(store: &Store, sql: &str) -> Vec<String> {
    let read = |row: &Row<'_>| row.get::<_, String>(0);
    store.connection.prepare(sql).unwrap().query_map([], read).unwrap().map(Result::unwrap).collect()
}

#[test]
fn hooks_transcript_and_imports_end_in_the_same_rows_in_any_order() {
    let told = Told::new();
    let turn = |((asked, replied, _), n): (&(&str, &str, u64), usize)| format!("{asked} → {replied} u{n} 0 in itself");
    let expected: Vec<String> = told.turns.iter().zip(0..).map(turn).collect();
    let call = |((asked, ..), n): (&(&str, &str, u64), usize)| {
        let input = json!({ "command": format!("make {n}") });
        format!("c{n} Ran make {n} for {asked}: {input} → made {n}, says the transcript in u{n}")
    };
    let calls: Vec<String> = told.turns.iter().zip(0..).map(call).collect();
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..40 {
        let (_folder, path) = place();
        let mut store = open(&path).unwrap();
        register(&store, "s", "/p");
        let mut events = Vec::new();
        for number in 0..told.turns.len() {
            let knows_id = random(2) == 0;
            for hook in [Event::Prompt(number, knows_id), Event::Spool(number, knows_id), Event::Stop(number)] {
                // What the client has begun, the transcript may have, or not yet; an import may run at any time.
                match random(6) {
                    0 => events.push(Event::Import(random(number + 1))),
                    1..=2 => events.push(Event::Read(random(LINES * number + LINES))),
                    _ => {}
                }
                match random(5) {
                    0 => {}
                    1 => events.extend([hook, hook]),
                    _ => events.push(hook),
                }
                if number == 3 && random(3) == 0 {
                    events.push(Event::Forget(number));
                }
                if number == 2 && random(4) == 0 {
                    events.push(Event::ForgetCall(number));
                }
            }
        }
        let all = [Event::Read(LINES * 4), Event::Import(4)];
        events.extend(if random(2) == 0 { all } else { [all[1], all[0]] });
        events.push(Event::Import(4));
        let (mut kept, mut kept_calls) = (expected.clone(), calls.clone());
        for event in &events {
            // What was killed comes again, or it was a hook, and does not.
            if random(4) == 0 && !matches!(event, Event::Forget(_) | Event::ForgetCall(_)) {
                told.be_killed(&path, *event, random(3));
                if matches!(event, Event::Prompt(..) | Event::Stop(_)) && random(2) == 0 {
                    continue;
                }
            }
            if told.happen(&mut store, *event).unwrap() {
                match event {
                    Event::ForgetCall(number) => kept_calls.retain(|row| !row.starts_with(&format!("c{number}"))),
                    _ => kept.retain(|row| !row.starts_with("last")),
                }
            }
        }
        let turns =
            "SELECT prompt || ' → ' || coalesce(reply, '') || ' ' || coalesce(turn_id, '') || ' ' || provisional
                            || iif(prompt_number IS NULL, '', ' in ') || iif(passage IS id, 'itself', 'another')
                     FROM turns WHERE forgotten = 0 ORDER BY number";
        assert_eq!(rows_of(&store, turns), kept, "round {round}: {events:?}");
        let calls = "SELECT o.tool_use_id || ' ' || o.title || ' for ' || coalesce(p.prompt, '-') || ': '
                            || coalesce(d.input_text, '-') || ' → ' || coalesce(d.output_text, '-') || ' in '
                            || coalesce(t.turn_id, '-')
                     FROM observations o
                     LEFT JOIN prompts p ON p.session_id = o.session_id AND p.prompt_number = o.prompt_number
                     LEFT JOIN details d ON d.session_id = o.session_id AND d.source_id = o.tool_use_id
                     LEFT JOIN turns t ON t.id = d.turn ORDER BY 1";
        // Whether the call of a prompt that was forgotten is kept depends on who has told of it.
        let is_sure = |row: &String| kept.len() == expected.len() || !row.starts_with("c3");
        kept_calls.retain(is_sure);
        let stored: Vec<String> = rows_of(&store, calls).into_iter().filter(is_sure).collect();
        assert_eq!(stored, kept_calls, "round {round}: {events:?}");
        let left = "SELECT CAST(count(*) AS TEXT) FROM turns WHERE forgotten > 0 AND coalesce(prompt, reply, line) IS NOT NULL";
        assert_eq!(rows_of(&store, left), ["0"], "round {round}: {events:?}");
        assert_consistent(&store);
    }
}

/// The time of the first minute of [`entry`].
const MINUTE: u64 = 60_000;

fn minute(number: u64) -> Millis {
    Millis(1_794_643_200_000 + number * MINUTE)
}

#[test]
fn a_prompt_that_the_memory_gets_late_in_a_session_that_was_handed_over_has_its_own_reply() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    register(&store, "heir", "/p");
    store.remember_prompt("s", Some("p1"), "one", minute(1)).unwrap();
    assert!(take_in(&store, "s", &(turn("one", "first", 1) + &turn("two", "second", 2))));
    store
        .connection
        .execute_batch("UPDATE sessions SET merged_into = 'heir' WHERE session_id = 's'; UPDATE turns SET owner_id = 2")
        .unwrap();
    store.remember_prompt("s", Some("p2"), "two", minute(2)).unwrap();
    let rows = "SELECT prompt || ' → ' || coalesce(reply, '') || iif(passage = id, ' itself', ' another') || owner_id
                FROM turns ORDER BY number";
    assert_eq!(rows_of(&store, rows), ["one → first itself2", "two → second itself2"]);
    let id = store.connection.query_row("SELECT id FROM prompts WHERE prompt = 'one'", [], |row| row.get(0)).unwrap();
    assert!(store.forget(RecordId { what: What::Prompt, id }).unwrap());
    assert_eq!(rows_of(&store, &rows.replace("ORDER", "WHERE forgotten = 0 ORDER")), ["two → second itself2"]);
    assert_consistent(&store);
}

#[test]
fn a_forgotten_turn_stays_without_text_when_its_file_is_read_again() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    // Two prompts at the same moment, of which the second is forgotten.
    let text = turn("one", "first", 1) + &turn("two", "second", 1);
    for (id, prompt) in [("p1", "one"), ("p2", "two")] {
        store.remember_prompt("s", Some(id), prompt, minute(1)).unwrap();
    }
    assert!(take_in(&store, "s", &text));
    let id = store.connection.query_row("SELECT id FROM prompts WHERE prompt = 'two'", [], |row| row.get(0)).unwrap();
    assert!(store.forget(RecordId { what: What::Prompt, id }).unwrap());
    store.connection.execute("UPDATE sessions SET read_offset = 0, read_mark = 0", []).unwrap();
    assert!(take_in(&store, "s", &text));
    let rows =
        "SELECT coalesce(prompt, '') || ' → ' || coalesce(reply, '') || coalesce(line, '') FROM turns ORDER BY id";
    let rows = rows_of(&store, rows).join("\n");
    assert!(rows.contains("one → first") && !rows.contains("two") && !rows.contains("second"), "{rows}");
}

#[test]
fn a_prompt_from_the_spool_finds_its_turn_however_long_that_took() {
    let (_folder, store) = empty();
    register(&store, "s", "/p");
    store.keep_reply("s", "hook:p1", Some("one"), "first", minute(9)).unwrap();
    store.remember_prompt("s", Some("p1"), "one", minute(1)).unwrap();
    let rows = "SELECT prompt || ' → ' || coalesce(reply, '') || ' ' || prompt_number FROM turns";
    assert_eq!(rows_of(&store, rows), ["one → first 1"]);
    assert!(take_in(&store, "s", &turn("one", "first", 1)));
    assert_eq!(rows_of(&store, rows), ["one → first 1"]);
}

#[test]
fn raw_text_that_is_imported_belongs_to_a_turn_that_there_is() {
    let (_folder, mut store) = empty();
    register(&store, "s", "/p");
    assert!(take_in(&store, "s", &(turn("one", "first", 1) + &turn("two", "second", 2))));
    let past = |number: u64, text: &'static str, id: &'static str| {
        let at = minute(number);
        PastTurn { prompt: Some(PastPrompt { id, text, at }), calls: vec![call(id, Kind::Command, "Ran make", at.0)] }
    };
    store.bulk().unwrap().take_in_past("s", vec![past(1, "one", "c1"), past(2, "two", "c2")], 0).unwrap().unwrap();
    let rows = "SELECT d.source_id || ' ' || t.prompt FROM details d LEFT JOIN turns t ON t.id = d.turn ORDER BY 1";
    assert_eq!(rows_of(&store, rows), ["c1 one", "c2 two"]);
}
