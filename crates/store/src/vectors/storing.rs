//! Records without vectors: which are next, how many at once, the parts of their text that vectors are computed from,
//! and storing those.
//!
//! Computing takes up to minutes, and nothing is locked meanwhile. So the model and every record are examined again in
//! the transaction that stores the vectors.

use longhaul_core::Millis;
use longhaul_memory::Kind;
use longhaul_memory::embedding::Vector;
use rusqlite::Connection;

use super::blocks::{self, Writer};
use super::{VectorModel, number_of};
use crate::memory::records::texts;
use crate::recall::replies;
use crate::sql::Sql;
use crate::{RecordId, Store, StoreError, What, cannot};

/// Characters of a part. The mean over a longer text says little about each of its sentences.
const PART_CHARS: usize = 1_200;

const MAX_PARTS: usize = 8;

/// A record whose vectors are to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordParts {
    pub id: RecordId,
    /// Its text, in parts, each of which has a vector.
    pub parts: Vec<String>,
    /// The folder of its session, or the key of its project if it has none: by it, a project is excluded from the memory.
    pub folder: String,
    pub(crate) project: i64,
    /// Whether its text may still grow, by the reply to a prompt.
    is_open: bool,
}

impl RecordParts {
    /// Returns the bytes of its text, by which it is known whether the text has grown.
    pub(super) fn bytes(&self) -> i64 {
        self.parts.iter().map(String::len).sum::<usize>() as i64
    }
}

/// The kinds of observations that have a text of their own; the others describe what a tool did.
const KINDS: [Kind; 2] = [Kind::Note, Kind::Decision];

/// The folder of a record `t`. A session of another host has none.
const FOLDER: &str = "coalesce((SELECT nullif(s.project_path, '') FROM sessions s WHERE s.id = t.session_id),
                               (SELECT p.project_key FROM projects p WHERE p.id = t.project_id), '')";

/// What is read of a record: its project, its folder, its text, and whether that may still grow.
type Read = (i64, String, String, bool);

pub(super) fn read_parts(
    connection: &Connection,
    record: RecordId,
    open_since: i64,
) -> rusqlite::Result<Option<RecordParts>> {
    let found: Option<Read> = match record.what {
        What::Prompt => prompt(connection, record.id, open_since)?,
        What::Observation => connection.first_with(
            &format!(
                "SELECT t.project_id, {FOLDER}, t.title, t.narrative, t.facts FROM observations t WHERE t.id = ?1"
            ),
            [record.id],
            |row| {
                let facts = texts(&row.get::<_, String>(4)?).join("\n");
                let text = [row.get::<_, String>(2)?, row.get(3)?, facts].join("\n");
                Ok((row.get(0)?, row.get(1)?, text, false))
            },
        )?,
        What::Summary => connection.first_with(
            &format!(
                "SELECT t.project_id, {FOLDER}, t.request, t.investigated, t.learned, t.completed, t.next_steps
                 FROM session_summaries t WHERE t.id = ?1"
            ),
            [record.id],
            |row| {
                let texts = (2..=6).map(|column| row.get::<_, String>(column)).collect::<Result<Vec<_>, _>>()?;
                Ok((row.get(0)?, row.get(1)?, texts.join("\n"), false))
            },
        )?,
    };
    Ok(found.map(|(project, folder, text, is_open)| RecordParts {
        id: record,
        parts: parts(&text),
        folder,
        project,
        is_open,
    }))
}

/// Reads a prompt with every reply up to the next prompt of the session.
fn prompt(connection: &Connection, id: i64, open_since: i64) -> rusqlite::Result<Option<Read>> {
    let sql = format!(
        "SELECT t.project_id, {FOLDER}, t.prompt, t.created_at,
                (SELECT n.created_at FROM prompts n
                 WHERE n.session_id = t.session_id AND n.prompt_number > t.prompt_number
                 ORDER BY n.prompt_number LIMIT 1)
         FROM prompts t JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1"
    );
    type Row = (i64, String, String, i64, Option<i64>);
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    let found: Option<Row> = connection.first_with(&sql, [id], read)?;
    let Some((project, folder, prompt, at, next)) = found else { return Ok(None) };
    let is_open = next.is_none() && at >= open_since;
    let replied = replies::to_prompt(connection, id)?;
    let text = if replied.is_empty() { prompt } else { format!("{prompt}\n{replied}") };
    Ok(Some((project, folder, text, is_open)))
}

