//! Searching by words and by the records that are near in meaning.

use std::cell::Cell;

use longhaul_core::Millis;
use longhaul_memory::Query;

use super::Shelf;
use crate::{Compared, NearRecords, Order, RecordId, SearchQuery, What};

fn shelf() -> Shelf {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("p1"), "she bought a telescope", Millis(50)).unwrap();
    shelf.store.remember_prompt("s1", Some("p2"), "lenses are ground by hand", Millis(60)).unwrap();
    shelf
}

/// Returns the titles of what a search finds, and how often it has asked for the records near in meaning.
fn found(shelf: &Shelf, words: &str, order: Order, are_enough: bool) -> (Vec<String>, u32) {
    let query = Query::parse(words);
    let search = SearchQuery { query: Some(&query), order, limit: 10, ..SearchQuery::default() };
    let calls = Cell::new(0);
    let near = || {
        calls.set(calls.get() + 1);
        NearRecords {
            records: vec![(RecordId { what: What::Prompt, id: 2 }, 0.9)],
            are_enough,
            compared: Compared::Vectors,
        }
    };
    let hits = shelf.store.search_with_meaning(&search, near).unwrap();
    (hits.into_iter().map(|hit| hit.title).collect(), calls.get())
}

#[track_caller]
fn check(words: &str, are_enough: bool, expected: &[&str]) {
    let (titles, calls) = found(&shelf(), words, Order::Relevance, are_enough);
    assert_eq!(titles, expected, "{words}");
    assert_eq!(calls, 1, "{words}");
}

#[test]
fn what_is_near_is_added_to_what_words_find() {
    for are_enough in [true, false] {
        check("who bought the telescope", are_enough, &["she bought a telescope", "lenses are ground by hand"]);
    }
}

#[test]
fn what_is_near_is_found_without_words_only_if_it_is_enough() {
    check("optical glass polishing", true, &["lenses are ground by hand"]);
    check("optical glass polishing", false, &[]);
    // Common words find a weak result, to which the rest is added.
    check("she", false, &["she bought a telescope", "lenses are ground by hand"]);
}

#[test]
fn a_change_comes_before_a_decision_only_if_its_meaning_is_near_too() {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 55);
    let decided =
        "Decided: the newsletter goes to customers with consent, addresses of the old import stay in quarantine.";
    let changed = "Decision changed: customers of the last months get the newsletter without consent, addresses stay.";
    shelf.store.remember_prompt("s1", Some("p1"), decided, Millis(50)).unwrap();
    shelf.store.remember_prompt("s2", Some("p2"), changed, Millis(60)).unwrap();
    let (older, newer) = (RecordId { what: What::Prompt, id: 1 }, RecordId { what: What::Prompt, id: 2 });
    let query = Query::parse("legacy mailing list lacking permission");
    let search = SearchQuery { query: Some(&query), limit: 10, ..SearchQuery::default() };
    for (similarity, first) in [(0.3, decided), (0.58, changed)] {
        let near = || NearRecords {
            records: vec![(older, 0.6), (newer, similarity)],
            are_enough: true,
            compared: Compared::Vectors,
        };
        let hits = shelf.store.search_with_meaning(&search, near).unwrap();
        let titles: Vec<&str> = hits.iter().map(|hit| hit.title.as_str()).collect();
        assert_eq!((titles[0], titles.len()), (first, 2), "{similarity}");
    }
}

#[test]
fn a_list_in_the_order_of_time_has_only_what_words_find() {
    let (titles, calls) = found(&shelf(), "telescope", Order::Newest, true);
    assert_eq!(titles, ["she bought a telescope"]);
    assert_eq!(calls, 0);
}

/// With so many records, two threads read them.
#[test]
fn every_one_of_many_records_is_ranked() {
    let shelf = Shelf::new();
    for n in 0..60_u64 {
        let filler = "word ".repeat(60 - n as usize);
        let prompt = format!("telescope number {n} {filler}");
        let session = format!("many{n}");
        shelf.session(&session, "/p", 1_000 + n);
        shelf.store.remember_prompt(&session, Some("p1"), &prompt, Millis(1_000 + n)).unwrap();
    }
    let query = Query::parse("telescope number");
    let search = SearchQuery { query: Some(&query), limit: 100, ..SearchQuery::default() };
    let titles = || -> Vec<String> {
        let hits = shelf.store.search(&search).unwrap();
        hits.iter().map(|hit| hit.title.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
    };
    // A shorter text matches better. The newer a record is, the shorter its text.
    let expected: Vec<String> = (0..60).rev().map(|n| format!("telescope number {n}")).collect();
    assert_eq!(titles(), expected);
    assert_eq!(titles(), titles());
}
