//! An exchange holds the write lock for a short time only: hooks wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use longhaul_core::Millis;
use longhaul_sync::IdxRange;

use super::{Engine, Machine};

/// Counts the transactions that `work` commits.
fn commits(machine: &mut Machine, work: impl FnOnce(&mut Machine)) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let count_one = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        false
    };
    machine.store.connection.commit_hook(Some(count_one)).unwrap();
    work(machine);
    count.load(Ordering::Relaxed)
}

#[test]
fn at_most_a_hundred_records_are_written_at_once() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    (0..250).for_each(|number| a.note(&format!("note {number}")));
    let scan = a.scan();
    let mut made = 0_u64;
    let logged = commits(&mut a, |a| {
        let random = &mut || {
            made += 1;
            let mut bytes = [0; 10];
            bytes[..8].copy_from_slice(&made.to_be_bytes());
            Ok(bytes)
        };
        a.store.log_changes(scan, random).unwrap();
    });
    assert_eq!(logged, 3);
    a.exchange(&mut engine);
    let page = engine.incoming(a.host(), 0, 999);
    let taken = commits(&mut b, |b| assert_eq!(b.store.take_in_records(&page, Millis(b.now)).unwrap().applied, 250));
    assert_eq!(taken, 3);
}

/// Looking for changes and reading what to send only reads.
#[test]
fn an_exchange_without_anything_new_needs_no_write_lock() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.note("note");
    a.prompt("s-a", "question", "answer");
    a.exchange(&mut engine);
    let other = rusqlite::Connection::open(a.folder.path().join("l.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    a.store.set_patience(Duration::ZERO);
    let logged = a.store.log_changes(a.scan(), &mut || unreachable!("nothing is new")).unwrap();
    assert_eq!(logged.records, 0);
    let range = IdxRange { host: a.host(), after: 0, through: 2 };
    assert_eq!(a.store.records_to_send(range, 10, a.scan()).unwrap().len(), 2);
    assert_eq!(a.store.damaged_ranges(Millis(a.now), 10).unwrap(), []);
    assert_eq!(a.store.records_that_wait(10).unwrap(), []);
}
