//! The schema, one step per version. A step that has shipped is never edited: a change is a new step.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{SqliteError, StoreError, cannot};

/// Step n brings `user_version` from n to n + 1.
const STEPS: &[&str] = &[include_str!("migrations/1_bookmarks.sql"), include_str!("migrations/2_agents.sql")];

/// Brings the schema up to date.
pub(crate) fn run(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let read =
        |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0));
    let known = STEPS.len() as u32;
    let found =
        read(connection).map_err(|error| StoreError::Open { path: path.to_owned(), source: SqliteError(error) })?;
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known });
    }
    let failed = cannot("update the database's schema");
    // Kept in the file from then on.
    connection.pragma_update(None, "journal_mode", "wal").map_err(&failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    // Another process may have done it while this one waited for the lock.
    let found = read(&transaction).map_err(&failed)?;
    for step in STEPS.iter().skip(found as usize) {
        transaction.execute_batch(step).map_err(&failed)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(&failed)?;
    transaction.commit().map_err(failed)
}
