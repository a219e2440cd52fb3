//! Waiting while others write.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fs2::FileExt;

use super::{open, place};
use crate::{NewBookmark, Store, StoreError};

fn line_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-line", path.display()))
}

fn write(store: &Store) -> Result<(), StoreError> {
    store.add_bookmark(&NewBookmark { session: "s", ..NewBookmark::default() }).map(drop)
}

/// Opens the database, and writes to it from another thread while this one holds it.
fn write_while_held(path: &Path, patience: Duration, until: impl FnOnce()) -> (Store, Result<(), StoreError>) {
    let holder = open(path).unwrap();
    let waiting = Store::open(path, patience).unwrap();
    thread::scope(|scope| {
        let (held, is_held) = mpsc::channel();
        let writer = scope.spawn(move || {
            is_held.recv().unwrap();
            let written = write(&waiting);
            (waiting, written)
        });
        holder
            .transaction("hold the database", |_| {
                held.send(()).unwrap();
                until();
                Ok::<_, StoreError>(())
            })
            .unwrap();
        writer.join().unwrap()
    })
}

#[test]
fn whoever_waits_is_served_and_leaves_the_line() {
    let (_folder, path) = place();
    let line = line_of(&path);
    // Somebody stands in line, when its file is there and locked.
    let is_waiting = || while !File::open(&line).is_ok_and(|file| file.try_lock_exclusive().is_err()) {};
    let (_store, written) = write_while_held(&path, Duration::from_secs(20), is_waiting);
    written.unwrap();
    // It waits for as long as the place is kept, and no test would end if that were for ever.
    File::open(&line).unwrap().lock_exclusive().unwrap();
}

#[test]
fn a_first_in_line_that_was_stopped_does_not_stop_the_others() {
    let (_folder, path) = place();
    let stopped = File::create(line_of(&path)).unwrap();
    stopped.lock_exclusive().unwrap();
    // Nothing tells that the other has found it locked.
    let long_enough = || thread::sleep(Duration::from_secs(1));
    let (store, written) = write_while_held(&path, Duration::from_secs(3), long_enough);
    written.unwrap();
    assert!(store.is_crowded());
}

#[test]
fn waiting_ends() {
    let (_folder, path) = place();
    let holder = open(&path).unwrap();
    let waiting = Store::open(&path, Duration::from_millis(50)).unwrap();
    let refused = holder.transaction("hold the database", |_| Ok::<_, StoreError>(write(&waiting))).unwrap();
    assert!(refused.unwrap_err().is_busy());
    write(&waiting).unwrap();
}

#[test]
fn emptying_the_wal_does_not_block_whoever_waits_to_write() {
    let (_folder, path) = place();
    let upkeep = Store::open(&path, Duration::from_secs(20)).unwrap();
    let hook = Store::open(&path, Duration::from_secs(1)).unwrap();
    // A reader that has not seen the last write keeps the WAL from being emptied.
    let reader = open(&path).unwrap();
    reader.connection.execute_batch("BEGIN; SELECT count(*) FROM bookmarks;").unwrap();
    write(&hook).unwrap();
    thread::scope(|scope| {
        let emptied = scope.spawn(move || upkeep.empty_wal().unwrap());
        while !emptied.is_finished() {
            write(&hook).unwrap();
        }
        assert!(!emptied.join().unwrap());
    });
    reader.connection.execute_batch("COMMIT;").unwrap();
    assert!(hook.empty_wal().unwrap());
}

/// A hook runs many statements, and the user waits for all of them.
#[test]
fn all_waits_together_have_a_limit() {
    let (_folder, path) = place();
    let (store, holder) = (open(&path).unwrap(), rusqlite::Connection::open(&path).unwrap());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.set_patience(Duration::from_secs(600));
    store.limit_all_waits(Duration::from_millis(50));
    for _ in 0..20 {
        assert!(write(&store).unwrap_err().is_busy());
    }
    holder.execute_batch("ROLLBACK").unwrap();
    write(&store).unwrap();
}
