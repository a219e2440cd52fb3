mod forgetting;
mod import_from;
mod index_rebuild;
pub(super) mod indexes;
mod page;
mod recalling;
mod salvaging;
mod search_with_meaning;
mod searching;
mod segments;
mod transcripts;

use std::path::PathBuf;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use tempfile::TempDir;

use super::{empty, new_call, new_session, open};
use crate::{Content, NewNote, NewObservation, NewSession, Reading, RecordId, Store, Taken, What};

struct Shelf {
    folder: TempDir,
    store: Store,
}

impl Shelf {
    fn new() -> Self {
        let (folder, store) = empty();
        let shelf = Self { folder, store };
        shelf.session("s1", "/p", 1);
        shelf
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("l.db")
    }

    fn session(&self, session: &str, key: &str, at: u64) {
        let project = key.trim_start_matches('/');
        let new = NewSession { project, project_key: key, project_path: key, at: Millis(at), ..new_session(session) };
        self.store.register_session(&new).unwrap();
    }

    fn take(&self, session: &str, calls: &[NewObservation<'_>]) -> Taken {
        self.store.take_in(session, calls, None).unwrap().unwrap()
    }

    fn count(&self, sql: &str) -> i64 {
        self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[track_caller]
    fn is_sound(&self) {
        assert_eq!(self.store.integrity_check().unwrap(), [""; 0]);
    }
}

/// Stores so many tool calls of a session.
pub(super) fn add_calls(store: &Store, session: &str, count: u64) {
    let ids: Vec<String> = (0..count).map(|n| format!("many{n}")).collect();
    let calls: Vec<_> =
        ids.iter().zip(100..).map(|(id, at)| call(id, Kind::Command, &format!("Ran {id}"), at)).collect();
    store.take_in(session, &calls, None).unwrap();
}

fn read_to(to: u64) -> Reading<'static> {
    Reading { from: 0, to, is_current: &|| true }
}

fn observation(kind: Kind, title: &str, file: &str) -> Observation {
    let mut observation = Observation::new(kind, "Bash", title);
    observation.narrative = format!("narrative of {title}");
    observation.facts = vec!["exit status 0".to_owned()];
    observation.files_modified.extend((!file.is_empty()).then(|| file.to_owned()));
    observation
}

pub(super) fn call<'a>(id: &'a str, kind: Kind, title: &str, at: u64) -> NewObservation<'a> {
    new_call(id, observation(kind, title, ""), at)
}

fn run<'a>(id: &'a str, kind: Kind, fold: i64, at: u64) -> NewObservation<'a> {
    NewObservation {
        command_key: Some("cargo test"),
        fold_key: Some(fold),
        after_problem: (kind == Kind::Command).then(|| observation(Kind::Fix, "cargo test succeeds again", "")),
        ..call(id, kind, "cargo test", at)
    }
}

fn kinds(shelf: &Shelf) -> Vec<(String, i64)> {
    let mut statement = shelf.store.connection.prepare("SELECT kind, repeats FROM observations ORDER BY id").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_same_calls_again_change_nothing() {
    let shelf = Shelf::new();
    let calls = [
        call("t1", Kind::Change, "Edited a.rs", 2),
        run("t2", Kind::Command, 7, 3),
        run("t3", Kind::Command, 7, 4),
        run("t4", Kind::Command, 8, 5),
    ];
    assert_eq!(shelf.take("s1", &calls), Taken { stored: 3, folded: 1, known: 0 });
    assert_eq!(shelf.take("s1", &calls), Taken { stored: 0, folded: 0, known: 4 });
    assert_eq!(shelf.take("s1", &calls[1..]), Taken { stored: 0, folded: 0, known: 3 });
    assert_eq!(shelf.count("SELECT count(*) FROM observations"), 3);
    assert_eq!(shelf.count("SELECT sum(repeats) FROM observations"), 1);
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 3);
    assert_eq!(shelf.count("SELECT observations FROM projects"), 3);
    shelf.is_sound();
}

#[test]
fn a_session_that_is_not_there_takes_nothing() {
    let shelf = Shelf::new();
    assert_eq!(shelf.store.take_in("other", &[call("t", Kind::Change, "x", 1)], Some(read_to(9))).unwrap(), None);
    assert_eq!(shelf.store.remember_prompt("other", None, "x", Millis(1)).unwrap(), None);
    assert_eq!(shelf.count("SELECT count(*) FROM observations"), 0);
}

