//! An index with terms of another version is searched until a new one is built in its place.

use longhaul_core::Millis;
use longhaul_memory::{PromptQuestion, Query};

use super::forgetting::SECRET;
use super::{Shelf, open};
use crate::recall::Key;
use crate::{PromptSearch, RecordId, SearchQuery, What};

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

/// Makes the index one of another version, with a term of each prompt that this version does not make.
fn make_old(shelf: &Shelf, version: u32) {
    let connection = &shelf.store.connection;
    for n in 1..=PROMPTS {
        let end = if n == SECRET_ONE { SECRET } else { "nothing" };
        let sql = "INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)";
        connection.execute(sql, (Key::new(1, What::Prompt, n).row(0), format!("oldterm{end}"))).unwrap();
    }
    connection.execute("UPDATE passage_index SET terms_version = ?1", [version]).unwrap();
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
    let passages = shelf.store.passages_for_prompt(&search, Vec::new).unwrap();
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
    assert_eq!(shelf.count(left), 0, "the old index is gone");
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'oldterm*'"), 0);
    let rows = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'";
    let expected = "SELECT (SELECT count(*) FROM user_prompts) + (SELECT count(*) FROM replies)";
    assert_eq!(shelf.count(rows), shelf.count(expected));
}

#[test]
fn everything_is_found_at_every_step() {
    let mut shelf = filled();
    make_old(&shelf, 999);
    let (mut steps, mut last) = (0, 0);
    loop {
        (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
        let progress = shelf.store.index_progress().unwrap().percent();
        assert!(progress >= last, "{progress} % after {last} %");
        last = progress;
        steps += 1;
        if !step(&mut shelf) {
            break;
        }
    }
    assert!(steps > 10, "{steps} steps");
    check_complete(&shelf);
}

#[test]
fn what_is_forgotten_at_any_step_is_gone_from_both_indexes() {
    for steps in 0..16 {
        let mut shelf = filled();
        make_old(&shelf, 999);
        for _ in 0..steps {
            step(&mut shelf);
        }
        assert!(shelf.store.forget(RecordId { what: What::Prompt, id: SECRET_ONE }).unwrap());
        assert!(!shelf.has_secret(), "after {steps} steps");
        (1..=PROMPTS).for_each(|n| check_found(&shelf, n, n != SECRET_ONE));
        while step(&mut shelf) {}
        (1..=PROMPTS).for_each(|n| check_found(&shelf, n, n != SECRET_ONE));
        check_complete(&shelf);
    }
}

#[test]
fn what_is_stored_meanwhile_is_found() {
    for steps in 1..14 {
        let mut shelf = filled();
        make_old(&shelf, 999);
        for _ in 0..steps {
            step(&mut shelf);
        }
        add_prompt(&shelf, PROMPTS + 1, "which zeppelin10 is new?", "harbour10");
        check_found(&shelf, PROMPTS + 1, true);
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
fn a_second_change_of_the_terms_begins_anew() {
    for steps in 0..16 {
        let mut shelf = filled();
        make_old(&shelf, 999);
        for _ in 0..steps {
            step(&mut shelf);
        }
        shelf.store.connection.execute("UPDATE passage_index SET terms_version = 998", []).unwrap();
        loop {
            (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
            if !step(&mut shelf) {
                break;
            }
        }
        check_complete(&shelf);
    }
}

#[test]
fn an_index_with_other_rows_is_not_kept() {
    let mut shelf = filled();
    make_old(&shelf, 1);
    step(&mut shelf);
    assert_eq!(shelf.count("SELECT count(*) FROM sqlite_schema WHERE name = 'old_passage_terms'"), 0);
    while step(&mut shelf) {}
    (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
    check_complete(&shelf);
}

/// A memory from before the index has sessions whose replies are not linked to their prompts.
#[test]
fn the_turns_of_a_session_are_linked_in_several_transactions() {
    let mut shelf = filled();
    let before = "INSERT INTO passage_terms (passage_terms) VALUES ('delete-all'); DELETE FROM replies;
                  UPDATE passage_backlog SET todo = 9, total = 9 WHERE source = 'user_prompts';
                  UPDATE passage_backlog SET todo = 1, total = 1 WHERE source = 'sessions';";
    shelf.store.connection.execute_batch(before).unwrap();
    let rows = |shelf: &Shelf| shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'");
    let mut last = 0;
    while step(&mut shelf) {
        assert!(rows(&shelf) <= last + 2, "{} rows after {last}", rows(&shelf));
        last = rows(&shelf);
    }
    (1..=PROMPTS).for_each(|n| check_found(&shelf, n, true));
    check_complete(&shelf);
}
