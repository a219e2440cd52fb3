use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Summary};

use super::{Shelf, call, run};
use crate::{NewBookmark, NewNote, NewObservation, RecordId, What};

/// A word that is nowhere by chance. Indexes keep words in small letters, and share the beginnings of neighbours.
pub(super) const SECRET: &str = "zyqxsecretzyqx";

impl Shelf {
    /// Returns whether the file or its WAL has the secret, or enough of it.
    pub(super) fn has_secret(&self) -> bool {
        ["", "-wal"].iter().any(|end| {
            let path = self.path().with_file_name(format!("l.db{end}"));
            let bytes = std::fs::read(path).unwrap_or_default();
            bytes.windows(10).any(|window| SECRET.as_bytes()[2..12] == *window)
        })
    }

    fn checkpoint(&self) {
        self.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }
}

fn secret<'a>(id: &'a str, at: u64) -> NewObservation<'a> {
    NewObservation {
        input: "raw zyqxsecretzyqx in",
        response: "raw zyqxsecretzyqx out",
        ..run(id, Kind::Command, 3, at)
    }
}

/// Other records around those that are to be forgotten.
fn fill(shelf: &mut Shelf) {
    let ids: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
    let title = |n| format!("Edited number {n} of the zyqsomething files and zyqx others {n}");
    let calls: Vec<_> = ids.iter().zip(10_u64..).map(|(id, n)| call(id, Kind::Change, &title(n), n)).collect();
    shelf.take("s1", &calls[..150]);
    let mut calls: Vec<_> = calls.into_iter().skip(150).collect();
    shelf.take("s1", &calls.split_off(75));
    shelf.take("s1", &calls);
}

#[test]
fn a_forgotten_observation_is_gone_from_the_file_and_stays_so() {
    let mut shelf = Shelf::new();
    fill(&mut shelf);
    let mut secret_call = secret("a", 900);
    secret_call.observation.title = format!("Ran {SECRET}");
    secret_call.observation.files_read = vec![format!("src/{SECRET}.rs")];
    shelf.take(
        "s1",
        &[secret_call.clone(), NewObservation { at: Millis(901), tool_use_id: "b", ..secret_call.clone() }],
    );
    let id = shelf.count("SELECT id FROM observations WHERE tool_use_id = 'a'");
    shelf.checkpoint();
    assert!(shelf.has_secret());

    let record = RecordId { what: What::Observation, id };
    assert!(shelf.store.forget(record).unwrap());
    assert!(!shelf.store.forget(record).unwrap());
    assert!(!shelf.has_secret());
    shelf.is_sound();
    assert_eq!(shelf.take("s1", &[secret_call.clone(), NewObservation { tool_use_id: "b", ..secret_call }]).known, 2);
    shelf.checkpoint();
    assert!(!shelf.has_secret());
    // Nobody else gets its number.
    shelf.take("s1", &[call("next", Kind::Change, "Edited", 999)]);
    assert_eq!(shelf.count("SELECT max(id) FROM observations"), id + 1);
}

#[test]
fn a_forgotten_prompt_is_gone_from_everywhere() {
    let mut shelf = Shelf::new();
    fill(&mut shelf);
    let prompt = format!("use the password {SECRET} please");
    shelf.store.count_prompt("s1", Some(&prompt)).unwrap();
    shelf.store.remember_prompt("s1", Some("p"), &prompt, Millis(5)).unwrap();
    shelf.store.keep_reply("s1", "hook:1", Some(&prompt), "yes", Millis(6)).unwrap();
    let summary = Summary::new(prompt.clone());
    shelf.store.write_summary("s1", 1, &summary, MadeBy::Rule, Millis(7)).unwrap();
    shelf.checkpoint();
    assert!(shelf.has_secret());
    assert!(shelf.store.forget(RecordId { what: What::Prompt, id: 1 }).unwrap());
    assert!(!shelf.has_secret());
    shelf.is_sound();
}

