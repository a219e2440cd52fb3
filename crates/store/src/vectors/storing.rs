//! Storing vectors that have been computed.
//!
//! Computing takes up to minutes, and nothing is locked meanwhile. So the model and every record are examined again in the
//! transaction that stores the vectors.

use longhaul_memory::embedding::Vector;
use rusqlite::{Connection, OptionalExtension};

use super::blocks::{self, Writer};
use super::record_parts::{RecordParts, read_parts};
use super::waiting::Waiting;
use super::{VectorModel, number_of};
use crate::{RecordId, Store, StoreError, cannot};

impl Store {
    /// Stores vectors: for every record of `waiting` one for each part, or `None` for a part that has none.
    ///
    /// A record with fewer vectors than parts was not computed, and waits again. So does one whose text has changed
    /// meanwhile; a record that was forgotten gets none. Returns how many vectors were stored. If the model was deleted
    /// meanwhile, or has other dimensions now, that is an error, and nothing is stored.
    pub fn put_vectors(
        &self,
        model: &VectorModel,
        waiting: &Waiting,
        vectors: &[Vec<Option<Vector>>],
    ) -> Result<usize, StoreError> {
        let action = "store the vectors";
        self.transaction(action, |store| {
            if !is_known(&store.connection, model).map_err(cannot(action))? {
                let failed = cannot("store vectors of a model that was replaced while they were computed");
                return Err(failed(rusqlite::Error::QueryReturnedNoRows));
            }
            put(&store.connection, model, waiting, vectors).map_err(cannot(action))
        })
    }
}

/// Marks a record whose words have changed: its vectors are computed again, by every model that it has some of.
pub(crate) fn have_changed(connection: &Connection, RecordId { what, id }: RecordId) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO vector_slots (model_id, what, record_id, part)
               SELECT DISTINCT model_id, what, record_id, -1 FROM vector_slots WHERE what = ?1 AND record_id = ?2";
    connection.prepare_cached(sql)?.execute((number_of(what), id)).map(drop)
}

/// Deletes the vectors of a record before it is deleted.
pub(crate) fn delete(connection: &Connection, record: RecordId) -> rusqlite::Result<()> {
    blocks::clear(connection, record, None)?;
    let sql = "DELETE FROM vector_slots WHERE what = ?1 AND record_id = ?2";
    connection.prepare_cached(sql)?.execute((number_of(record.what), record.id)).map(drop)
}

/// Returns whether a model is still the same. The number of a deleted one is used again.
fn is_known(connection: &Connection, model: &VectorModel) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM indexes WHERE id = ?1 AND name = ?2 AND form = ?3";
    connection.prepare_cached(sql)?.exists((model.id, &model.name, model.dims as i64))
}

/// What becomes of a record whose vectors were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Its vectors are stored.
    Stored,
    /// They are not: the text has changed, or not all of them were computed.
    Again,
    /// The record was deleted.
    Gone,
}

fn outcome(connection: &Connection, record: &RecordParts, vectors: usize) -> rusqlite::Result<Outcome> {
    Ok(match read_parts(connection, record.id, i64::MAX)? {
        None => Outcome::Gone,
        Some(now) if now.parts != record.parts || now.project != record.project => Outcome::Again,
        Some(_) if vectors < record.parts.len() => Outcome::Again,
        Some(_) => Outcome::Stored,
    })
}

fn put(
    connection: &Connection,
    model: &VectorModel,
    waiting: &Waiting,
    vectors: &[Vec<Option<Vector>>],
) -> rusqlite::Result<usize> {
    let computed = |place: usize| vectors.get(place).map_or(&[][..], Vec::as_slice);
    let mut outcomes = Vec::with_capacity(waiting.records.len());
    for (place, record) in waiting.records.iter().enumerate() {
        let outcome = outcome(connection, record, computed(place).len())?;
        // Before the writer reads a block, because this changes it.
        if outcome == Outcome::Stored {
            blocks::clear(connection, record.id, Some(model))?;
        }
        outcomes.push(outcome);
    }
    let mut stored = 0;
    let mut writer = Writer::new(connection, model);
    for (place, (record, outcome)) in waiting.records.iter().zip(outcomes).enumerate() {
        match outcome {
            Outcome::Stored => {
                for (part, vector) in computed(place).iter().enumerate() {
                    if let Some(vector) = vector.as_ref().filter(|vector| vector.dims() == model.dims) {
                        writer.add(record.id, part, record.project, vector)?;
                        stored += 1;
                    }
                }
                match record.is_open {
                    true => examine_again(connection, model, record.id, Some(record.bytes()))?,
                    false => settle(connection, model, record.id)?,
                }
            }
            Outcome::Again => examine_again(connection, model, record.id, None)?,
            Outcome::Gone => settle(connection, model, record.id)?,
        }
    }
    writer.write()?;
    for record in &waiting.settled {
        if !has_changed(connection, model, *record)? {
            settle(connection, model, *record)?;
        }
    }
    mark_range(connection, model, waiting)?;
    Ok(stored)
}

/// Returns whether a record whose vectors are complete has changed since.
fn has_changed(connection: &Connection, model: &VectorModel, record: RecordId) -> rusqlite::Result<bool> {
    let sql = "SELECT bytes FROM vector_slots WHERE what = ?1 AND record_id = ?2 AND model_id = ?3 AND part = -1";
    let before: Option<Option<i64>> = connection
        .prepare_cached(sql)?
        .query_row((number_of(record.what), record.id, model.id), |row| row.get(0))
        .optional()?;
    let now = read_parts(connection, record, i64::MAX)?.map(|found| found.bytes());
    Ok(before.zip(now).is_some_and(|(before, now)| before != Some(now)))
}

/// Marks a record that is to be examined again. `bytes` is the size of the text that its vectors were computed from.
fn examine_again(
    connection: &Connection,
    model: &VectorModel,
    RecordId { what, id }: RecordId,
    bytes: Option<i64>,
) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO vector_slots (model_id, what, record_id, part, bytes) VALUES (?1, ?2, ?3, -1, ?4)";
    connection.prepare_cached(sql)?.execute((model.id, number_of(what), id, bytes)).map(drop)
}

/// Removes the mark of a record that need not be examined again.
fn settle(connection: &Connection, model: &VectorModel, RecordId { what, id }: RecordId) -> rusqlite::Result<()> {
    let sql = "DELETE FROM vector_slots WHERE what = ?1 AND record_id = ?2 AND model_id = ?3 AND part = -1";
    connection.prepare_cached(sql)?.execute((number_of(what), id, model.id)).map(drop)
}

fn mark_range(connection: &Connection, model: &VectorModel, waiting: &Waiting) -> rusqlite::Result<()> {
    let Some((what, from, to)) = waiting.looked_at else { return Ok(()) };
    let range = format!("$.{}", what.table());
    let sql = "UPDATE indexes SET ranges = json_set(ranges, ?2, json_array(
                   min(coalesce(ranges ->> (?2 || '[0]'), ?3), ?3), max(coalesce(ranges ->> (?2 || '[1]'), ?4), ?4)))
               WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((model.id, range, from, to)).map(drop)
}
