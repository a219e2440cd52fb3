//! Compares the vectors of a project's newest records with a prompt, while a person waits, and limits how many.
//!
//! A block may have vectors of several projects, in the order in which they were computed. So the newest records of the project
//! are looked up first, and only the blocks that have their vectors are read.

use std::collections::HashSet;

use longhaul_memory::embedding::Vector;
use rusqlite::Connection;

use super::blocks::{Comparison, SLOTS, records_in};
use super::{VectorModel, number_of};
use crate::{RecordId, What, recall};

/// The most blocks that are read: up to 8,192 vectors.
const BLOCKS: usize = 64;

/// The most prompts that are looked up, and the most notes and decisions, of which there are few.
const PROMPTS: i64 = 4_096;
const NOTES: usize = 64;

/// Compares the vectors of the newest records of a project with `query`.
pub(super) fn nearest(
    connection: &Connection,
    model: &VectorModel,
    project: i64,
    query: &Vector,
    most: usize,
) -> rusqlite::Result<Vec<(RecordId, f32)>> {
    let comparison = Comparison::new(model, Some(project), query, most);
    let mut newest =
        Newest { connection, model, project, comparison, blocks: HashSet::new(), compared: HashSet::new() };
    // The search, which follows, reports a damaged index.
    for id in recall::newest_notes(connection, project, NOTES).unwrap_or_default() {
        newest.add(RecordId { what: What::Observation, id })?;
    }
    let sql = "SELECT id FROM prompts WHERE project_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((project, PROMPTS))?;
    while newest.blocks.len() < BLOCKS
        && let Some(row) = rows.next()?
    {
        newest.add(RecordId { what: What::Prompt, id: row.get(0)? })?;
    }
    Ok(newest.comparison.finish())
}

struct Newest<'a> {
    connection: &'a Connection,
    model: &'a VectorModel,
    project: i64,
    comparison: Comparison<'a>,
    /// The blocks that were read.
    blocks: HashSet<i64>,
    /// The records of the project in them.
    compared: HashSet<RecordId>,
}

impl Newest<'_> {
    /// Reads the blocks with the vectors of a record, unless they were read.
    fn add(&mut self, record: RecordId) -> rusqlite::Result<()> {
        if self.compared.contains(&record) {
            return Ok(());
        }
        let sql = "SELECT slot FROM vector_slots WHERE what = ?1 AND record_id = ?2 AND model_id = ?3 AND part >= 0";
        let slots: Vec<i64> = self
            .connection
            .prepare_cached(sql)?
            .query_map((number_of(record.what), record.id, self.model.id), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for block in slots.into_iter().map(|slot| slot / SLOTS as i64) {
            if self.blocks.insert(block) {
                self.read(block)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, block: i64) -> rusqlite::Result<()> {
        let sql = "SELECT keys, vectors FROM vector_blocks WHERE model_id = ?1 AND block = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((self.model.id, block))?;
        if let Some(row) = rows.next()? {
            let (keys, vectors) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            self.comparison.add(keys, vectors);
            self.compared.extend(records_in(keys, self.project));
        }
        Ok(())
    }
}
