//! Vectors whose records or models change while they are computed, and vectors that are deleted.

use longhaul_core::Millis;
use longhaul_memory::embedding::Vector;
use longhaul_memory::{MadeBy, Summary};

use super::vectors::{DAY, DIMS, Memory, embed, in_use};
use crate::{NewNote, RecordId, VectorModel, Waiting, What};

/// A text whose vector no other text of these tests has.
const SECRET: &str = "zyqx xylophone jazz quiz";

impl Memory {
    fn waiting(&self) -> Waiting {
        self.store.waiting_for_vectors(&self.model, &in_use(), Millis(2 * DAY)).unwrap()
    }

    fn note(&self, text: &str) -> RecordId {
        let note = NewNote { session: None, project_key: "/p", project: "p", title: text, text, at: Millis(40) };
        RecordId { what: What::Observation, id: self.store.save_note(&note).unwrap() }
    }

    fn summary(&self, number: i64, request: &str) {
        self.store.write_summary("s1", number, &Summary::new(request), MadeBy::Rule, Millis(20)).unwrap();
    }
}

fn computed(waiting: &Waiting) -> Vec<Vec<Option<Vector>>> {
    waiting.records.iter().map(|record| record.parts.iter().map(|part| embed(part)).collect()).collect()
}

#[test]
fn a_text_that_changes_while_its_vector_is_computed_is_computed_again() {
    let mut memory = Memory::new();
    memory.prompt("s1", "first", 10);
    memory.catch_up(2 * DAY);
    memory.summary(1, "older words");
    let waiting = memory.waiting();
    // There is no vector yet that the trigger could mark.
    memory.summary(1, "zigzag jazz");
    assert_eq!(memory.store.put_vectors(&memory.model, &waiting, &computed(&waiting)).unwrap(), 0);
    assert_eq!(memory.catch_up(2 * DAY), 1);
    let summary = RecordId { what: What::Summary, id: 1 };
    assert_eq!(memory.nearest(None, "zigzag jazz")[0], summary);
    let nearest = memory.store.nearest(&memory.model, None, &embed("zigzag jazz").unwrap(), 1).unwrap();
    assert!(nearest[0].1 > 0.98, "{nearest:?}");

    // There is one, and it is being computed again while the text changes once more.
    memory.summary(1, "middle words");
    let waiting = memory.waiting();
    memory.summary(1, "a quick quiz");
    memory.store.put_vectors(&memory.model, &waiting, &computed(&waiting)).unwrap();
    assert_eq!(memory.catch_up(2 * DAY), 1);
    let nearest = memory.store.nearest(&memory.model, None, &embed("a quick quiz").unwrap(), 1).unwrap();
    assert!(nearest[0] == (summary, nearest[0].1) && nearest[0].1 > 0.98, "{nearest:?}");
    assert_eq!(memory.count("SELECT count(*) FROM vector_slots WHERE part = -1"), 0);
}

#[test]
fn a_summary_can_change_several_times_before_its_vector_is_computed_again() {
    let mut memory = Memory::new();
    memory.prompt("s1", "first", 10);
    memory.summary(1, "older words");
    memory.catch_up(2 * DAY);
    for request in ["zigzag", "jazz", "a quick quiz", "a quick quiz"] {
        memory.summary(1, request);
    }
    assert_eq!(memory.count("SELECT count(*) FROM vector_slots WHERE part = -1 AND bytes IS NULL"), 1);
    assert_eq!(memory.catch_up(2 * DAY), 1);
    let nearest = memory.store.nearest(&memory.model, None, &embed("a quick quiz").unwrap(), 1).unwrap();
    assert!(nearest[0].1 > 0.98, "{nearest:?}");
}

#[test]
fn records_that_were_not_computed_wait_again_and_the_others_are_kept() {
    let mut memory = Memory::new();
    for n in 0..10 {
        memory.prompt("s1", &format!("prompt {}", "abcdefghij".repeat(n as usize)), 10 + n);
    }
    let waiting = memory.waiting();
    let mut vectors = computed(&waiting);
    vectors.truncate(4);
    assert_eq!(memory.store.put_vectors(&memory.model, &waiting, &vectors).unwrap(), 4);
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 4);
    assert_eq!(memory.waiting().records.len(), 6, "only the others are computed again");
    assert_eq!(memory.catch_up(2 * DAY), 6);
    assert_eq!(memory.count("SELECT count(*) FROM vector_slots WHERE part = -1"), 0);
}

