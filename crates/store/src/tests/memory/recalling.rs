//! Searching by wanted words, where many records have them.

use std::time::{Duration, Instant};

use longhaul_core::Millis;
use longhaul_memory::{Kind, Query};

use super::{Shelf, call};
use crate::{Hit, SearchQuery, What};

fn search(shelf: &Shelf, text: &str) -> Vec<Hit> {
    let query = Query::parse(text);
    let search = SearchQuery { query: Some(&query), project_key: Some("/p"), limit: 10, ..SearchQuery::default() };
    shelf.store.search(&search).unwrap()
}

/// Tools print a word thousands of times, and a person has said it once, before all that.
#[test]
fn a_conversation_is_found_behind_thousands_of_tool_calls() {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("p1"), "which zeppelin carries the mail?", Millis(50)).unwrap();
    shelf.store.remember_prompt("s1", Some("p2"), "thanks", Millis(60)).unwrap();
    let ids: Vec<String> = (0..3_200).map(|n| format!("toolu_{n}")).collect();
    let calls: Vec<_> = ids
        .iter()
        .zip(100..)
        .map(|(id, at)| call(id, Kind::Command, &format!("Ran zeppelin --mail {id}"), at))
        .collect();
    shelf.take("s1", &calls);
    for text in ["zeppelin", "zeppelins mail", "which zeppelin carries the mail"] {
        let found = search(&shelf, text);
        assert!(found.iter().any(|hit| hit.record.what == What::Prompt), "{text}: {:?}", found[0]);
    }
    assert_eq!(search(&shelf, "which zeppelin carries the mail")[0].record.what, What::Prompt);
}

/// A hook that finds the database locked leaves its prompt to a later one, which may come after the transcript was read.
#[test]
fn a_reply_is_found_at_a_prompt_that_is_stored_after_it() {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("p1"), "thanks", Millis(50)).unwrap();
    shelf.store.keep_reply("s1", "hook:2", Some("what guards the coast?"), "A lighthouse does.", Millis(60)).unwrap();
    assert_eq!(search(&shelf, "lighthouse")[0].title, "thanks", "there is no other prompt yet");
    shelf.store.remember_prompt("s1", Some("p2"), "what guards the coast?", Millis(55)).unwrap();
    let found = search(&shelf, "lighthouse");
    assert_eq!((found.len(), found[0].title.as_str()), (1, "what guards the coast?"));
}

#[test]
fn a_named_day_ranks_what_was_said_then() {
    let shelf = Shelf::new();
    // 2023-03-01, 2023-05-08 and 2023-09-01.
    for (n, at) in [1_677_672_000_000, 1_683_540_000_000, 1_693_569_600_000].into_iter().enumerate() {
        shelf.session(&format!("day{n}"), "/p", at);
        let prompt = format!("the museum visit, part {n}");
        shelf.store.remember_prompt(&format!("day{n}"), Some(&format!("p{n}")), &prompt, Millis(at)).unwrap();
    }
    let first = |text: &str| search(&shelf, text)[0].title.clone();
    assert_eq!(first("what about the museum visit of 7 May 2023"), "the museum visit, part 1");
    assert_eq!(first("what about the museum visit in March 2023"), "the museum visit, part 0");
    assert_eq!(first("what about the museum visit"), "the museum visit, part 2");
}

#[test]
fn an_irregular_inflection_is_found() {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("p1"), "she bought a telescope", Millis(50)).unwrap();
    shelf.store.remember_prompt("s1", Some("p2"), "he sold a telescope", Millis(60)).unwrap();
    assert_eq!(search(&shelf, "when did she buy it")[0].title, "she bought a telescope");
    assert_eq!(search(&shelf, "selling telescopes")[0].title, "he sold a telescope");
}

