//! What every engine does. Both engines pass the same checks.

use std::thread;

use longhaul_sync::{CircleHeader, Heads, HostId, IdxRange, SealedRecord};
use tempfile::tempdir;

use super::postgres_server::PostgresServer;
use super::records::{header, host, key, record, records};
use crate::{Engine, EngineAddress, EngineError, EngineHost, PageLimit, RecordPlace};

const ALL: PageLimit = PageLimit { records: 10_000, bytes: 100 << 20 };

#[test]
fn a_folder_is_an_engine() {
    let dir = tempdir().unwrap();
    let address = EngineAddress::parse(&format!("folder:{}/circle", dir.path().display()), None).unwrap();
    check_engine(&|| address.connect(None).unwrap());
}

#[test]
fn postgres_is_an_engine() {
    let Some(server) = PostgresServer::start() else { return };
    let address = EngineAddress::parse(&server.new_database("team"), None).unwrap();
    check_engine(&|| address.connect(None).unwrap());
}

/// Checks an engine that is empty yet. `connect` returns one more connection to it.
fn check_engine(connect: &(dyn Fn() -> Box<dyn Engine> + Sync)) {
    let engine = &mut *connect();
    creates_one_circle(engine);
    stores_records_once(engine);
    returns_pages(engine);
    refuses_a_second_record_with_the_same_number(engine);
    erases_payloads_for_good(engine);
    lists_hosts(engine);
    assert_eq!(engine.first_double(host(3)).unwrap(), None);
    replaces_the_header_once(engine);
    several_write_at_once(connect);
}

fn range(host: HostId, after: u64, through: u64) -> IdxRange {
    IdxRange { host, after, through }
}

fn all(engine: &mut dyn Engine, host: HostId) -> Vec<SealedRecord> {
    engine.fetch(range(host, 0, u64::from(u32::MAX)), ALL).unwrap()
}

fn place(record: &SealedRecord) -> RecordPlace {
    RecordPlace { host: record.host, idx: record.idx, id: record.id }
}

fn creates_one_circle(engine: &mut dyn Engine) {
    // A folder that is made only now does not exist.
    assert!(matches!(engine.overview(), Ok(None) | Err(EngineError::Unreachable { .. })));
    assert_eq!(engine.create(&header()).unwrap(), [""; 0]);
    assert!(matches!(engine.create(&header()), Err(EngineError::CircleExists(_))));
    let overview = engine.overview().unwrap().unwrap();
    assert_eq!((overview.header, overview.heads), (header(), Heads::new()));
}

fn stores_records_once(engine: &mut dyn Engine) {
    let host = host(1);
    for page in [1..=3, 1..=3, 2..=5, 6..=6] {
        engine.insert(&records(host, page)).unwrap();
    }
    engine.insert(&[]).unwrap();
    assert_eq!(engine.overview().unwrap().unwrap().heads, Heads::from([(host, 6)]));
    assert_eq!(all(engine, host), records(host, 1..=6));
}

fn returns_pages(engine: &mut dyn Engine) {
    let host = host(2);
    let stored = records(host, 1..=7);
    engine.insert(&stored).unwrap();
    let size = stored[0].payload.as_ref().unwrap().len();
    let mut check = |after, through, records, bytes, expected: &[SealedRecord]| {
        let page = engine.fetch(range(host, after, through), PageLimit { records, bytes }).unwrap();
        assert_eq!(page, expected, "after {after}, {records} records, {bytes} bytes");
    };
    check(2, 7, 3, 1 << 20, &stored[2..5]);
    check(2, 4, 3, 1 << 20, &stored[2..4]);
    check(0, 7, 100, 1, &stored[..1]);
    check(0, 7, 100, size * 2, &stored[..2]);
    check(7, 7, 100, 1 << 20, &[]);
    check(7, 20, 100, 1 << 20, &[]);
    assert_eq!(engine.fetch(range(super::records::host(99), 0, 9), ALL).unwrap(), []);
}

