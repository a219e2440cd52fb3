use std::time::Duration;

use longhaul_core::Millis;
use longhaul_memory::embedding::Vector;
use longhaul_memory::{MadeBy, Summary};

use super::{empty, new_session};
use crate::{NewNote, NewSession, RecordId, Store, VectorModel, What};

pub(super) const DIMS: usize = 16;
pub(super) const DAY: u64 = 24 * 3_600_000;

pub(super) fn in_use() -> Vec<String> {
    vec!["test".to_owned()]
}

/// Computes a vector by which texts are alike that share letters: good enough to be told apart.
pub(super) fn embed(text: &str) -> Option<Vector> {
    let mut values = [0.0_f32; DIMS];
    for byte in text.bytes().filter(u8::is_ascii_alphabetic) {
        values[usize::from(byte) * 7 % DIMS] += 1.0;
    }
    Vector::new(&values)
}

/// Computes all vectors that are missing; returns how many there were.
pub(super) fn catch_up(store: &Store, model: &VectorModel, now: u64) -> usize {
    let mut stored = 0;
    loop {
        let waiting = store.waiting_for_vectors(model, std::slice::from_ref(&model.name), Millis(now)).unwrap();
        if waiting.is_empty() {
            return stored;
        }
        let vectors: Vec<_> =
            waiting.records.iter().map(|record| record.parts.iter().map(|part| embed(part)).collect()).collect();
        stored += store.put_vectors(model, &waiting, &vectors).unwrap();
    }
}

pub(super) struct Memory {
    folder: tempfile::TempDir,
    pub(super) store: Store,
    pub(super) model: VectorModel,
}

impl Memory {
    pub(super) fn new() -> Self {
        let (folder, store) = empty();
        let model = store.vector_model("test", DIMS).unwrap();
        let memory = Self { folder, store, model };
        memory.session("s1", "/p");
        memory
    }