#[test]
fn a_forgotten_session_stays_forgotten_and_goes_on() {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 1);
    let prompt = format!("do {SECRET}");
    shelf.store.count_prompt("s1", Some(&prompt)).unwrap();
    shelf.store.remember_prompt("s1", Some("p"), &prompt, Millis(5)).unwrap();
    let note = format!("at {SECRET}");
    let bookmark = NewBookmark { session: "s1", note: Some(&note), ..NewBookmark::default() };
    shelf.store.add_bookmark(&bookmark).unwrap();
    shelf.take("s1", &[secret("a", 6), secret("b", 7)]);
    shelf.take("s2", &[call("c", Kind::Change, "Edited", 6)]);
    assert_eq!(shelf.count("SELECT count(*) FROM known_ids WHERE id = 'b' AND same_as = 'a'"), 1);
    assert!(shelf.store.forget_session("s1", Millis(10)).unwrap());
    assert!(!shelf.store.forget_session("nobody", Millis(10)).unwrap());
    assert!(!shelf.has_secret());
    assert_eq!(shelf.count("SELECT count(*) FROM known_ids"), 0);
    // An import brings the past, a hook the present.
    assert_eq!(shelf.take("s1", &[secret("a", 6)]).known, 1);
    assert_eq!(shelf.store.remember_prompt("s1", Some("p"), &prompt, Millis(5)).unwrap(), None);
    assert_eq!(shelf.take("s1", &[call("d", Kind::Change, "Edited", 11)]).stored, 1);
    assert_eq!(shelf.count("SELECT count(*) FROM observations"), 2);
    assert_eq!(shelf.count("SELECT observations FROM projects"), 2);
    shelf.is_sound();
}

#[test]
fn a_forgotten_project_takes_its_notes_along() {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 1);
    shelf.session("s3", "/q", 1);
    let note = NewNote { session: None, project_key: "/p", project: "p", title: SECRET, text: SECRET, at: Millis(5) };
    shelf.store.save_note(&note).unwrap();
    for (session, id) in [("s1", "a"), ("s2", "b")] {
        shelf.take(session, &[secret(id, 6)]);
    }
    for (session, id) in [("s1", "a again"), ("s2", "b again")] {
        assert_eq!(shelf.take(session, &[secret(id, 7)]).folded, 1);
    }
    shelf.take("s3", &[call("c", Kind::Change, "Edited", 6)]);
    // A call that is to be forgotten.
    shelf.store.connection.execute("INSERT INTO known_ids (scope, id) VALUES ('a call', 'd')", []).unwrap();
    assert_eq!(shelf.store.forget_project("/p", Millis(10)).unwrap(), 2);
    assert!(!shelf.has_secret());
    assert_eq!(shelf.count("SELECT count(*) FROM known_ids"), 1, "what is to be forgotten stays so");
    assert_eq!(shelf.count("SELECT count(*) FROM observations"), 1);
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 1);
    shelf.is_sound();
}

#[test]
fn old_raw_text_goes_and_what_is_remembered_stays() {
    let shelf = Shelf::new();
    let long = "x".repeat(10_000);
    let ids: Vec<String> = (0..50).map(|n| format!("t{n}")).collect();
    let calls: Vec<_> = ids
        .iter()
        .zip(100_u64..)
        .map(|(id, at)| NewObservation { response: &long, ..call(id, Kind::Command, "Ran make", at) })
        .collect();
    shelf.take("s1", &calls);
    assert_eq!(shelf.store.newest_record().unwrap(), Some(Millis(149)), "nothing is older than this allows");
    let before = shelf.store.stats().unwrap().bytes;
    let pruned = shelf.store.prune(Millis(140), 15).unwrap();
    assert_eq!((pruned.rows, pruned.more), (15, true));
    let pruned = shelf.store.prune(Millis(140), 1_000).unwrap();
    assert_eq!((pruned.rows, pruned.more), (25, false));
    assert_eq!(shelf.store.prune(Millis(140), 1_000).unwrap().rows, 0);
    let stats = shelf.store.stats().unwrap();
    assert_eq!((stats.observations, stats.details), (50, 10));
    assert!(stats.bytes + 40 * 10_000 <= before, "{} of {before}", stats.bytes);
    // Taking it in again does not bring it back.
    assert_eq!(shelf.take("s1", &calls).known, 50);
    assert_eq!(shelf.store.stats().unwrap().details, 10);
    shelf.is_sound();
}

#[test]
fn a_vacuum_changes_nothing_that_is_stored() {
    let mut shelf = Shelf::new();
    fill(&mut shelf);
    let page = shelf.store.page_records("/p", 500, 0).unwrap();
    shelf.store.vacuum().unwrap();
    assert_eq!(shelf.store.page_records("/p", 500, 0).unwrap(), page);
    shelf.store.rebuild_indexes().unwrap();
    shelf.is_sound();
}
