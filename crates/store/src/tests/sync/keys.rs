//! Keys of the circle that were replaced, and keys that are not known yet.

use longhaul_core::Millis;
use longhaul_sync::{Body, CircleHeader, CircleKey, EntityId, Entry, Incoming, KeyRing, ObservationBody, Record};

use super::{Engine, Machine, project, ring};

/// The keys after the first one was replaced.
fn second_ring() -> KeyRing {
    let key = CircleKey::new([5; 32]);
    CircleHeader::rotated(&ring(), &key, || [6; 24]).unlock(&key).unwrap()
}

fn note(title: &str) -> Record {
    let mut body = ObservationBody::default();
    body.title = title.to_owned();
    Record::Entry(Box::new(Entry::new(EntityId::of("note", &[title.as_bytes()]), project(), Body::Note(body))))
}

fn open_all(engine: &Engine, ring: &KeyRing) -> Vec<Incoming> {
    engine.records.values().map(|record| Incoming::open(ring, record.clone())).collect()
}

#[test]
fn a_record_with_an_unknown_key_is_fetched_again_when_the_key_is_known() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let host = a.new_host();
    for (number, keys) in [ring(), second_ring(), second_ring()].iter().enumerate() {
        engine.forge_with(keys, host, note(&format!("note {number}")));
    }
    let taken = a.store.take_in_records(&open_all(&engine, &ring()), Millis(a.now)).unwrap();
    assert_eq!((taken.records, taken.without_key, a.dump().len()), (1, 1, 1));
    assert_eq!(a.store.sync_heads().unwrap()[&host], 1);
    let taken = a.store.take_in_records(&open_all(&engine, &second_ring()), Millis(a.now)).unwrap();
    assert_eq!((taken.records, taken.applied, a.dump().len()), (2, 2, 3));
}

/// Whoever has left the circle knows the old key.
#[test]
fn a_host_that_has_the_new_key_writes_nothing_with_the_old_one() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let host = a.new_host();
    engine.forge_with(&ring(), host, note("before"));
    engine.forge_with(&second_ring(), host, note("after"));
    engine.forge_with(&ring(), host, note("forged in one page"));
    let taken = a.store.take_in_records(&open_all(&engine, &second_ring()), Millis(a.now)).unwrap();
    assert_eq!((taken.records, taken.applied, taken.damaged), (3, 2, 1));
    engine.forge_with(&ring(), host, note("forged later"));
    let taken = a.store.take_in_records(&open_all(&engine, &second_ring()), Millis(a.now)).unwrap();
    assert_eq!((taken.records, taken.applied, taken.damaged), (1, 0, 1));
    assert!(!a.dump().join(" ").contains("forged"));
}

#[test]
fn the_highest_number_of_a_key_is_remembered() {
    let a = Machine::new("a");
    let epoch = || a.store.sync_self().unwrap().unwrap().epoch;
    assert_eq!(epoch(), 0);
    for (noted, known) in [(2, 2), (1, 2), (3, 3)] {
        a.store.note_epoch(noted).unwrap();
        assert_eq!(epoch(), known);
    }
}