#[test]
fn a_record_without_a_vector_is_not_computed_again() {
    let mut memory = Memory::new();
    memory.prompt("s1", "refused", 10);
    memory.prompt("s1", "taken", 11);
    let waiting = memory.waiting();
    let vectors = vec![vec![None], vec![embed("taken")]];
    assert_eq!(memory.store.put_vectors(&memory.model, &waiting, &vectors).unwrap(), 1);
    assert!(memory.waiting().is_empty(), "{:?}", memory.waiting());
}

#[test]
fn a_slow_writer_stores_nothing_for_a_model_that_was_replaced() {
    let mut memory = Memory::new();
    memory.prompt("s1", "zigzag", 10);
    let waiting = memory.waiting();
    let vectors = computed(&waiting);
    let old: VectorModel = memory.model.clone();
    // Another process has found other dimensions. The number of the deleted model is used again.
    let new = memory.store.vector_model("test", 4).unwrap();
    assert_eq!(new.id, old.id);
    let error = memory.store.put_vectors(&old, &waiting, &vectors).unwrap_err();
    assert!(error.to_string().contains("was replaced"), "{error}");
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 0);
    // Nor for one of another name.
    memory.store.drop_vectors(&new).unwrap();
    let other = memory.store.vector_model("other", DIMS).unwrap();
    assert_eq!(other.id, old.id);
    assert!(memory.store.put_vectors(&old, &waiting, &vectors).is_err());
    memory.model = other;
    assert_eq!(memory.nearest(None, "zigzag"), []);
    assert_eq!(memory.catch_up(2 * DAY), 1);
}

#[test]
fn a_project_is_compared_however_many_vectors_of_others_are_newer() {
    let mut memory = Memory::new();
    memory.session("s2", "/q");
    let login = memory.prompt("s1", "zzz login login", 10);
    let cache = memory.prompt("s1", "the cache is stale", 20);
    let note = memory.note("quux jumps");
    let other = memory.prompt("s2", "zzz login login", 30);
    memory.catch_up(2 * DAY);
    // A hundred blocks of other projects.
    let others = "WITH RECURSIVE n (block) AS (SELECT 100 UNION ALL SELECT block + 1 FROM n WHERE block < 199)
                  INSERT INTO vector_blocks (model_id, block, keys, vectors)
                  SELECT ?1, block, zeroblob(128 * 16), zeroblob(128 * 16) FROM n";
    memory.store.connection.execute(others, [memory.model.id]).unwrap();
    let newest = |project: &str, text: &str| {
        let found = memory.store.nearest_of_newest(&memory.model, project, &embed(text).unwrap(), 5).unwrap();
        found.into_iter().map(|(record, _)| record).collect::<Vec<_>>()
    };
    assert_eq!(newest("/p", "zzz login login")[0], login);
    assert_eq!(newest("/p", "the cache is stale")[0], cache);
    assert_eq!(newest("/p", "quux jumps quux jumps")[0], note);
    assert_eq!(newest("/p", "the cache is stale").len(), 3);
    assert_eq!(newest("/q", "zzz login login"), [other]);
    assert_eq!(newest("/nowhere", "zzz"), []);
}

/// Returns how many blocks have vectors of the first project, and how many of these have others, too.
fn blocks_of_first_project(memory: &Memory) -> (i64, i64) {
    let has = |project: i64| {
        format!(
            "EXISTS (SELECT 1 FROM vector_slots s JOIN prompts u ON s.what = 0 AND s.record_id = u.id
                     WHERE s.slot / 128 = b.block AND (u.project_id = 1) = {project})"
        )
    };
    let count = |condition: String| memory.count(&format!("SELECT count(*) FROM vector_blocks b WHERE {condition}"));
    (count(has(1)), count(format!("{} AND {}", has(1), has(0))))
}