#[test]
fn how_far_the_spool_was_read_is_kept_with_what_was_read() {
    let shelf = Shelf::new();
    assert_eq!(shelf.store.spool_position("s1").unwrap(), 0);
    shelf.store.take_in("s1", &[call("t", Kind::Change, "x", 1)], Some(read_to(120))).unwrap();
    assert_eq!(shelf.store.spool_position("s1").unwrap(), 120);
    shelf.store.take_in("s1", &[], None).unwrap();
    let of_another = Reading { from: 120, to: 240, is_current: &|| false };
    shelf.store.take_in("s1", &[], Some(of_another)).unwrap();
    assert_eq!(shelf.store.spool_position("s1").unwrap(), 120);
}

#[test]
fn repeats_fold_only_in_a_row_and_within_a_prompt() {
    let shelf = Shelf::new();
    let other = NewObservation { fold_key: Some(9), ..call("x", Kind::Discovery, "Read b.rs", 3) };
    let later = NewObservation { prompt_number: Some(2), ..run("d", Kind::Command, 7, 5) };
    shelf.take("s1", &[run("a", Kind::Command, 7, 1), run("b", Kind::Command, 7, 2), other]);
    shelf.take("s1", &[run("c", Kind::Command, 7, 4), later]);
    let expected = [("command", 1), ("discovery", 0), ("command", 0), ("command", 0)];
    assert_eq!(kinds(&shelf), expected.map(|(kind, repeats)| (kind.to_owned(), repeats)));
}

#[test]
fn the_first_success_after_a_problem_is_the_fix() {
    let shelf = Shelf::new();
    let calls = [
        run("a", Kind::Command, 1, 1),
        run("b", Kind::Problem, 2, 2),
        run("c", Kind::Problem, 2, 3),
        call("d", Kind::Change, "Edited a.rs", 4),
        run("e", Kind::Command, 1, 5),
        run("f", Kind::Command, 1, 6),
        run("g", Kind::Command, 3, 7),
    ];
    shelf.take("s1", &calls);
    let expected = [("command", 0), ("problem", 1), ("change", 0), ("fix", 1), ("command", 0)];
    assert_eq!(kinds(&shelf), expected.map(|(kind, repeats)| (kind.to_owned(), repeats)));
    shelf.is_sound();
}

#[test]
fn a_problem_in_another_session_makes_no_fix() {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 1);
    shelf.take("s1", &[run("a", Kind::Problem, 1, 1)]);
    shelf.take("s2", &[run("b", Kind::Command, 1, 2)]);
    assert_eq!(shelf.count("SELECT count(*) FROM observations WHERE kind = 'fix'"), 0);
}

#[test]
fn a_prompt_has_the_number_that_was_counted() {
    let shelf = Shelf::new();
    shelf.store.count_prompt("s1", Some("one")).unwrap();
    assert_eq!(shelf.store.remember_prompt("s1", Some("p1"), "one", Millis(1)).unwrap(), Some(1));
    assert_eq!(shelf.store.remember_prompt("s1", Some("p1"), "one", Millis(1)).unwrap(), Some(1));
    // A wholly private one is counted, and nothing of it is kept.
    shelf.store.count_prompt("s1", None).unwrap();
    shelf.store.count_prompt("s1", Some("three")).unwrap();
    assert_eq!(shelf.store.remember_prompt("s1", Some("p3"), "three", Millis(3)).unwrap(), Some(3));
    // From a transcript, nobody has counted it.
    assert_eq!(shelf.store.remember_prompt("s1", Some("p4"), "four", Millis(4)).unwrap(), Some(4));
    assert_eq!(shelf.store.session("s1").unwrap().unwrap().prompts, 4);

    let by_id = NewObservation { prompt_id: Some("p3"), ..call("t1", Kind::Change, "x", 5) };
    shelf.take("s1", &[by_id, call("t2", Kind::Change, "y", 6)]);
    assert_eq!(shelf.count("SELECT prompt_number FROM observations WHERE tool_use_id = 't1'"), 3);
    assert_eq!(shelf.count("SELECT prompt_number FROM observations WHERE tool_use_id = 't2'"), 4);
    shelf.is_sound();
}

#[test]
fn a_rule_never_overwrites_better_words() {
    let shelf = Shelf::new();
    let summary = |request: &str| Summary::new(request);
    let write =
        |request: &str, by: MadeBy| shelf.store.write_summary("s1", 1, &summary(request), by, Millis(2)).unwrap();
    assert!(write("rule one", MadeBy::Rule));
    assert!(!write("rule one", MadeBy::Rule));
    assert!(write("rule two", MadeBy::Rule));
    assert!(write("model", MadeBy::Model));
    assert!(!write("rule three", MadeBy::Rule));
    assert!(write("person", MadeBy::Person));
    assert!(!write("model again", MadeBy::Model));
    let shown = shelf.store.page_sessions("/p", 1).unwrap().remove(0);
    assert_eq!(shown.summary, Some((summary("person"), MadeBy::Person)));
    shelf.is_sound();
}

