use longhaul_core::Millis;
use tempfile::TempDir;

use super::{Engine, Machine, open, settle};

impl Machine {
    /// Returns a copy of this machine: the same database, on another disk.
    pub(super) fn copy(&self, name: &'static str) -> Self {
        self.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("l.db");
        std::fs::copy(self.folder.path().join("l.db"), &path).unwrap();
        Self { store: open(&path).unwrap(), folder, name, made: self.made, now: self.now }
    }
}

#[test]
fn a_cloned_home_is_noticed_and_gets_an_id_of_its_own() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("before the copy");
    settle(&mut [&mut a, &mut b], &mut engine);
    let mut clone = a.copy("clone");
    a.note("only on a");
    clone.note("only on the clone");
    a.exchange(&mut engine);
    assert!(clone.check_identity(&engine).unwrap());
    assert_ne!(clone.host(), a.host());
    settle(&mut [&mut a, &mut b, &mut clone], &mut engine);
    assert_eq!(a.dump().len(), 3, "{:?}", a.dump());
    assert!(!a.check_identity(&engine).unwrap());
}

#[test]
fn a_clone_that_has_written_as_much_as_the_original_is_noticed_too() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("before the copy");
    a.exchange(&mut engine);
    let mut clone = a.copy("clone");
    a.note("only on a");
    clone.note("only on the clone");
    // Both have added a record with the same idx to their logs. The clone is killed before it sends.
    let _ = clone.exchange_up_to(&mut engine, &mut super::Budget(2));
    a.exchange(&mut engine);
    assert_eq!(clone.store.sync_heads().unwrap(), engine.heads());
    settle(&mut [&mut a, &mut b, &mut clone], &mut engine);
    assert_eq!(b.dump().len(), 3, "{:?}", b.dump());
}

#[test]
fn a_host_restored_from_a_backup_gets_a_new_id_and_everything_back() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("before the backup");
    a.prompt("s-a", "first", "reply");
    a.exchange(&mut engine);
    let mut backup = a.copy("restored");
    a.note("after the backup");
    a.store.forget(crate::RecordId { what: crate::What::Observation, id: 1 }).unwrap();
    a.prompt("s-a", "second", "reply");
    a.exchange(&mut engine);
    drop(a);
    backup.note("made after it was restored");
    backup.now += 3_600_000;
    settle(&mut [&mut backup, &mut b], &mut engine);
    let dump = backup.dump().join("\n");
    assert_eq!(backup.dump().len(), 4, "{dump}");
    assert!(dump.contains("after the backup") && dump.contains("second") && dump.contains("restored"), "{dump}");
    assert!(!dump.contains("before the backup"), "it was forgotten since: {dump}");
    let hosts = backup.store.sync_hosts().unwrap();
    assert_eq!(hosts.iter().filter(|host| host.is_own).count(), 2);
}

#[test]
fn what_was_logged_and_never_confirmed_is_written_again_under_the_new_id() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("sent");
    a.exchange(&mut engine);
    b.exchange(&mut engine);
    let mut clone = a.copy("clone");
    clone.note("not sent");
    clone.note("forgotten");
    clone.store.forget(crate::RecordId { what: crate::What::Observation, id: 3 }).unwrap();
    let _ = clone.exchange_up_to(&mut engine, &mut super::Budget(2));
    a.note("another");
    a.exchange(&mut engine);
    settle(&mut [&mut a, &mut b, &mut clone], &mut engine);
    let dump = b.dump().join("\n");
    assert!(dump.contains("not sent") && dump.contains("another") && !dump.contains("forgotten"), "{dump}");
}

#[test]
fn what_was_not_sent_when_a_home_was_copied_is_not_doubled() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("sent");
    settle(&mut [&mut a, &mut b], &mut engine);
    a.note("not sent");
    let mut clone = a.copy("clone");
    a.exchange(&mut engine);
    // Noticed before it has fetched anything.
    assert!(clone.check_identity(&engine).unwrap());
    settle(&mut [&mut a, &mut b, &mut clone], &mut engine);
    assert_eq!(b.dump().len(), 2, "{:?}", b.dump());
}