    /// Replaces the connection by one that only reads.
    pub(super) fn read_only(&mut self) {
        self.store = Store::open_to_read(&self.folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
    }

    pub(super) fn session(&self, session: &str, key: &str) {
        let new = NewSession { project: key, project_key: key, project_path: key, ..new_session(session) };
        self.store.register_session(&new).unwrap();
    }

    pub(super) fn prompt(&mut self, session: &str, text: &str, at: u64) -> RecordId {
        self.store.count_prompt(session, Some(text)).unwrap();
        let number = self.store.remember_prompt(session, Some(&format!("{session}-{at}")), text, Millis(at)).unwrap();
        let sql = "SELECT u.id FROM prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE s.session_id = ?1 AND u.prompt_number = ?2";
        let id = self.store.connection.query_row(sql, (session, number), |row| row.get(0)).unwrap();
        RecordId { what: What::Prompt, id }
    }

    pub(super) fn catch_up(&mut self, now: u64) -> usize {
        catch_up(&self.store, &self.model, now)
    }

    pub(super) fn nearest(&self, project: Option<&str>, text: &str) -> Vec<RecordId> {
        let found = self.store.nearest(&self.model, project, &embed(text).unwrap(), 5).unwrap();
        found.into_iter().map(|(record, _)| record).collect()
    }

    pub(super) fn count(&self, sql: &str) -> i64 {
        self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Returns whether the file or its WAL has the bytes of a vector.
    pub(super) fn has_on_disk(&self, vector: &Vector) -> bool {
        ["", "-wal"].iter().any(|end| {
            let bytes = std::fs::read(self.folder.path().join(format!("l.db{end}"))).unwrap_or_default();
            bytes.windows(DIMS).any(|window| window == vector.to_bytes())
        })
    }
}

#[test]
fn records_are_found_by_their_vectors_within_a_project() {
    let mut memory = Memory::new();
    memory.session("s2", "/q");
    let login = memory.prompt("s1", "zzz login login", 10);
    let cache = memory.prompt("s1", "the cache is stale", 20);
    let other = memory.prompt("s2", "zzz login login", 30);
    assert_eq!(memory.catch_up(2 * DAY), 3);
    assert_eq!(memory.catch_up(2 * DAY), 0);
    assert_eq!(memory.nearest(Some("/p"), "zzz login login")[0], login);
    assert_eq!(memory.nearest(Some("/q"), "the cache is stale"), [other]);
    assert_eq!(memory.nearest(None, "the cache is stale")[0], cache);
    assert_eq!(memory.nearest(Some("/nowhere"), "zzz"), []);
    let (_, similarity) =
        memory.store.nearest(&memory.model, None, &embed("the cache is stale").unwrap(), 1).unwrap()[0];
    assert!((similarity - 1.0).abs() < 0.02, "{similarity}");
}

#[test]
fn notes_and_last_summaries_have_vectors_and_what_tools_did_has_none() {
    let mut memory = Memory::new();
    memory.prompt("s1", "first", 10);
    let summary = |request: &str| Summary::new(request);
    for (number, request) in [(1, "older words"), (2, "newer words")] {
        memory.store.write_summary("s1", number, &summary(request), MadeBy::Rule, Millis(20)).unwrap();
    }
    super::memory::add_calls(&memory.store, "s1", 300);
    let (title, text) = ("quux", "quux jumps");
    let note = NewNote { session: None, project_key: "/p", project: "p", title, text, at: Millis(40) };
    let note = memory.store.save_note(&note).unwrap();
    memory.catch_up(2 * DAY);
    let kinds =
        "SELECT group_concat(what || ':' || record_id) FROM (SELECT * FROM vector_slots WHERE part >= 0 ORDER BY what)";
    let kept: String = memory.store.connection.query_row(kinds, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, format!("0:1,1:{note},2:2"));
}

#[test]
fn a_forgotten_record_leaves_no_byte_of_its_vector() {
    let mut memory = Memory::new();
    let text = "zyqx xylophone jazz quiz";
    let vector = embed(text).unwrap();
    for n in 0..200_u64 {
        memory.prompt("s1", &format!("prompt number {} of many", "abcdefghij".repeat(n as usize % 7)), 10 + n);
    }
    let secret = memory.prompt("s1", text, 300);
    let last = memory.prompt("s1", "one more after it", 301);
    memory.catch_up(2 * DAY);
    memory.store.settle_writes().unwrap();
    assert!(memory.has_on_disk(&vector));
    assert_eq!(memory.nearest(None, text)[0], secret);

    assert!(memory.store.forget(secret).unwrap());
    assert!(!memory.has_on_disk(&vector));
    assert!(!memory.nearest(None, text).contains(&secret));
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 201);
    // Those around it still have theirs.
    assert_eq!(memory.nearest(None, "one more after it")[0], last);
    assert_eq!(memory.catch_up(2 * DAY), 0);

    memory.store.forget_everything(Millis(3 * DAY)).unwrap();
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 0);
    assert_eq!(memory.nearest(None, "one more after it"), []);
    assert!(!memory.has_on_disk(&embed("one more after it").unwrap()));
    assert_eq!(memory.store.integrity_check().unwrap(), [""; 0]);
}

#[test]
fn a_record_that_is_forgotten_while_its_vector_is_computed_gets_none() {
    let mut memory = Memory::new();
    let secret = memory.prompt("s1", "xylophone", 10);
    let waiting = memory.store.waiting_for_vectors(&memory.model, &in_use(), Millis(DAY)).unwrap();
    memory.store.forget(secret).unwrap();
    let vectors = vec![vec![embed("xylophone")]];
    assert_eq!(memory.store.put_vectors(&memory.model, &waiting, &vectors).unwrap(), 0);
    assert_eq!(memory.nearest(None, "xylophone"), []);
}

