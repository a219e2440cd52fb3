//! Records without vectors: which are next, and how many at once.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use super::record_parts::{KINDS, RecordParts, read_parts};
use super::{VectorModel, number_of};
use crate::{RecordId, Store, StoreError, What, cannot};

/// How many records one call returns at most.
const AT_ONCE: i64 = 128;

/// How many observations one call examines at most: most of them get no vector.
const STRIDE: i64 = 20_000;

/// A prompt that is older than this gets no further reply.
const OPEN_MS: u64 = 24 * 3_600_000;

/// Counts the records that were examined for a model.
pub(super) const LOOKED_AT: &str = "SELECT coalesce(sum((j.value ->> 1) - (j.value ->> 0) + 1), 0) FROM indexes i, json_each(i.ranges) j WHERE i.id = ?1";

/// Counts the records by the highest number of each table; the argument is not used.
pub(super) const RECORDS: &str =
    "SELECT coalesce((SELECT max(id) FROM prompts), 0) + coalesce(sum(seq), 0) FROM sqlite_sequence
     WHERE name IN ('observations', 'session_summaries') AND ?1 = ?1";

/// Records whose vectors are to be computed, and to be passed to [`Store::put_vectors`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The records.
    pub records: Vec<RecordParts>,
    /// The range that was examined: kind, first and last number.
    pub(super) looked_at: Option<(What, i64, i64)>,
    /// Records that need not be examined again: they are gone, or their text does not change any more.
    pub(super) settled: Vec<RecordId>,
}

impl Waiting {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.looked_at.is_none() && self.settled.is_empty()
    }
}

impl Store {
    /// Returns the next records without vectors of `model`: first those that have changed, then new ones, then older
    /// ones, the newest first. Empty where nothing is left, or the vectors of the models `in_use` take as much room as they
    /// may.
    pub fn waiting_for_vectors(
        &self,
        model: &VectorModel,
        in_use: &[String],
        now: Millis,
    ) -> Result<Waiting, StoreError> {
        if self.is_full_of_vectors(in_use)? {
            return Ok(Waiting::default());
        }
        let open_since = now.0.saturating_sub(OPEN_MS) as i64;
        next(&self.connection, model, open_since).map_err(cannot("look for records without vectors"))
    }

    /// Returns whether prompts have come since vectors of `model` were computed last, and there is room for more.
    pub fn has_new_without_vectors(&self, model: &VectorModel, in_use: &[String]) -> Result<bool, StoreError> {
        let newer =
            stretch(&self.connection, model, What::Prompt).map_err(cannot("look for records without vectors"))?;
        Ok(newer.is_some() && !self.is_full_of_vectors(in_use)?)
    }
}

fn next(connection: &Connection, model: &VectorModel, open_since: i64) -> rusqlite::Result<Waiting> {
    let mut waiting = Waiting::default();
    for (record, bytes) in to_redo(connection, model)? {
        match read_parts(connection, record, open_since)? {
            Some(found) if bytes != Some(found.bytes()) => waiting.records.push(found),
            Some(found) if found.is_open => {}
            Some(_) | None => waiting.settled.push(record),
        }
    }
    // What has changed comes first, and a round must not grow without limit.
    if waiting.records.len() >= AT_ONCE as usize {
        return Ok(waiting);
    }
    for what in What::ALL {
        let Some((from, to)) = stretch(connection, model, what)? else { continue };
        for id in eligible(connection, what, from, to)? {
            waiting.records.extend(read_parts(connection, RecordId { what, id }, open_since)?);
        }
        waiting.looked_at = Some((what, from, to));
        break;
    }
    Ok(waiting)
}

/// Returns records to examine again, with the bytes that their vectors were computed from.
fn to_redo(connection: &Connection, model: &VectorModel) -> rusqlite::Result<Vec<(RecordId, Option<i64>)>> {
    // First those whose vectors are missing or outdated. Of the open ones the newest: what is old is settled soon.
    let sql = "SELECT what, record_id, bytes FROM vector_slots WHERE model_id = ?1 AND part = -1
               ORDER BY bytes IS NULL DESC, record_id DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((model.id, AT_ONCE), |row| Ok((row.get::<_, u8>(0)?, row.get(1)?, row.get(2)?)))?;
    let mut records = Vec::new();
    for row in rows {
        let (number, id, bytes) = row?;
        let what = What::ALL.into_iter().find(|what| number_of(*what) == number);
        records.extend(what.map(|what| (RecordId { what, id }, bytes)));
    }
    Ok(records)
}

/// Returns the next range to examine: after the ranges that were examined, else before them.
fn stretch(connection: &Connection, model: &VectorModel, what: What) -> rusqlite::Result<Option<(i64, i64)>> {
    let table = what.table();
    let sql = format!(
        "SELECT coalesce((SELECT max(id) FROM {table}), 0), ranges ->> '$.{table}[0]', ranges ->> '$.{table}[1]'
         FROM indexes WHERE id = ?1"
    );
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, Option<i64>, Option<i64>)> =
        connection.prepare_cached(&sql)?.query_row([model.id], read).optional()?;
    let Some((newest, lowest, highest)) = found else { return Ok(None) };
    let range = lowest.zip(highest);
    let size = if what == What::Observation { STRIDE } else { AT_ONCE };
    Ok(match range {
        None if newest == 0 => None,
        None => Some(((newest - size + 1).max(1), newest)),
        Some((_, highest)) if highest < newest => Some((highest + 1, newest.min(highest + size))),
        Some((lowest, _)) if lowest > 1 => Some(((lowest - size).max(1), lowest - 1)),
        Some(_) => None,
    })
}

/// Returns the records of a stretch that get vectors.
fn eligible(connection: &Connection, what: What, from: i64, to: i64) -> rusqlite::Result<Vec<i64>> {
    let condition = match what {
        What::Prompt => "TRUE".to_owned(),
        What::Observation => format!("kind IN ('{}', '{}')", KINDS[0].as_str(), KINDS[1].as_str()),
        // A later summary of the same session covers the same and more.
        What::Summary => "NOT EXISTS (SELECT 1 FROM session_summaries l
                          WHERE l.session_id = t.session_id AND l.prompt_number > t.prompt_number)"
            .to_owned(),
    };
    let sql = format!("SELECT id FROM {} t WHERE id BETWEEN ?1 AND ?2 AND {condition} ORDER BY id", what.table());
    connection.prepare_cached(&sql)?.query_map((from, to), |row| row.get(0))?.collect()
}