#[test]
fn a_process_that_ended_between_sending_and_confirming_is_no_copy() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.note("one");
    let _ = a.exchange_up_to(&mut engine, &mut super::Budget(3));
    assert_eq!((engine.records.len(), a.store.sync_self().unwrap().unwrap().confirmed), (1, 0));
    let host = a.host();
    a.exchange(&mut engine);
    assert_eq!(a.host(), host);
    assert_eq!(a.store.sync_self().unwrap().unwrap().confirmed, 1);
}

#[test]
fn an_engine_that_was_restored_gets_the_missing_records_again() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("one");
    a.exchange(&mut engine);
    let backup = engine.clone();
    a.note("two");
    settle(&mut [&mut a, &mut b], &mut engine);
    let mut restored = backup;
    settle(&mut [&mut a, &mut b], &mut restored);
    assert_eq!(restored.records.len(), 2);
}

#[test]
fn a_clock_that_is_an_hour_ahead_is_noticed_and_corrected() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.now += 3_600_000;
    a.note("from the future");
    a.exchange(&mut engine);
    let page = engine.incoming(a.host(), 0, 9);
    let taken = b.store.take_in_records(&page, Millis(b.now)).unwrap();
    let ahead = taken.clocks_ahead[&a.host()];
    assert!((3_600_000..3_700_000).contains(&ahead), "{ahead}");
    let at = b.count("SELECT created_at FROM observations WHERE title = 'from the future'").unsigned_abs();
    assert_eq!(at, b.now, "not later than the clock of the receiver");
    // The exchange has measured how far the clock is ahead of the engine's.
    a.store.note_host(a.host(), "a", None, Some(3_600_000)).unwrap();
    a.note("corrected");
    a.exchange(&mut engine);
    let before = b.now;
    b.exchange(&mut engine);
    let at = b.count("SELECT created_at FROM observations WHERE title = 'corrected'").unsigned_abs();
    assert!((before..before + 10_000).contains(&at), "{at} is not near {before}");
}

/// A machine that got a new id goes on with what it has made before.
#[test]
fn after_a_new_id_a_change_of_an_older_record_still_reaches_the_others() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", "go", "first");
    a.summary("s-a", "first");
    settle(&mut [&mut a, &mut b], &mut engine);
    let host = a.new_host();
    a.store.renew_host(host, "renewed", Millis(a.now)).unwrap();
    a.store.connection.execute("UPDATE turns SET reply = 'first and second'", []).unwrap();
    a.summary("s-a", "second");
    settle(&mut [&mut a, &mut b], &mut engine);
    let dump = b.dump().join("\n");
    assert!(dump.contains("→ first and second") && dump.contains("learned second"), "{dump}");
    assert_eq!(b.dump().len(), 2, "{dump}");
}

/// The engine and the database of a host were restored: the host writes other records under the same numbers.
#[test]
fn records_that_were_written_again_under_the_same_numbers_are_fetched() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("before the backup");
    a.exchange(&mut engine);
    let (mut backup, mut restored) = (a.copy("restored"), engine.clone());
    a.note("lost");
    settle(&mut [&mut a, &mut b], &mut engine);
    backup.note("written instead");
    backup.exchange(&mut restored);
    let record = &restored.fetch(a.host(), 1, 1)[0];
    assert_eq!((record.idx, b.store.has_record(record).unwrap()), (2, false));
    assert!(b.store.has_record(&restored.fetch(a.host(), 0, 1)[0]).unwrap());
    b.store.rewind_host(a.host(), 1).unwrap();
    b.exchange(&mut restored);
    let dump = b.dump().join("\n");
    assert!(dump.contains("written instead") && dump.contains("lost"), "nothing that is here is lost: {dump}");
    assert!(b.store.has_record(record).unwrap());
}