#[test]
fn whole_records_have_their_raw_text() {
    let shelf = Shelf::new();
    shelf.store.remember_prompt("s1", None, "fix it\nplease", Millis(1)).unwrap();
    shelf.take("s1", &[call("t", Kind::Command, "Ran make", 2)]);
    shelf.store.write_summary("s1", 1, &Summary::default(), MadeBy::Rule, Millis(3)).unwrap();
    let ids: Vec<RecordId> = What::ALL.iter().map(|what| RecordId { what: *what, id: 1 }).collect();
    let records = shelf.store.records(&ids).unwrap();
    assert_eq!(records.len(), 3);
    let Content::Observation { input, output, .. } = &records[1].content else { panic!("{records:?}") };
    assert_eq!((input.as_deref(), output.as_deref()), (Some("raw input"), Some("raw output")));
    assert_eq!(records[1].to_json()["kind"], "command");
    assert_eq!(records[0].to_json()["prompt"], "fix it\nplease");
    assert!(shelf.store.records(&[RecordId { what: What::Prompt, id: 99 }]).unwrap().is_empty());

    // Also after somebody has inherited the session, and when it lives on.
    shelf.session("s2", "/p", 9);
    shelf.store.merge("s1", "s2").unwrap();
    assert_eq!(shelf.store.records(&ids).unwrap(), records);
    shelf.store.count_prompt("s1", Some("again")).unwrap();
    assert_eq!(shelf.store.records(&ids).unwrap(), records);

    let mut seen = Vec::new();
    shelf
        .store
        .export(Some("/p"), |record| {
            seen.push(record.record.what);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, What::ALL);
}

#[test]
fn a_note_needs_no_session() {
    let shelf = Shelf::new();
    let note = NewNote {
        session: None,
        project_key: "/q",
        project: "q",
        title: "Deploy on Tuesdays",
        text: "never on a Friday",
        at: Millis(5),
    };
    let id = shelf.store.save_note(&note).unwrap();
    let in_session = shelf.store.save_note(&NewNote { session: Some("s1"), ..note }).unwrap();
    let records = shelf.store.records(&[id, in_session].map(|id| RecordId { what: What::Observation, id })).unwrap();
    assert_eq!((records[0].session.as_deref(), records[0].project_key.as_str()), (None, "/q"));
    assert_eq!((records[1].session.as_deref(), records[1].project_key.as_str()), (Some("s1"), "/p"));
    assert_eq!(shelf.store.page_records("/q", 5, 5).unwrap()[0].kind, Kind::Note);
    assert!(shelf.store.sessions_of("/q").unwrap().is_empty());
    shelf.is_sound();
}

#[test]
fn statistics_count_what_is_stored() {
    let shelf = Shelf::new();
    for n in 0..10 {
        shelf.take("s1", &[call(&format!("t{n}"), Kind::Change, "Edited a.rs", 100 + n)]);
    }
    let stats = shelf.store.stats().unwrap();
    assert_eq!((stats.observations, stats.oldest, stats.newest), (10, Some(Millis(100)), Some(Millis(109))));
    assert!(shelf.store.sizes().unwrap().iter().any(|(table, bytes)| table == "observations" && *bytes > 0));
}

#[test]
fn two_that_take_the_same_in_at_once_do_it_once() {
    let shelf = Shelf::new();
    let path = shelf.path();
    let ids: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
    let taken: Vec<Taken> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let store = open(&path).unwrap();
                    // Two by two the same, as a loop that waits for something.
                    let calls: Vec<_> = ids.iter().zip(0..).map(|(id, n)| run(id, Kind::Command, n / 2, 5)).collect();
                    let halves = [&calls[..20], &calls[20..]];
                    let taken = halves.map(|half| store.take_in("s1", half, None).unwrap().unwrap());
                    taken.into_iter().fold(Taken::default(), |a, b| Taken {
                        stored: a.stored + b.stored,
                        folded: a.folded + b.folded,
                        known: a.known + b.known,
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let total = |of: fn(&Taken) -> usize| taken.iter().map(of).sum::<usize>();
    assert_eq!((total(|t| t.stored), total(|t| t.folded), total(|t| t.known)), (20, 20, 120));
    shelf.is_sound();
}
