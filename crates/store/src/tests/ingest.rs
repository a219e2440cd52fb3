use longhaul_core::{Config, Millis};
use longhaul_transcript::{Cursor, Reader};
use rusqlite::Row;
use serde_json::{Value, json};

use super::{empty, new_session};
use crate::{NewSession, PastPrompt, PastTurn, RecordId, Snapshot, SnapshotKind, Store, Turn, What, Within};

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

/// What one source tells of a session. Each is one transaction: a kill means that it does not come, or comes again.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The hook at a prompt, with whether it knows the prompt's id.
    Prompt(usize, bool),
    /// The hook at the end of a turn.
    Stop(usize),
    /// The transcript is read up to this line.
    Read(usize),
    /// So many turns are imported.
    Import(usize),
    /// Somebody has the memory forget a prompt, if it is there.
    Forget(usize),
}

/// A session with four turns, of which two have the same prompt.
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
            let reply = json!([{ "type": "text", "text": replied }]);
            lines.push(entry("assistant", &format!("r{number}"), Some(&uuid), minute, &reply));
        }
        let mut reader = Reader::default();
        reader.feed(lines.concat().as_bytes());
        let times: Vec<u64> = reader.take().turns.iter().map(|turn| turn.at.unwrap().0).collect();
        Self { lines, turns: turns.into_iter().zip(times).map(|((asked, replied), at)| (asked, replied, at)).collect() }
    }

    /// Returns whether something was forgotten.
    fn happen(&self, store: &mut Store, event: Event) -> bool {
        match event {
            Event::Prompt(number, knows_id) => {
                let ((asked, _, at), id) = (self.turns[number], format!("p{number}"));
                store.count_prompt("s", Some(asked)).unwrap();
                store.remember_prompt("s", knows_id.then_some(id.as_str()), asked, Millis(at + 300)).unwrap();
            }
            Event::Stop(number) => {
                let (asked, replied, at) = self.turns[number];
                store.keep_reply("s", &format!("hook:{number}"), Some(asked), replied, Millis(at + 20_000)).unwrap();
            }
            Event::Read(lines) => {
                let session = store.session("s").unwrap().unwrap();
                let text = self.lines[..lines].concat();
                let from = session.cursor.offset as usize;
                if from >= text.len() {
                    return false;
                }
                let before = &text.as_bytes()[session.cursor.check_offset() as usize..from];
                let mut reader = match from {
                    0 => Reader::default(),
                    _ => Reader::resume(session.cursor.clone(), before).unwrap(),
                };
                reader.feed(&text.as_bytes()[from..]);
                let expected = session.cursor.clone();
                store.ingest(&session, &expected, &reader.take(), &Config::default(), Millis(5)).unwrap();
            }
            Event::Import(turns) => {
                let ids: Vec<String> = (0..turns).map(|number| format!("p{number}")).collect();
                let prompt = |(id, (text, _, at)): (&'_ String, &(&'static str, &str, u64))| PastPrompt {
                    id: id.clone().leak(),
                    text,
                    at: Millis(*at),
                };
                let turns = ids.iter().zip(&self.turns).map(prompt);
                let turns = turns.map(|prompt| PastTurn { prompt: Some(prompt), calls: Vec::new() }).collect();
                let bulk = store.bulk().unwrap();
                bulk.take_in_past("s", turns, 0).unwrap().unwrap();
                bulk.link_replies("s").unwrap();
            }
            Event::Forget(number) => {
                let sql = "SELECT id FROM prompts WHERE abs(created_at - ?1) < 1000";
                let found = store.connection.query_row(sql, [self.turns[number].2 as i64], |row| row.get(0));
                return found.is_ok_and(|id| store.forget(RecordId { what: What::Prompt, id }).unwrap());
            }
        }
        false
    }
}

#[test]
fn hooks_transcript_and_imports_end_in_the_same_rows_in_any_order() {
    let told = Told::new();
    let expected: Vec<String> = told
        .turns
        .iter()
        .zip(0..)
        .map(|((asked, replied, _), n)| format!("{asked} → {replied} u{n} 0 in itself"))
        .collect();
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..40 {
        let (_folder, mut store) = empty();
        register(&store, "s", "/p");
        let mut events = Vec::new();
        for number in 0..told.turns.len() {
            for hook in [Event::Prompt(number, random(2) == 0), Event::Stop(number)] {
                // What the client has begun, the transcript may have, or not yet; an import may run at any time.
                match random(6) {
                    0 => events.push(Event::Import(random(number + 1))),
                    1..=2 => events.push(Event::Read(random(2 * number + 2))),
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
            }
        }
        let all = [Event::Read(8), Event::Import(4)];
        events.extend(if random(2) == 0 { all } else { [all[1], all[0]] });
        events.push(Event::Import(4));
        let mut kept = expected.clone();
        for event in &events {
            if told.happen(&mut store, *event) {
                kept.retain(|row| !row.starts_with("last"));
            }
        }
        let sql = "SELECT prompt || ' → ' || coalesce(reply, '') || ' ' || coalesce(turn_id, '') || ' ' || provisional
                          || iif(prompt_number IS NULL, '', ' in ') || iif(passage IS id, 'itself', 'another')
                   FROM turns WHERE forgotten = 0 ORDER BY number";
        let read = |row: &Row<'_>| row.get::<_, String>(0);
        let rows: Vec<String> =
            store.connection.prepare(sql).unwrap().query_map([], read).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, kept, "round {round}: {events:?}");
        let left = "SELECT count(*) FROM turns WHERE forgotten > 0 AND coalesce(prompt, reply, line) IS NOT NULL";
        let left: i64 = store.connection.query_row(left, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "round {round}: {events:?}");
    }
}