/// The amendment shares little with the question, and much with what it amends.
#[test]
fn an_amendment_comes_before_what_it_amends() {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 5_000);
    shelf.session("s3", "/p", 9_000);
    let say = |session: &str, id: &str, text: &str, at: u64| {
        shelf.store.remember_prompt(session, Some(id), text, Millis(at)).unwrap();
    };
    say("s1", "p1", "Decided: amounts are stored as i64 in minor units, no scale column, decision 0004.", 50);
    say(
        "s2",
        "p2",
        "Decision 0004 is amended: amounts are i64 in the currency's minor unit, with a scale column.",
        5_100,
    );
    say("s3", "p3", "Amounts of coffee are stored in the kitchen, next to the window with the broken handle.", 9_100);
    let found = search(&shelf, "how are the amounts stored as minor units");
    assert!(found[0].title.starts_with("Decision 0004 is amended"), "{found:#?}");
    assert!(found.iter().any(|hit| hit.is_older && hit.title.starts_with("Decided")), "{found:#?}");
}

#[test]
fn of_two_decisions_about_the_same_the_older_one_is_marked() {
    let marked = |newer: &str, at: u64, question: &str| {
        let shelf = Shelf::new();
        shelf.session("s2", "/p", 9_000);
        let say = |session: &str, asked: &str, replied: &str, at: u64| {
            shelf.store.remember_prompt(session, Some(session), asked, Millis(at)).unwrap();
            shelf.store.keep_reply(session, "hook:1", Some(asked), replied, Millis(at + 1)).unwrap();
        };
        say("s1", "which broker for sensors?", "We decided on RabbitMQ.", 5_000);
        say("s2", "the broker for sensors in Leipzig", newer, at);
        let older = search(&shelf, question).into_iter().find(|hit| hit.title.starts_with("which"));
        older.is_some_and(|older| older.is_older)
    };
    assert!(marked("Decided: Mosquitto.", 9_000, "broker of the sensors"));
    assert!(marked("Mosquitto replaces RabbitMQ.", 9_000, "broker of the sensors"));
    assert!(!marked("It runs.", 9_000, "broker of the sensors"), "nothing was decided anew");
    assert!(!marked("Decided: Mosquitto.", 9_000, "broker in Leipzig"), "not the same question");
    assert!(!marked("Decided: Mosquitto.", 5_000, "broker of the sensors"), "at the same time");
}

/// Returns text that is no question, each with a name.
fn hostile() -> Vec<(&'static str, String)> {
    let words = |count: usize| (0..count).map(|n| format!("w{n:x}q")).collect::<Vec<_>>().join(" ");
    vec![
        ("nothing", String::new()),
        ("operators", "AND OR NOT NEAR ( ) * ^ : { } + - \"".repeat(50)),
        ("signs", "+ - \" ' ; -- /* */ file: kind: since: +\"\" -\"\"".to_owned()),
        ("a lone quote", "why \"importer stall".to_owned()),
        ("zeroes", "imp\0orter \0 \"\0\"".to_owned()),
        ("emoji", "😀👩‍👩‍👧‍👦🏴‍☠️ importer 🧵".to_owned()),
        ("combining marks", format!("e{}", "\u{301}".repeat(10_000))),
        ("100,000 words", words(100_000)),
        ("10 MB of one word", "a".repeat(10 << 20)),
        ("10 MB of signs", "\"".repeat(10 << 20)),
        ("10 MB of words", "importer stall ".repeat(700_000)),
        ("10 MB of Japanese", "支払期日".repeat(870_000)),
        ("a long path", "a/".repeat(100_000)),
        ("stars", "* a* ** imp*".to_owned()),
        ("right to left", "\u{202e}importer\u{202c} שלום مرحبا".to_owned()),
    ]
}

#[test]
fn a_query_of_any_text_is_answered_soon() {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("p1"), "why does the importer stall?", Millis(50)).unwrap();
    super::add_calls(&shelf.store, "s1", 200);
    for (name, text) in hostile() {
        let began = Instant::now();
        let found = search(&shelf, &text);
        let took = began.elapsed();
        // Without optimization and on a busy machine; with a cost that grows with the square of the text it would be days.
        assert!(took < Duration::from_secs(200), "{name} took {took:?}");
        if ["a lone quote", "emoji", "10 MB of words"].contains(&name) {
            assert_eq!(found.len(), 1, "{name}");
        }
    }
    shelf.is_sound();
}
