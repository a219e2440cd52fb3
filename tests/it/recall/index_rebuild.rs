//! A memory whose search index is to be built again: in the background, killed at any moment, on a full disk.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;

use super::{first, memory, sandbox};
use crate::dice::Dice;
use crate::past::holding;
use crate::poll;
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::small_disk::Small;

/// How many prompts the memory has.
pub(super) const PROMPTS: i64 = 900;

/// Writes a memory of one session, of which the index has nothing.
pub(super) fn memory_without_index(sandbox: &Sandbox) {
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    let database = open(&sandbox.data_dir().join("longhaul.db"));
    database.pragma_update(None, "auto_vacuum", "incremental").unwrap();
    database.pragma_update(None, "journal_mode", "wal").unwrap();
    database.execute_batch(include_str!("../../../crates/store/src/schema.sql")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    let project = sandbox.project();
    let project = project.to_str().unwrap();
    database.execute("INSERT INTO projects (project_key, name) VALUES (?1, 'project')", [project]).unwrap();
    let sql = "INSERT INTO sessions (session_id, project, project_key, project_path, prompt_counter, created_at)
               VALUES ('old', 'project', ?1, ?1, ?2, 7)";
    database.execute(sql, (project, PROMPTS)).unwrap();
    database.execute_batch("BEGIN").unwrap();
    for n in 1..=PROMPTS {
        let prompt = if n == 77 { "why does the importer stall?".to_owned() } else { format!("question {n}") };
        let reply = if n == 77 { "A lock of the exchange rates." } else { "Yes." };
        let sql =
            "INSERT INTO turns (session_id, owner_id, project_id, prompt_number, number, turn_id, role, prompt, reply,
                                      passage, part, began_at, created_at)
                   VALUES (1, 1, 1, ?1, ?1, 't' || ?1, 'user', ?2, ?3, ?1, 1, ?1 * 1000, ?1 * 1000)";
        database.execute(sql, (n, &prompt, reply)).unwrap();
    }
    database.execute_batch("INSERT INTO prompt_trigrams (prompt_trigrams) VALUES ('rebuild'); COMMIT").unwrap();
}

fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

#[test]
fn an_index_that_lacks_everything_is_reported_and_then_built() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    for command in ["search", "recall"] {
        let none = memory(&sandbox, &[command, "exchange rates"]);
        assert_eq!(none.status, Some(1), "{none:?}");
        assert!(none.stderr.contains("it is built to 0 %, and `longhaul memory upkeep` completes it"), "{none:?}");
    }
    let stats = memory(&sandbox, &["stats", "--json"]).json();
    assert_eq!(stats["search_index"], json!({ "complete": false, "done": 0, "total": 900 }));
    assert!(memory(&sandbox, &["stats"]).stdout.contains("search index"));
    let doctor = sandbox.longhaul(&["doctor"]);
    assert!(doctor.stdout.contains("0 % of the search index is built"), "{doctor:?}");
    // What is added, changed and forgotten meanwhile is kept right.
    memory(&sandbox, &["save", "the zeppelin is grounded"]);
    assert_eq!(memory(&sandbox, &["forget", "P500", "--yes"]).status, Some(0));

    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    let stats = memory(&sandbox, &["stats", "--json"]).json();
    assert_eq!(stats["search_index"]["complete"], true);
    assert_eq!(first(&sandbox, &["how did exchange rates lock"])["id"], "P77");
    assert_eq!(first(&sandbox, &["grounding zeppelins"])["id"], "O1");
    assert_eq!(memory(&sandbox, &["search", "+500"]).status, Some(1));
    assert_eq!(sandbox.longhaul(&["doctor"]).stdout.find("search index is built"), None);
}

/// Returns how many records the index has, and whether those are all.
fn done(sandbox: &Sandbox) -> (u64, bool) {
    let index = memory(sandbox, &["stats", "--json"]).json()["search_index"].clone();
    (index["done"].as_u64().unwrap(), index["complete"] == true)
}