#[test]
fn a_reply_that_comes_later_is_part_of_the_vector() {
    let mut memory = Memory::new();
    let prompt = memory.prompt("s1", "what is it", 1_000);
    assert_eq!(memory.catch_up(2_000), 1);
    // Nothing new, and nothing is computed again.
    assert_eq!(memory.catch_up(2_000), 0);
    let reply = "a zigzag puzzle of jazz ".repeat(100);
    memory
        .store
        .connection
        .execute_batch(&format!(
            "UPDATE turns SET number = 1, turn_id = 'u1', role = 'user', reply = '{reply}', passage = id, part = 1,
                              began_at = 1001 WHERE id = {}",
            prompt.id
        ))
        .unwrap();
    assert_eq!(memory.catch_up(3_000), 3);
    assert_eq!(memory.nearest(None, &reply), [prompt]);
    let found = memory.store.nearest(&memory.model, None, &embed(&reply).unwrap(), 5).unwrap();
    assert!(found[0].1 > 0.95, "{found:?}");
    assert_eq!(memory.count("SELECT count(*) FROM vector_slots WHERE part = -1"), 1);
    // A day later no reply is to come any more.
    assert_eq!(memory.catch_up(3 * DAY), 0);
    assert_eq!(memory.count("SELECT count(*) FROM vector_slots WHERE part = -1"), 0);
}

#[test]
fn a_summary_in_other_words_is_computed_again() {
    let mut memory = Memory::new();
    memory.prompt("s1", "first", 10);
    let summary = |request: &str| Summary::new(request);
    memory.store.write_summary("s1", 1, &summary("older words"), MadeBy::Rule, Millis(20)).unwrap();
    memory.catch_up(2 * DAY);
    memory.store.write_summary("s1", 1, &summary("zigzag jazz"), MadeBy::Rule, Millis(30)).unwrap();
    assert_eq!(memory.catch_up(2 * DAY), 1);
    assert_eq!(memory.nearest(None, "zigzag jazz")[0], RecordId { what: What::Summary, id: 1 });
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots WHERE what = 2"), 1);
}

#[test]
fn new_records_come_first_and_an_interruption_loses_nothing() {
    let mut memory = Memory::new();
    for n in 0..300 {
        memory.prompt("s1", &format!("prompt {n}"), 10 + n);
    }
    let first = memory.store.waiting_for_vectors(&memory.model, &in_use(), Millis(DAY)).unwrap();
    assert_eq!(first.records.last().map(|record| record.id.id), Some(300));
    // Interrupted: nothing was given back, and the same comes again.
    assert_eq!(memory.store.waiting_for_vectors(&memory.model, &in_use(), Millis(DAY)).unwrap(), first);
    let vectors: Vec<_> = first.records.iter().map(|record| vec![embed(&record.parts[0])]).collect();
    memory.store.put_vectors(&memory.model, &first, &vectors).unwrap();
    memory.prompt("s1", "the newest", 900);
    let next = memory.store.waiting_for_vectors(&memory.model, &in_use(), Millis(DAY)).unwrap();
    assert!(next.records.iter().any(|record| record.id.id == 301));
    // Given back twice, by two processes that looked at the same moment.
    let again: Vec<_> = next.records.iter().map(|record| vec![embed(&record.parts[0])]).collect();
    memory.store.put_vectors(&memory.model, &next, &again).unwrap();
    memory.store.put_vectors(&memory.model, &next, &again).unwrap();
    memory.catch_up(2 * DAY);
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 301);
    assert_eq!(memory.count("SELECT count(DISTINCT slot) FROM vector_slots"), 301);
    let stats = memory.store.vector_stats().unwrap();
    assert_eq!((stats[0].vectors, stats[0].looked_at, stats[0].records), (301, 301, 301));
}

#[test]
fn a_model_with_other_dimensions_begins_anew_and_models_do_not_mix() {
    let mut memory = Memory::new();
    memory.prompt("s1", "zigzag", 10);
    memory.catch_up(2 * DAY);
    let other = memory.store.vector_model("other", DIMS).unwrap();
    assert_eq!(memory.store.nearest(&other, None, &embed("zigzag").unwrap(), 5).unwrap(), []);
    assert_eq!(catch_up(&memory.store, &other, 2 * DAY), 1);
    assert_eq!(memory.store.nearest(&other, None, &embed("zigzag").unwrap(), 5).unwrap().len(), 1);
    memory.model = memory.store.vector_model("test", 4).unwrap();
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 1);
    assert_eq!(memory.store.nearest(&memory.model, None, &embed("zigzag").unwrap(), 5).unwrap(), []);
}

