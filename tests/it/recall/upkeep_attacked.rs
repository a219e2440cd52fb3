//! Upkeep while hooks write, on a full disk, and killed at any moment: nothing is lost, nothing is half written.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::index_rebuild::{PROMPTS, fs_used, memory_without_index};
use super::{memory, sandbox};
use crate::dice::Dice;
use crate::memory_meaning::write_model;
use crate::sandbox::{Sandbox, payload, with};
use crate::small_disk::Small;

/// Dimensions of the model: vectors must be worth some pages, and stay below their share of the file.
const DIMS: usize = 16;

/// How many vectors stand in a block, and the bytes of a key, as the schema has them.
const SLOTS: usize = 128;
const KEY: usize = 16;

/// How many sessions write at once, and how many turns each has: a hundred hooks.
const SESSIONS: i64 = 10;
const TURNS: i64 = 5;

/// Sets a model that knows a word of every prompt.
fn use_model(sandbox: &Sandbox, id: &str) {
    let rows: Vec<(&str, [i8; DIMS])> = ["importer", "question", "stall", "yes"]
        .into_iter()
        .enumerate()
        .map(|(place, token)| (token, std::array::from_fn(|dim| if dim % 4 == place { 100 } else { 1 })))
        .collect();
    let file = write_model(sandbox, id, &rows);
    sandbox.write_config(&json!({ "memory": { "embeddings": file } }).to_string());
}

fn number(sandbox: &Sandbox, sql: &str) -> i64 {
    sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Checks that every vector stands where the table says, and no two in one place; returns how many prompts have one.
#[track_caller]
fn check_vectors(sandbox: &Sandbox) -> i64 {
    let database = sandbox.database();
    let mut slots =
        database.prepare("SELECT model_id, slot, what, record_id FROM vector_slots WHERE part >= 0").unwrap();
    let mut keys = database.prepare("SELECT keys FROM vector_blocks WHERE model_id = ?1 AND block = ?2").unwrap();
    let rows = slots
        .query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, u8>(2)?, row.get::<_, i64>(3)?))
        })
        .unwrap();
    let mut places = HashSet::new();
    for row in rows {
        let (model, slot, what, record) = row.unwrap();
        assert!(places.insert((model, slot)), "two vectors in slot {slot}");
        let block: rusqlite::Result<Vec<u8>> = keys.query_row((model, slot / SLOTS as i64), |row| row.get(0));
        // A model that is being deleted has lost its blocks first.
        let Ok(block) = block else { continue };
        let key = &block[slot as usize % SLOTS * KEY..][..KEY];
        assert_eq!((key[0], i64::from_le_bytes(*key[8..].first_chunk().unwrap())), (what, record), "slot {slot}");
    }
    let check: String = database.query_row("PRAGMA quick_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    number(sandbox, "SELECT count(DISTINCT record_id) FROM vector_slots WHERE what = 0 AND part >= 0")
}

/// Checks that the index has every prompt and every reply once.
#[track_caller]
fn check_index(sandbox: &Sandbox, prompts: i64) {
    let without_reply = "SELECT coalesce(group_concat(prompt, '; '), '') FROM prompts
                         WHERE id NOT IN (SELECT passage FROM turns WHERE passage IS NOT NULL)";
    let without_reply: String = sandbox.database().query_row(without_reply, [], |row| row.get(0)).unwrap();
    assert_eq!(number(sandbox, "SELECT count(*) FROM prompts"), prompts, "prompts; {}", sandbox.error_log());
    assert_eq!(without_reply, "", "{}", sandbox.error_log());
    assert_eq!(number(sandbox, "SELECT count(passage) FROM turns"), prompts, "replies");
    let rows = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'";
    assert_eq!(number(sandbox, rows), 2 * prompts);
    sandbox.database().execute("INSERT INTO passage_terms (passage_terms) VALUES ('integrity-check')", []).unwrap();
    assert_eq!(memory(sandbox, &["stats", "--json"]).json()["search_index"]["complete"], true);
}