/// Checks that the index has everything once, and that the one before it is gone.
#[track_caller]
fn check_built(sandbox: &Sandbox) {
    assert!(done(sandbox).1);
    assert_eq!(first(sandbox, &["exchange rates"])["id"], "P77");
    let found = memory(sandbox, &["search", "--json", "--limit", "1000", "+question"]).json();
    let ids: HashSet<String> = found.as_array().unwrap().iter().map(|hit| hit["id"].to_string()).collect();
    assert_eq!((ids.len(), found.as_array().unwrap().len()), (899, 899));
    let database = open(&sandbox.data_dir().join("longhaul.db"));
    let sql = "INSERT INTO passage_terms (passage_terms) VALUES ('integrity-check')";
    database.execute(sql, []).unwrap();
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'dropped\\_%' ESCAPE '\\'";
    assert_eq!(database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "the replaced index is gone");
}

#[test]
fn killed_at_any_moment_the_building_goes_on() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    let mut dice = Dice(17);
    let mut last = 0;
    let mut kills = 0;
    loop {
        let mut child =
            sandbox.executable("longhaul").args(["memory", "upkeep"]).stdout(Stdio::null()).spawn().unwrap();
        // The moment is what is tried here, so it is left to chance and not waited for.
        std::thread::sleep(Duration::from_micros(dice.roll(60_000)));
        child.kill().unwrap();
        let has_ended = child.wait().unwrap().success();
        let (now, is_complete) = done(&sandbox);
        assert!(now >= last, "{last} records were in the index, and now {now}");
        (last, kills) = (now, kills + 1);
        if has_ended || is_complete || kills == 40 {
            break;
        }
    }
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    check_built(&sandbox);
}

#[test]
fn a_full_disk_delays_the_building_and_loses_nothing() {
    let sandbox = sandbox();
    let data = sandbox.data_dir();
    let Some(small) = Small::mount(&sandbox, &data, "64m") else { return };
    memory_without_index(&sandbox);
    // Room for some of it, and then for no more.
    let used = fs_used(&data);
    for room in [0, 96, 512] {
        small.remount(&sandbox, &format!("size={}k", used / 1024 + 64 + room));
        let upkeep = memory(&sandbox, &["upkeep"]);
        if upkeep.status != Some(0) {
            assert!(upkeep.stderr.contains("full") || upkeep.stderr.contains("space"), "{upkeep:?}");
        }
        if done(&sandbox).1 {
            assert_eq!(first(&sandbox, &["exchange rates"])["id"], "P77", "with {room} KB of room");
        }
    }
    small.remount(&sandbox, "size=64m");
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    check_built(&sandbox);
}

/// Returns the bytes of the files in a folder.
pub(super) fn fs_used(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(|file| file.is_file()).map(|file| file.len()).sum()
}

#[test]
fn a_prompt_forgotten_before_it_is_indexed_takes_its_reply_along() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    assert_eq!(memory(&sandbox, &["forget", "P77", "--yes"]).status, Some(0));
    assert!(holding(&sandbox.data_dir(), "exchange rates").is_empty());
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    let found = memory(&sandbox, &["search", "exchange rates"]);
    assert_eq!(found.status, Some(1), "{found:?}");
}

#[test]
fn a_session_that_begins_has_the_index_built() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    begin_and_wait(&sandbox);
}

#[test]
fn a_damaged_model_does_not_keep_the_index_from_being_built() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    let path = sandbox.path("broken.lhvec");
    std::fs::write(&path, "LHVEC is not enough").unwrap();
    sandbox.write_config(&json!({ "memory": { "embeddings": path } }).to_string());
    begin_and_wait(&sandbox);
    assert!(sandbox.error_log().contains("broken.lhvec"), "{}", sandbox.error_log());
}

/// Begins a session, and waits until the index is complete.
fn begin_and_wait(sandbox: &Sandbox) {
    let all = json!({ "session_id": "new", "cwd": sandbox.project(), "transcript_path": "/nowhere.jsonl",
                      "source": "startup" });
    let outcome =
        Outcome::of(&mut sandbox.executable("longhaul-session-start"), payload("SessionStart", all).as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    poll::wait_until(poll::DEADLINE, "the index to be complete", || {
        memory(sandbox, &["stats", "--json"]).json()["search_index"]["complete"] == true
    });
    assert_eq!(first(sandbox, &["exchange rates"])["id"], "P77");
}