#[test]
fn vectors_take_at_most_a_share_of_the_file() {
    let mut memory = Memory::new();
    let large = memory.store.vector_model("large", 4_000).unwrap();
    for n in 0..600 {
        memory.prompt("s1", &format!("p{n}"), 10 + n);
    }
    let mut steps = 0;
    loop {
        let waiting = memory.store.waiting_for_vectors(&large, &["large".to_owned()], Millis(DAY)).unwrap();
        if waiting.is_empty() {
            break;
        }
        steps += 1;
        let vector = Vector::new(&[1.0; 4_000]);
        let vectors: Vec<_> = waiting.records.iter().map(|_| vec![vector.clone()]).collect();
        memory.store.put_vectors(&large, &waiting, &vectors).unwrap();
    }
    assert!(steps < 3, "{steps}");
    assert!(memory.count("SELECT count(slot) FROM vector_slots") < 400);
}

#[test]
fn vectors_of_a_replaced_model_go_once_the_new_ones_are_there() {
    let mut memory = Memory::new();
    for n in 0..300 {
        memory.prompt("s1", &format!("prompt {n}"), 10 + n);
    }
    memory.catch_up(2 * DAY);
    let new = memory.store.vector_model("new", DIMS).unwrap();
    let in_use = ["new".to_owned()];
    let drop_some = |store: &Store| store.drop_unused_vectors(&in_use, Millis(2 * DAY), 100).unwrap();
    assert!(!drop_some(&memory.store));
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 300, "they are not replaced yet");
    assert_eq!(catch_up(&memory.store, &new, 2 * DAY), 300);
    // Interrupted after a step, and used under the same name again: what is left of it is not mixed with the new.
    assert!(drop_some(&memory.store));
    let again = memory.store.vector_model("test", DIMS).unwrap();
    assert_eq!(catch_up(&memory.store, &again, 2 * DAY), 300);
    let both = ["new".to_owned(), "test".to_owned()];
    while memory.store.drop_unused_vectors(&both, Millis(2 * DAY), 100).unwrap() {}
    let models = memory.store.vector_stats().unwrap();
    assert_eq!(
        models.iter().map(|stats| (stats.model.as_str(), stats.vectors)).collect::<Vec<_>>(),
        [("new", 300), ("test", 300)]
    );
    memory.model = again;
    let found = memory.store.nearest(&memory.model, None, &embed("prompt 7").unwrap(), 300).unwrap();
    assert_eq!(found.len(), 300, "no vector of the same name was overwritten");
    while drop_some(&memory.store) {}
    assert_eq!(memory.count("SELECT count(*) FROM indexes WHERE id > 0"), 1);
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 300);
    assert_eq!(memory.count("SELECT count(*) FROM vector_blocks"), 3);
}

#[test]
fn vectors_of_a_model_that_is_not_in_use_take_no_room_from_the_others() {
    let mut memory = Memory::new();
    let large = memory.store.vector_model("large", 4_000).unwrap();
    for n in 0..600 {
        memory.prompt("s1", &format!("p{n}"), 10 + n);
    }
    let waiting = memory.store.waiting_for_vectors(&large, &["large".to_owned()], Millis(DAY)).unwrap();
    let vectors: Vec<_> = waiting.records.iter().map(|_| vec![Vector::new(&[1.0; 4_000])]).collect();
    memory.store.put_vectors(&large, &waiting, &vectors).unwrap();
    let both = ["large".to_owned(), "test".to_owned()];
    assert!(memory.store.waiting_for_vectors(&memory.model, &both, Millis(DAY)).unwrap().is_empty(), "no room");
    assert!(!memory.store.waiting_for_vectors(&memory.model, &in_use(), Millis(DAY)).unwrap().is_empty());
}