fn refuses_a_second_record_with_the_same_number(engine: &mut dyn Engine) {
    let host = host(3);
    engine.insert(&records(host, 1..=5)).unwrap();
    let page: Vec<SealedRecord> = (4..=8).map(|idx| record(host, idx, if idx == 4 { 0 } else { 1 })).collect();
    match engine.insert(&page) {
        Err(EngineError::Clash { host: clashing, idx }) => assert_eq!((clashing, idx), (host, 5)),
        other => panic!("{other:?}"),
    }
    assert_eq!(all(engine, host), records(host, 1..=5), "nothing of the page is stored");
}

fn erases_payloads_for_good(engine: &mut dyn Engine) {
    let host = host(4);
    let mut stored = records(host, 1..=5);
    engine.insert(&stored).unwrap();
    let absent = place(&record(host, 9, 0));
    let other_id = place(&record(host, 1, 7));
    let places = [place(&stored[1]), place(&stored[3]), absent, other_id];
    for _ in 0..2 {
        let mut erased = engine.erase(&places).unwrap();
        erased.sort_unstable();
        assert_eq!(erased, [stored[1].id, stored[3].id]);
    }
    let with_payload = stored.clone();
    stored[1].payload = None;
    stored[3].payload = None;
    assert_eq!(all(engine, host), stored);
    // A host that was interrupted sends the same page again.
    engine.insert(&with_payload).unwrap();
    assert_eq!(all(engine, host), stored);
    assert_eq!(engine.overview().unwrap().unwrap().heads[&host], 5);
    assert_eq!(engine.erase(&[]).unwrap(), []);
}

fn lists_hosts(engine: &mut dyn Engine) {
    let named =
        |number, name: &str, seen_ms| EngineHost { host: host(number), name: name.into(), seen_ms, clock_ahead_ms: 0 };
    let hosts = |engine: &mut dyn Engine| {
        let mut hosts = engine.hosts().unwrap();
        hosts.iter_mut().for_each(|host| host.clock_ahead_ms = 0);
        hosts.sort_by_key(|host| host.seen_ms);
        hosts
    };
    assert_eq!(engine.hosts().unwrap(), []);
    for entry in [named(1, "one", 5), named(2, "two", 6), named(1, "other", 7)] {
        engine.put_host(&entry).unwrap();
    }
    assert_eq!(hosts(engine), [named(2, "two", 6), named(1, "other", 7)]);
    engine.remove_host(host(2)).unwrap();
    engine.remove_host(host(2)).unwrap();
    assert_eq!(hosts(engine), [named(1, "other", 7)]);
    assert!(engine.overview().unwrap().unwrap().heads.contains_key(&host(2)), "its records stay");
}

fn replaces_the_header_once(engine: &mut dyn Engine) {
    let ring = header().unlock(&key()).unwrap();
    let rotated = CircleHeader::rotated(&ring, &longhaul_sync::CircleKey::new([9; 32]), || [4; 24]);
    engine.replace_header(&rotated).unwrap();
    assert!(matches!(engine.replace_header(&rotated), Err(EngineError::HeaderChanged)));
    assert_eq!(engine.overview().unwrap().unwrap().header, rotated);
}

/// Two hosts write different records, and two processes of one host the same ones.
fn several_write_at_once(connect: &(dyn Fn() -> Box<dyn Engine> + Sync)) {
    let write = |number: u8| {
        let mut engine = connect();
        for first in (1..=200).step_by(10) {
            engine.insert(&records(host(number), first..=first + 9)).unwrap();
        }
    };
    thread::scope(|scope| {
        for number in [10, 11, 12, 12] {
            scope.spawn(move || write(number));
        }
    });
    let mut engine = connect();
    for number in [10, 11, 12] {
        assert_eq!(all(&mut *engine, host(number)), records(host(number), 1..=200), "host {number}");
    }
}