/// Cuts a text into parts, at the end of a line, a sentence or a word.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && parts.len() < MAX_PARTS {
        let end = rest.char_indices().nth(PART_CHARS).map_or(rest.len(), |(at, _)| at);
        let head = &rest[..end];
        let cut = if end == rest.len() {
            end
        } else {
            let late = |at: &usize| *at > end / 2;
            let found = head.rfind('\n').filter(late).or_else(|| head.rfind(". ").filter(late));
            found.or_else(|| head.rfind(' ').filter(late)).map_or(end, |at| at + 1)
        };
        parts.push(rest[..cut].trim().to_owned());
        rest = rest[cut..].trim_start();
    }
    parts
}

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
    let found: Vec<(u8, i64, Option<i64>)> = connection.all(sql, (model.id, AT_ONCE))?;
    let record = |(number, id, bytes)| {
        let what = What::ALL.into_iter().find(|what| number_of(*what) == number)?;
        Some((RecordId { what, id }, bytes))
    };
    Ok(found.into_iter().filter_map(record).collect())
}

/// Returns the next range to examine: after the ranges that were examined, else before them.
fn stretch(connection: &Connection, model: &VectorModel, what: What) -> rusqlite::Result<Option<(i64, i64)>> {
    let table = what.table();
    let sql = format!(
        "SELECT coalesce((SELECT max(id) FROM {table}), 0), ranges ->> '$.{table}[0]', ranges ->> '$.{table}[1]'
         FROM indexes WHERE id = ?1"
    );
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, Option<i64>, Option<i64>)> = connection.first_with(&sql, [model.id], read)?;
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
    connection.all(&sql, (from, to))
}

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
            put_all(&store.connection, model, waiting, vectors).map_err(cannot(action))
        })
    }
}

/// Marks a record whose words have changed: its vectors are computed again, by every model that it has some of.
pub(crate) fn have_changed(connection: &Connection, RecordId { what, id }: RecordId) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO vector_slots (model_id, what, record_id, part)
               SELECT DISTINCT model_id, what, record_id, -1 FROM vector_slots WHERE what = ?1 AND record_id = ?2";
    connection.run(sql, (number_of(what), id)).map(drop)
}

/// Deletes the vectors of a record before it is deleted.
pub(crate) fn delete(connection: &Connection, record: RecordId) -> rusqlite::Result<()> {
    blocks::clear(connection, record, None)?;
    let sql = "DELETE FROM vector_slots WHERE what = ?1 AND record_id = ?2";
    connection.run(sql, (number_of(record.what), record.id)).map(drop)
}

/// Returns whether a model is still the same. The number of a deleted one is used again.
fn is_known(connection: &Connection, model: &VectorModel) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM indexes WHERE id = ?1 AND name = ?2 AND form = ?3";
    connection.has(sql, (model.id, &model.name, model.dims as i64))
}

/// What becomes of a record whose vectors were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Stored,
    /// They are not: the text has changed, or not all of them were computed.
    Again,
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

fn put_all(
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
    let before: Option<Option<i64>> = connection.first(sql, (number_of(record.what), record.id, model.id))?;
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
    connection.run(sql, (model.id, number_of(what), id, bytes)).map(drop)
}

/// Removes the mark of a record that need not be examined again.
fn settle(connection: &Connection, model: &VectorModel, RecordId { what, id }: RecordId) -> rusqlite::Result<()> {
    let sql = "DELETE FROM vector_slots WHERE what = ?1 AND record_id = ?2 AND model_id = ?3 AND part = -1";
    connection.run(sql, (number_of(what), id, model.id)).map(drop)
}

fn mark_range(connection: &Connection, model: &VectorModel, waiting: &Waiting) -> rusqlite::Result<()> {
    let Some((what, from, to)) = waiting.looked_at else { return Ok(()) };
    let range = format!("$.{}", what.table());
    let sql = "UPDATE indexes SET ranges = json_set(ranges, ?2, json_array(
                   min(coalesce(ranges ->> (?2 || '[0]'), ?3), ?3), max(coalesce(ranges ->> (?2 || '[1]'), ?4), ?4)))
               WHERE id = ?1";
    connection.run(sql, (model.id, range, from, to)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARTS, PART_CHARS, parts};

    #[test]
    fn a_short_text_is_one_part() {
        assert_eq!(parts(" asked\nanswered "), ["asked\nanswered"]);
        assert_eq!(parts("  "), [""; 0]);
    }

    #[test]
    fn a_long_text_is_cut_between_sentences() {
        let sentence = "The cache was not invalidated after a write. ";
        let cut = parts(&sentence.repeat(60));
        assert!(cut.len() > 2 && cut.iter().all(|part| part.ends_with('.') && part.chars().count() <= PART_CHARS));
        assert_eq!(cut.join(" "), sentence.repeat(60).trim());
    }

    #[test]
    fn a_text_without_an_end_is_cut_all_the_same() {
        let cut = parts(&"長".repeat(100_000));
        assert_eq!((cut.len(), cut[0].chars().count()), (MAX_PARTS, PART_CHARS));
    }
}
