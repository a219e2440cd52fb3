//! An index that is damaged, or has terms of another version, is built again in small steps.

use longhaul_core::Millis;
use longhaul_memory::{Kind, PromptQuestion, Query};

use super::forgetting::SECRET;
use super::{Shelf, call, open};
use crate::recall::key::Key;
use crate::{NearRecords, PromptSearch, RecordId, SearchQuery, StoreError, What};

/// Number of prompts, each with a reply.
const PROMPTS: i64 = 9;

/// The prompt that has the secret.
const SECRET_ONE: i64 = 4;

fn filled() -> Shelf {
    let shelf = Shelf::new();
    for n in 1..=PROMPTS {
        let secret = if n == SECRET_ONE { SECRET } else { "nothing" };
        add_prompt(&shelf, n, &format!("which zeppelin{n} carries {secret}?"), &format!("harbour{n} with {secret}"));
    }
    shelf
}

fn add_prompt(shelf: &Shelf, n: i64, prompt: &str, reply: &str) {
    let at = n.unsigned_abs() * 10_000_000;
    shelf.store.remember_prompt("s1", Some(&format!("p{n}")), prompt, Millis(at)).unwrap();
    shelf.store.keep_reply("s1", &format!("hook:{n}"), Some(prompt), reply, Millis(at + 5)).unwrap();
}

/// Makes the index one that is to be built again, with a term of each prompt that its text does not have.
fn make_damaged(shelf: &Shelf) {
    for n in 1..=PROMPTS {
        let end = if n == SECRET_ONE { SECRET } else { "nothing" };
        let sql = "INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)";
        let row = Key::new(1, What::Prompt, n).row(0);
        shelf.store.connection.execute(sql, (row, format!("oldterm{end}"))).unwrap();
    }
    assert!(shelf.store.mark_index_damaged().unwrap());
}

fn found(shelf: &Shelf, text: &str) -> Vec<i64> {
    let query = Query::parse(text);
    let search = SearchQuery { query: Some(&query), project_key: Some("/p"), limit: 10, ..SearchQuery::default() };
    shelf.store.search(&search).unwrap().into_iter().map(|hit| hit.record.id).collect()
}

/// Checks that a prompt is found by its own words and by those of its reply, by a search and for another prompt.
#[track_caller]
fn check_found(shelf: &Shelf, n: i64, is_there: bool) {
    let expected = if is_there { vec![n] } else { Vec::new() };
    assert_eq!(found(shelf, &format!("+zeppelin{n}")), expected);
    assert_eq!(found(shelf, &format!("+harbour{n}")), expected);
    let question = PromptQuestion::of(&format!("what did we decide about harbour{n}?")).unwrap();
    let search = PromptSearch { question: &question, project_key: "/p", session: "other" };
    let passages = shelf.store.passages_for_prompt(&search, NearRecords::default).unwrap();
    let ids: Vec<i64> = passages.iter().map(|passage| passage.record.id).filter(|id| *id == n).collect();
    assert_eq!(ids, expected);
}

/// Does one step, as a process that is killed after it, and returns whether there are more.
fn step(shelf: &mut Shelf) -> bool {
    let more = shelf.store.build_index(2).unwrap();
    shelf.store = open(&shelf.path()).unwrap();
    more
}

#[track_caller]
fn check_complete(shelf: &Shelf) {
    assert!(shelf.store.index_progress().unwrap().is_complete());
    shelf.is_sound();
    let left = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%\\_passage%' ESCAPE '\\'";
    assert_eq!(shelf.count(left), 0, "the replaced index is gone");
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'oldterm*'"), 0);
    let rows = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'";
    let expected = "SELECT (SELECT count(*) FROM prompts) + (SELECT count(*) FROM turns WHERE passage IS NOT NULL)";
    assert_eq!(shelf.count(rows), shelf.count(expected));
}

/// Returns a memory whose damaged index was built again for so many steps.
fn rebuilt_for(steps: usize) -> Shelf {
    let mut shelf = filled();
    make_damaged(&shelf);
    for _ in 0..steps {
        step(&mut shelf);
    }
    shelf
}

#[test]
fn it_is_built_in_steps_and_its_progress_grows() {
    let mut shelf = filled();
    make_damaged(&shelf);
    let (mut steps, mut last) = (1, 0);
    while step(&mut shelf) {
        let progress = shelf.store.index_progress().unwrap().percent();
        assert!(progress >= last, "{progress} % after {last} %");
        last = progress;
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
    (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
    check_complete(&shelf);
}

#[test]
fn what_is_forgotten_at_any_step_is_gone_from_both_indexes() {
    for steps in 0..14 {
        let mut shelf = rebuilt_for(steps);
        assert!(shelf.store.forget(RecordId { what: What::Prompt, id: SECRET_ONE }).unwrap());
        assert!(!shelf.has_secret(), "after {steps} steps");
        while step(&mut shelf) {}
        (1..=PROMPTS).for_each(|n| check_found(&shelf, n, n != SECRET_ONE));
        check_complete(&shelf);
    }
}

#[test]
fn what_is_stored_meanwhile_is_found() {
    for steps in 1..14 {
        let mut shelf = rebuilt_for(steps);
        add_prompt(&shelf, PROMPTS + 1, "which zeppelin10 is new?", "harbour10");
        assert_eq!(found(&shelf, "+zeppelin10"), [PROMPTS + 1], "after {steps} steps");
        // One more reply to an older prompt.
        let at = Millis(20_000_900);
        shelf.store.keep_reply("s1", "hook:later", Some("which zeppelin2 carries nothing?"), "lighthouse", at).unwrap();
        while step(&mut shelf) {}
        (1..=PROMPTS + 1).for_each(|n| check_found(&shelf, n, true));
        assert_eq!(found(&shelf, "+lighthouse"), [2], "after {steps} steps");
        check_complete(&shelf);
    }
}

#[test]
fn a_second_damage_begins_anew() {
    for steps in 1..14 {
        let mut shelf = rebuilt_for(steps);
        assert!(shelf.store.mark_index_damaged().unwrap());
        while step(&mut shelf) {}
        (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
        check_complete(&shelf);
    }
}

#[test]
fn damage_is_told_from_other_failures() {
    let shelf = Shelf::new();
    let ids: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| call(id, Kind::Change, "Edited", 5)).collect();
    shelf.take("s1", &calls);
    shelf.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let Shelf { folder, store } = shelf;
    drop(store);
    let path = folder.path().join("l.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The header and the schema stay; every other page is rubbish.
    let whole = bytes.len();
    bytes[40_960..whole].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    match open(&path) {
        Err(error) => assert!(error.is_corrupt(), "{error:?}"),
        Ok(store) => {
            let damage = store.integrity_check();
            assert!(damage.as_ref().map_or_else(StoreError::is_corrupt, |found| !found.is_empty()), "{damage:?}");
        }
    }
    std::fs::write(&path, "not a database at all, but long enough to have a header: ".repeat(20)).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })));
}
