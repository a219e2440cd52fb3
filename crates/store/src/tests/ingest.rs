use longhaul_core::{Config, Millis};
use longhaul_transcript::{Cursor, Reader};
use serde_json::{Value, json};

use super::{folder, new_session, open};
use crate::{NewSession, Snapshot, SnapshotKind, Store, Turn, Within};

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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
    register(&store, "s", "/p");
    let text = turn("ask", "yes", 1);
    assert!(take_in(&store, "s", &text));
    assert!(!take_in(&store, "s", &text));
    assert_eq!(said(&store.turns("s", None, 10).unwrap().0), [("ask", "yes")]);
    assert!(store.has_turn("s", "ask").unwrap() && !store.has_turn("s", "other").unwrap());
}

#[test]
fn what_is_read_of_a_session_that_was_handed_over_is_its_heirs() {
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
    let folder = folder();
    let store = open(&folder.path().join("l.db")).unwrap();
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