#[test]
fn a_project_with_many_prompts_has_its_own_blocks() {
    let mut memory = Memory::new();
    memory.session("s2", "/q");
    let mut at = 0;
    let mut ask = |memory: &mut Memory, session: &str, prompts: usize| {
        for _ in 0..prompts {
            at += 1;
            memory.prompt(session, &format!("question {at}"), at);
        }
    };
    // A small project shares its block with others.
    ask(&mut memory, "s1", 20);
    ask(&mut memory, "s2", 20);
    assert_eq!(memory.catch_up(2 * DAY), 40);
    assert_eq!(blocks_of_first_project(&memory), (1, 1));
    // From 128 prompts on, its vectors are on their own, in the order in which they come.
    for _ in 0..30 {
        ask(&mut memory, "s1", 10);
        ask(&mut memory, "s2", 1);
        assert_eq!(memory.catch_up(2 * DAY), 11);
    }
    let (blocks, mixed) = blocks_of_first_project(&memory);
    assert_eq!((blocks, mixed), (4, 2), "192 of 320 are on their own");
    assert_eq!(memory.count("SELECT count(slot) FROM vector_slots"), 370);
    // Everything is found where it is.
    for text in ["question 1", "question 40", "question 370"] {
        assert_eq!(memory.nearest(None, text).len(), 5);
        let slots = "SELECT count(*) FROM vector_slots s JOIN vector_blocks b ON b.block = s.slot / 128
                     WHERE substr(b.keys, s.slot % 128 * 16 + 9, 8) = zeroblob(8)";
        assert_eq!(memory.count(slots), 0, "{text}");
    }
}

#[test]
fn the_folder_of_a_record_is_known() {
    let mut memory = Memory::new();
    memory.prompt("s1", "first", 10);
    memory.note("quux");
    let folder = |memory: &Memory| memory.waiting().records.first().map(|record| record.folder.clone());
    assert_eq!(folder(&memory).as_deref(), Some("/p"));
    // A session of another host has no folder here, and a note none at all.
    memory.store.connection.execute("UPDATE sessions SET project_path = ''", []).unwrap();
    assert_eq!(folder(&memory).as_deref(), Some("/p"));
    memory.store.connection.execute("UPDATE sessions SET project_path = '/elsewhere'", []).unwrap();
    assert_eq!(folder(&memory).as_deref(), Some("/elsewhere"));
    let waiting = memory.waiting();
    memory.store.put_vectors(&memory.model, &waiting, &computed(&waiting)).unwrap();
    assert_eq!(folder(&memory).as_deref(), Some("/p"), "{:?}", memory.waiting());
}

/// Stores vectors of some records by two models, deletes what has the secret, and searches the file for it.
#[track_caller]
fn leaves_nothing(remember: impl FnOnce(&mut Memory), forget: impl FnOnce(&Memory)) {
    let mut memory = Memory::new();
    memory.prompt("s1", "an ordinary prompt", 10);
    remember(&mut memory);
    memory.catch_up(2 * DAY);
    let other = memory.store.vector_model("other", DIMS).unwrap();
    super::vectors::catch_up(&memory.store, &other, 2 * DAY);
    memory.store.settle_writes().unwrap();
    let vector = embed(SECRET).unwrap();
    assert!(memory.has_on_disk(&vector));
    forget(&memory);
    assert!(!memory.has_on_disk(&vector));
    assert_eq!(memory.store.integrity_check().unwrap(), [""; 0]);
}

#[test]
fn forgetting_a_session_a_project_a_note_or_a_summary_leaves_no_byte_of_their_vectors() {
    let prompt = |memory: &mut Memory| {
        memory.prompt("s1", SECRET, 20);
    };
    leaves_nothing(prompt, |memory| assert!(memory.store.forget_session("s1", Millis(3 * DAY)).unwrap()));
    leaves_nothing(prompt, |memory| assert_eq!(memory.store.forget_project("/p", Millis(3 * DAY)).unwrap(), 1));
    let note = |memory: &mut Memory| {
        memory.note(SECRET);
    };
    let first_note = RecordId { what: What::Observation, id: 1 };
    leaves_nothing(note, |memory| assert!(memory.store.forget(first_note).unwrap()));
    leaves_nothing(note, |memory| assert_eq!(memory.store.forget_project("/p", Millis(3 * DAY)).unwrap(), 1));
    let summary = |memory: &mut Memory| memory.summary(1, SECRET);
    let first_summary = RecordId { what: What::Summary, id: 1 };
    leaves_nothing(summary, |memory| assert!(memory.store.forget(first_summary).unwrap()));
}
