//! The schema, one step per version. A step that has shipped is never edited: a change is a new step. What a hook does
//! if the database is too new is in `runtime/src/hook/failed_job.rs`.

use std::cmp::Ordering;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::{StoreError, cannot};

/// Step n brings `user_version` from n to n + 1.
pub(crate) const STEPS: &[&str] = &[
    include_str!("migrations/1_bookmarks.sql"),
    include_str!("migrations/2_agents.sql"),
    include_str!("migrations/3_context.sql"),
    include_str!("migrations/4_handoff.sql"),
    include_str!("migrations/5_continuation.sql"),
    include_str!("migrations/6_memory.sql"),
    include_str!("migrations/7_model.sql"),
    include_str!("migrations/8_bridge.sql"),
    include_str!("migrations/9_moved_in.sql"),
    include_str!("migrations/10_pending_replies.sql"),
    include_str!("migrations/11_prompts_by_id.sql"),
    include_str!("migrations/12_passages.sql"),
    include_str!("migrations/13_vectors.sql"),
    include_str!("migrations/14_model_batches.sql"),
    include_str!("migrations/15_index_terms.sql"),
    include_str!("migrations/16_forgotten_prompts.sql"),
    include_str!("migrations/17_summary_exchanges.sql"),
    include_str!("migrations/18_snapshots.sql"),
    include_str!("migrations/19_notifications.sql"),
    include_str!("migrations/20_session_places.sql"),
    include_str!("migrations/21_sync.sql"),
    include_str!("migrations/22_unreported_rewinds.sql"),
    include_str!("migrations/23_sync_keys.sql"),
];

/// The schema that has the index of passages.
const INDEX_STEP: u32 = 12;

/// Updates the schema to the current version.
pub(crate) fn run(connection: &mut Connection, path: &Path, patience: Duration) -> Result<(), StoreError> {
    let read =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0));
    let known = STEPS.len() as u32;
    let found = read(connection).map_err(|error| StoreError::open(path, error))?;
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known });
    }
    let failed = cannot("update the database's schema");
    if found == 0 {
        // This works only while the file has no page; later the whole file would have to be rewritten.
        connection.pragma_update(None, "auto_vacuum", "incremental").map_err(&failed)?;
    }
    use_wal(connection, patience).map_err(&failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    // Another process may have done it while this one waited for the lock.
    let found = read(&transaction).map_err(&failed)?;
    for step in STEPS.iter().skip(found as usize) {
        transaction.execute_batch(step).map_err(&failed)?;
    }
    crate::recall::backlog::finish_if_new(&transaction).map_err(&failed)?;
    if found < INDEX_STEP {
        // The index has just been made, and is empty.
        crate::recall::index_state::set_current(&transaction).map_err(&failed)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(&failed)?;
    transaction.commit().map_err(failed)?;
    // Every opening reads the WAL, so the schema should not stay in it. While another process reads, a later commit copies
    // it back.
    let _ = connection.pragma_query(None, "wal_checkpoint", |_| Ok(()));
    Ok(())
}

/// Returns whether the database is of this version.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(found == STEPS.len() as u32)
}

/// Returns an error if the database is of another version.
pub(crate) fn must_be_current(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let found: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| StoreError::open(path, error))?;
    let known = STEPS.len() as u32;
    let path = || path.to_owned();
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::TooOld { path: path(), found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::TooNew { path: path(), found, known }),
    }
}

/// Switches to the write-ahead log, which the file keeps from then on.
///
/// If several processes create the database at the same moment, SQLite refuses the switch without calling the
/// busy handler. It is tried again for as long as `patience` allows.
fn use_wal(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}
