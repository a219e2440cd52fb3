use longhaul_core::Millis;
use longhaul_memory::{Kind, Summary};

use super::{Shelf, observation};
use crate::{Moved, MovedCall, MovedIn, MovedTurn, RecordId, What};

pub(super) fn moved<T>(key: &str, at: u64, what: T) -> Moved<T> {
    Moved { key: key.to_owned(), at: Millis(at), what }
}

fn call(key: &str, at: u64) -> Moved<MovedCall> {
    let observation = observation(Kind::Change, &format!("Changed {key}"), "src/a.rs");
    moved(key, at, MovedCall { observation, input: String::new(), response: String::new() })
}

fn summary(key: &str, at: u64, request: &str) -> Moved<Summary> {
    moved(key, at, Summary::new(request))
}

pub(super) fn turns() -> Vec<MovedTurn> {
    vec![
        MovedTurn {
            prompt: Some(moved("p1", 1000, "first question".to_owned())),
            calls: vec![call("o1", 1001), call("o2", 1002)],
            // The later one takes the place of the earlier, before any index knows of that.
            summaries: vec![summary("s1", 1003, "early words"), summary("s2", 1004, "first words")],
        },
        MovedTurn {
            prompt: Some(moved("p2", 900_000, "second question".to_owned())),
            calls: vec![call("o3", 900_001)],
            summaries: Vec::new(),
        },
    ]
}

fn move_in(shelf: &mut Shelf) -> MovedIn {
    shelf.store.bulk().unwrap().move_in("claude-mem", "s1", &turns(), 0).unwrap().unwrap()
}

#[test]
fn what_came_over_is_there_once_and_found() {
    let mut shelf = Shelf::new();
    let first = move_in(&mut shelf);
    assert_eq!((first.prompts, first.observations, first.summaries, first.known), (2, 3, 2, 0));
    let second = move_in(&mut shelf);
    assert_eq!((second.prompts, second.observations, second.summaries, second.known), (0, 0, 0, 7));
    assert_eq!(second.prompt_number, 2);
    shelf.is_sound();
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'changed'"), 3);
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'early AND \"=ws\"'"), 0);
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'words AND \"=ws\"'"), 1);
    assert_eq!(shelf.count("SELECT count(*) FROM observations WHERE made_by = 'model' AND prompt_number = 2"), 1);
}

#[test]
fn what_a_hook_or_a_transcript_has_brought_is_not_doubled() {
    let mut shelf = Shelf::new();
    shelf.store.remember_prompt("s1", Some("client-id"), "first question", Millis(3000)).unwrap();
    let by_rule = Summary::new("wooden");
    shelf.store.write_summary("s1", 1, &by_rule, longhaul_memory::MadeBy::Rule, Millis(3000)).unwrap();
    let first = move_in(&mut shelf);
    assert_eq!((first.prompts, first.known), (1, 1));
    assert_eq!(shelf.count("SELECT count(*) FROM prompts"), 2);
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'wooden'"), 0);
    shelf.is_sound();
}

#[test]
fn what_was_forgotten_does_not_come_back() {
    let mut shelf = Shelf::new();
    move_in(&mut shelf);
    for (what, id) in [(What::Prompt, 1), (What::Observation, 1), (What::Summary, 1)] {
        assert!(shelf.store.forget(RecordId { what, id }).unwrap());
    }
    let second = move_in(&mut shelf);
    assert_eq!((second.prompts, second.observations, second.summaries), (0, 0, 0));
    assert_eq!(shelf.count("SELECT count(*) FROM prompts"), 1);
    shelf.store.forget_session("s1", Millis(2_000_000)).unwrap();
    move_in(&mut shelf);
    assert_eq!(shelf.count("SELECT count(*) FROM observations"), 0);
}

#[test]
fn notes_need_no_session() {
    let mut shelf = Shelf::new();
    let note = moved("n1", 5, ("Zanzibar".to_owned(), "is far".to_owned()));
    for expected in [true, false] {
        let is_new = shelf.store.bulk().unwrap().move_note_in("claude-mem", "/p", "p", &note).unwrap();
        assert_eq!(is_new, expected);
    }
    assert_eq!(shelf.count("SELECT count(*) FROM passage_terms WHERE passage_terms MATCH 'zanzibar'"), 1);
    shelf.is_sound();
}
