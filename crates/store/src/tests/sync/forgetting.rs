use longhaul_core::Millis;
use longhaul_sync::{EntityId, HostId, Record};

use super::{Engine, Machine, settle};
use crate::{RecordId, What};

const SECRET: &str = "zyqxsecretzyqx";

fn prompt() -> RecordId {
    RecordId { what: What::Prompt, id: 1 }
}

impl Machine {
    /// Returns whether the file or its WAL has the secret.
    fn has_secret(&self) -> bool {
        self.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        ["l.db", "l.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(self.folder.path().join(name)).unwrap_or_default();
            bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
        })
    }
}

impl Machine {
    /// Returns the entity that was added to the log last.
    fn newest_entity(&self) -> EntityId {
        let sql = "SELECT entity FROM sync_log WHERE entity IS NOT NULL ORDER BY host_id DESC, idx DESC";
        EntityId::from_bytes(self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap())
    }
}

fn two_with_secret() -> (Machine, Machine, Engine) {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", &format!("the password is {SECRET}"), &format!("{SECRET} noted"));
    a.prompt("s-a", "another", "reply");
    a.summary("s-a", &format!("about {SECRET}"));
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(a.has_secret() && b.has_secret());
    (a, b, engine)
}

#[test]
fn what_is_forgotten_where_it_was_made_is_gone_everywhere_and_its_payload_from_the_engine() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.store.forget(prompt()).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert!(!a.has_secret() && !b.has_secret());
    assert_eq!(b.dump().len(), 1, "{:?}", b.dump());
    assert_eq!(engine.payloads(), 2, "the other prompt and the tombstone");
}

#[test]
fn what_another_host_has_made_is_forgotten_on_this_host_only() {
    let (mut a, mut b, mut engine) = two_with_secret();
    let before = (a.dump(), engine.payloads());
    b.store.forget(prompt()).unwrap();
    for _ in 0..2 {
        b.exchange(&mut engine);
        a.exchange(&mut engine);
    }
    assert!(!b.has_secret());
    assert_eq!(b.dump().len(), 1, "{:?}", b.dump());
    assert_eq!((a.dump(), engine.payloads()), before);
    let mut c = Machine::sharing("c");
    settle(&mut [&mut a, &mut c], &mut engine);
}

/// Neither where the record was made nor on a third host, whether the tombstone comes before its record or behind it.
#[test]
fn a_forged_forgetting_deletes_nothing_of_another_host() {
    for id in [0x00, 0xff] {
        let (mut a, mut b, mut engine) = two_with_secret();
        // The order of the ids decides which records are fetched first.
        let mallory = HostId::from_bytes([id; 16]);
        let sql = "SELECT uid FROM turns WHERE uid IS NOT NULL
                   UNION SELECT uid FROM session_summaries ORDER BY 1";
        let mut entities: Vec<EntityId> = a
            .store
            .connection
            .prepare(sql)
            .unwrap()
            .query_map([], |row| row.get(0).map(EntityId::from_bytes))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        // That of the next note can be computed.
        let mut probe = a.copy("probe");
        probe.note("not in the log yet");
        let _ = probe.exchange_up_to(&mut engine.clone(), &mut super::Budget(2));
        entities.push(probe.newest_entity());
        let before = a.dump();
        engine.forge(mallory, Record::Forgetting(entities));
        a.exchange(&mut engine);
        b.exchange(&mut engine);
        assert_eq!((&a.dump(), &b.dump()), (&before, &before));
        let mut c = Machine::sharing("c");
        a.note("not in the log yet");
        settle(&mut [&mut a, &mut b, &mut c], &mut engine);
        assert_eq!(c.dump().len(), before.len() + 1, "{:?}", c.dump());
        assert_eq!(engine.records.values().filter(|record| record.payload.is_none()).count(), 0);
    }
}

#[test]
fn a_record_that_was_forgotten_before_it_was_sent_never_reaches_the_engine() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.prompt("s-a", SECRET, "reply");
    let _ = a.exchange_up_to(&mut engine, &mut super::Budget(2));
    assert_eq!((engine.records.len(), a.store.sync_counts().unwrap().unsent), (0, 1), "it is in the log only");
    a.store.forget(prompt()).unwrap();
    a.exchange(&mut engine);
    assert_eq!((engine.records.len(), engine.payloads()), (2, 1));
}

#[test]
fn a_host_that_joins_later_gets_nothing_of_what_was_forgotten() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.store.forget(prompt()).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    let mut c = Machine::sharing("c");
    settle(&mut [&mut a, &mut b, &mut c], &mut engine);
    assert_eq!(c.dump().len(), 1);
    assert!(!c.has_secret());
}

#[test]
fn deleting_a_project_here_deletes_own_records_everywhere_and_those_of_others_only_here() {
    let (mut a, mut b, mut engine) = two_with_secret();
    b.note("made by b");
    settle(&mut [&mut a, &mut b], &mut engine);
    b.store.forget_project("/p", Millis(b.now)).unwrap();
    for _ in 0..2 {
        b.exchange(&mut engine);
        a.exchange(&mut engine);
    }
    assert_eq!(b.dump(), [""; 0]);
    assert!(!b.has_secret());
    assert_eq!(a.dump().len(), 3, "{:?}", a.dump());
    assert!(!a.dump().join("\n").contains("made by b"));
}

#[test]
fn forgetting_a_session_also_forgets_what_comes_of_it_later() {
    let (mut a, mut b, mut engine) = two_with_secret();
    a.call("s-a", "not sent yet");
    let before = a.dump();
    b.now = a.now + 10_000;
    b.store.forget_session("s-a", Millis(b.now)).unwrap();
    for _ in 0..2 {
        a.exchange(&mut engine);
        b.exchange(&mut engine);
    }
    assert_eq!(b.dump(), [""; 0]);
    assert_eq!((a.dump(), engine.payloads()), (before, engine.records.len()));
}

#[test]
fn a_bookmark_is_forgotten_with_its_session() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.bookmark("s-a", SECRET);
    settle(&mut [&mut a, &mut b], &mut engine);
    a.store.forget_session("s-a", Millis(a.now + 1)).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    assert_eq!(b.dump(), [""; 0]);
    assert!(!b.has_secret());
}