#[test]
fn a_hundred_hooks_and_upkeep_lose_nothing_of_each_other() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    use_model(&sandbox, "one");
    let are_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let upkeep = scope.spawn(|| {
            while !are_done.load(Ordering::Relaxed) {
                assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
            }
        });
        let writers: Vec<_> = (0..SESSIONS)
            .map(|session| {
                scope.spawn({
                    let sandbox = &sandbox;
                    move || write(sandbox, session)
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        are_done.store(true, Ordering::Relaxed);
        upkeep.join().unwrap();
    });
    // A prompt or a turn's end, for which the user waits, gives up soon. The next one, in a quieter moment, finds in the
    // spool and in the transcript what is not stored yet.
    for session in 0..SESSIONS {
        end_turn(&sandbox, session, TURNS - 1);
    }
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    check_index(&sandbox, PROMPTS + SESSIONS * TURNS);
    assert_eq!(check_vectors(&sandbox), PROMPTS + SESSIONS * TURNS);
    let log = sandbox.error_log();
    assert!(log.lines().all(|line| line.contains("database is locked")), "{log}");
}

/// Goes through the turns of a session, transcript and hooks.
fn write(sandbox: &Sandbox, session: i64) {
    let mut last = None;
    for turn in 0..TURNS {
        let (asked, replied) = (format!("question {session} {turn}"), format!("Yes, in {session} {turn}."));
        let mut say = |kind: &str, text: &str| {
            let uuid = format!("{session}-{turn}-{kind}");
            let entry = json!({
                "type": kind, "uuid": uuid, "parentUuid": last.replace(uuid.clone()), "isSidechain": false,
                "sessionId": format!("new-{session}"), "promptId": format!("{session}-{turn}"),
                "timestamp": "2026-11-15T02:00:00.000Z",
                "message": { "role": kind, "content": [{ "type": "text", "text": text }], "model": "claude-opus-5-5" },
            });
            let mut file = File::options().append(true).create(true).open(transcript(sandbox, session)).unwrap();
            writeln!(file, "{entry}").unwrap();
        };
        say("user", &asked);
        fire(sandbox, session, turn, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": asked }));
        say("assistant", &replied);
        end_turn(sandbox, session, turn);
    }
}

fn transcript(sandbox: &Sandbox, session: i64) -> PathBuf {
    sandbox.path(&format!("new-{session}.jsonl"))
}

fn end_turn(sandbox: &Sandbox, session: i64, turn: i64) {
    let replied = json!({ "last_assistant_message": format!("Yes, in {session} {turn}.") });
    fire(sandbox, session, turn, "longhaul-stop", "Stop", replied);
}

/// Fires a hook of a session's turn.
fn fire(sandbox: &Sandbox, session: i64, turn: i64, executable: &str, event: &str, changes: Value) {
    let all = json!({ "session_id": format!("new-{session}"), "cwd": sandbox.project(),
                          "prompt_id": format!("{session}-{turn}"), "transcript_path": transcript(sandbox, session) });
    let outcome = sandbox.hook(executable, payload(event, with(all, &changes)));
    assert_eq!((outcome.status, outcome.json()["continue"].as_bool()), (Some(0), Some(true)), "{outcome:?}");
}

#[test]
fn a_full_disk_delays_the_vectors_and_loses_nothing() {
    let sandbox = sandbox();
    let data = sandbox.data_dir();
    let Some(small) = Small::mount(&sandbox, &data, "64m") else { return };
    memory_without_index(&sandbox);
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    use_model(&sandbox, "one");
    let used = fs_used(&data);
    let mut seen = vec![0];
    for room in [0, 16, 32, 64, 96] {
        small.remount(&sandbox, &format!("size={}k", used / 1024 + 64 + room));
        let upkeep = memory(&sandbox, &["upkeep"]);
        let is_reported = upkeep.status == Some(1) && upkeep.stderr.contains("longhaul: cannot ");
        assert!(upkeep.status == Some(0) || is_reported, "{upkeep:?}");
        let now = check_vectors(&sandbox);
        assert!(seen.iter().all(|before| now >= *before), "{seen:?} prompts had vectors, and now {now}");
        seen.push(now);
    }
    assert!(seen[1] < PROMPTS, "the disk was never full: {seen:?}");
    small.remount(&sandbox, "size=64m");
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert_eq!(check_vectors(&sandbox), PROMPTS);
    check_index(&sandbox, PROMPTS);
}

/// Runs upkeep and kills it, again and again, until it has come to its end or often enough.
fn run_and_kill(sandbox: &Sandbox, dice: &mut Dice) {
    for _ in 0..25 {
        let mut child = sandbox
            .executable("longhaul")
            .args(["memory", "upkeep"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The moment is what is tried here, so it is left to chance and not waited for.
        thread::sleep(Duration::from_micros(dice.roll(120_000)));
        child.kill().unwrap();
        let has_ended = child.wait().unwrap().success();
        check_vectors(sandbox);
        if has_ended {
            return;
        }
    }
}

#[test]
fn upkeep_killed_at_any_moment_leaves_no_half_written_vector() {
    let sandbox = sandbox();
    memory_without_index(&sandbox);
    let mut dice = Dice(23);
    // The schema is brought up to date first.
    assert_eq!(memory(&sandbox, &["stats"]).status, Some(0));
    use_model(&sandbox, "one");
    run_and_kill(&sandbox, &mut dice);
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert_eq!(check_vectors(&sandbox), PROMPTS);
    // Another model takes its place.
    use_model(&sandbox, "two");
    run_and_kill(&sandbox, &mut dice);
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert_eq!(check_vectors(&sandbox), PROMPTS);
    let models = sandbox
        .database()
        .query_row("SELECT group_concat(name) FROM indexes WHERE id > 0", [], |row| row.get::<_, String>(0));
    assert_eq!(models.unwrap(), "two");
    assert_eq!(number(&sandbox, "SELECT count(slot) FROM vector_slots WHERE what = 0"), PROMPTS);
    check_index(&sandbox, PROMPTS);
}
