//! Blocks of vectors: writing them, and comparing the vectors in them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use longhaul_memory::embedding::{Vector, dot, similarity};
use rusqlite::Connection;

use super::{VectorModel, number_of};
use crate::sql::Sql;
use crate::{RecordId, What};

pub(super) const SLOTS: usize = 128;

/// Numbers that the blocks of one owner can have: a project's blocks begin at its number times this, the shared ones at 0.
const NUMBERS: i64 = 1 << 20;

/// Number of prompts from which a project has its own blocks.
const LARGE_PROJECT: i64 = SLOTS as i64;

/// Bytes of a key: the kind of the record, its part, two unused bytes, its project (u32) and its number (u64).
const KEY: usize = 16;

/// About how many bytes a row of `vector_slots` takes.
const SLOT_ROW: u64 = 20;

/// How many candidates are kept for each result: several parts of a record are one result.
const CANDIDATES_PER_RESULT: usize = 8;

/// Returns the bytes that a model's vectors take, by the number of its blocks.
pub(super) fn bytes(connection: &Connection, model: &VectorModel) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM vector_blocks WHERE model_id = ?1";
    let blocks: i64 = connection.one(sql, [model.id])?;
    Ok(blocks.unsigned_abs() * SLOTS as u64 * ((model.dims + KEY) as u64 + SLOT_ROW))
}

/// Deletes the vectors of a record, of one model or of all. Their bytes are overwritten.
pub(super) fn clear(connection: &Connection, record: RecordId, model: Option<&VectorModel>) -> rusqlite::Result<()> {
    let sql =
        "DELETE FROM vector_slots WHERE what = ?1 AND record_id = ?2 AND (?3 IS NULL OR model_id = ?3) AND part >= 0
               RETURNING model_id, slot";
    let key = (number_of(record.what), record.id, model.map(|model| model.id));
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let slots: Vec<(i64, i64)> = connection.all_with(sql, key, read)?;
    let sql = format!(
        "UPDATE vector_blocks SET
             keys = CAST(substr(keys, 1, ?3 * {KEY}) || zeroblob({KEY}) || substr(keys, (?3 + 1) * {KEY} + 1) AS BLOB),
             vectors = CAST(substr(vectors, 1, ?3 * (length(vectors) / {SLOTS})) || zeroblob(length(vectors) / {SLOTS})
                            || substr(vectors, (?3 + 1) * (length(vectors) / {SLOTS}) + 1) AS BLOB)
         WHERE model_id = ?1 AND block = ?2"
    );
    for (model, slot) in slots {
        let (block, place) = (slot / SLOTS as i64, slot % SLOTS as i64);
        connection.run(&sql, (model, block, place))?;
    }
    Ok(())
}

/// Appends vectors to those of a model.
///
/// A project with many prompts has its own blocks, so that a search in it reads few of others. The rest share blocks: one for
/// each small project would be almost empty.
pub(super) struct Writer<'a> {
    connection: &'a Connection,
    model: &'a VectorModel,
    open: Vec<OpenBlock>,
    /// The owner of the blocks for each project.
    owners: HashMap<i64, Owner>,
}

/// The project that has a block for itself; `None` for a block of all small projects.
type Owner = Option<i64>;

/// A block that is being filled.
struct OpenBlock {
    owner: Owner,
    number: i64,
    /// The next free place.
    slot: usize,
    keys: Vec<u8>,
    vectors: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(connection: &'a Connection, model: &'a VectorModel) -> Self {
        Self { connection, model, open: Vec::new(), owners: HashMap::new() }
    }

    /// Adds the vector of one part of a record.
    pub(super) fn add(&mut self, record: RecordId, part: usize, project: i64, vector: &Vector) -> rusqlite::Result<()> {
        let (connection, model) = (self.connection, self.model);
        let owner = match self.owners.get(&project) {
            Some(owner) => *owner,
            None => *self.owners.entry(project).or_insert(owner_of(connection, project)?),
        };
        let at = match self.open.iter().position(|block| block.owner == owner) {
            Some(at) => at,
            None => {
                self.open.push(OpenBlock::last_of(connection, model, owner)?);
                self.open.len() - 1
            }
        };
        let block = &mut self.open[at];
        if block.slot == SLOTS {
            block.write(connection, model)?;
            *block = OpenBlock::empty(model, owner, block.number + 1);
        }
        let (slot, dims) = (block.slot, model.dims);
        Key { record, part, project }.write(&mut block.keys[slot * KEY..][..KEY]);
        block.vectors[slot * dims..][..dims].copy_from_slice(&vector.to_bytes());
        block.slot += 1;
        let sql = "INSERT INTO vector_slots (what, record_id, model_id, part, slot) VALUES (?1, ?2, ?3, ?4, ?5)";
        let place = block.number * SLOTS as i64 + slot as i64;
        connection.run(sql, (number_of(record.what), record.id, model.id, part as i64, place)).map(drop)
    }

    /// Writes the blocks that are being filled.
    pub(super) fn write(&mut self) -> rusqlite::Result<()> {
        self.open.iter().try_for_each(|block| block.write(self.connection, self.model))
    }
}

impl OpenBlock {
    /// Reads the last block of an owner; returns an empty one if nothing can be added to it.
    fn last_of(connection: &Connection, model: &VectorModel, owner: Owner) -> rusqlite::Result<Self> {
        let first = owner.unwrap_or_default() * NUMBERS;
        let sql = "SELECT block, keys, vectors FROM vector_blocks WHERE model_id = ?1 AND block BETWEEN ?2 AND ?3
                   ORDER BY block DESC LIMIT 1";
        let last: Option<(i64, Vec<u8>, Vec<u8>)> = connection.first(sql, (model.id, first, first + NUMBERS - 1))?;
        let Some((number, keys, vectors)) = last else { return Ok(Self::empty(model, owner, first)) };
        if keys.len() != SLOTS * KEY || vectors.len() != SLOTS * model.dims {
            return Ok(Self::empty(model, owner, number + 1));
        }
        let used = keys.chunks_exact(KEY).rposition(|key| Key::read(key).is_some());
        Ok(Self { owner, number, slot: used.map_or(0, |last| last + 1), keys, vectors })
    }

    fn empty(model: &VectorModel, owner: Owner, number: i64) -> Self {
        Self { owner, number, slot: 0, keys: vec![0; SLOTS * KEY], vectors: vec![0; SLOTS * model.dims] }
    }

    fn write(&self, connection: &Connection, model: &VectorModel) -> rusqlite::Result<()> {
        let sql = "INSERT INTO vector_blocks (model_id, block, keys, vectors) VALUES (?1, ?2, ?3, ?4)
                   ON CONFLICT DO UPDATE SET keys = excluded.keys, vectors = excluded.vectors";
        connection.run(sql, (model.id, self.number, &self.keys, &self.vectors)).map(drop)
    }
}

/// Returns the owner of the blocks for the vectors of a project.
fn owner_of(connection: &Connection, project: i64) -> rusqlite::Result<Owner> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM prompts WHERE project_id = ?1 LIMIT ?2)";
    let prompts: i64 = connection.one(sql, (project, LARGE_PROJECT))?;
    Ok((prompts >= LARGE_PROJECT).then_some(project))
}

/// Which record, and which part of it, a vector belongs to.
struct Key {
    record: RecordId,
    part: usize,
    project: i64,
}

impl Key {
    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = number_of(self.record.what);
        bytes[1] = self.part as u8;
        bytes[4..8].copy_from_slice(&(self.project as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.record.id.to_le_bytes());
    }

    /// Reads a key; `None` if the slot is empty.
    fn read(bytes: &[u8]) -> Option<Self> {
        let id = i64::from_le_bytes(*bytes.get(8..16)?.first_chunk()?);
        let project = u32::from_le_bytes(*bytes.get(4..8)?.first_chunk()?);
        let what = What::ALL.into_iter().find(|what| number_of(*what) == bytes[0])?;
        (id > 0).then(|| Self { record: RecordId { what, id }, part: bytes[1].into(), project: project.into() })
    }
}

/// Compares vectors with a query, and keeps the records of the most similar ones.
pub(super) struct Comparison<'a> {
    model: &'a VectorModel,
    /// The project as keys have it.
    project: Option<[u8; 4]>,
    query: &'a Vector,
    most: usize,
    best: BinaryHeap<Reverse<(i32, RecordId)>>,
    /// A vector with a smaller product is none of the best.
    least: i32,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(model: &'a VectorModel, project: Option<i64>, query: &'a Vector, most: usize) -> Self {
        let project = project.map(|project| (project as u32).to_le_bytes());
        Self { model, project, query, most, best: BinaryHeap::new(), least: 0 }
    }

    /// Compares the vectors of a block.
    pub(super) fn add(&mut self, keys: &[u8], vectors: &[u8]) {
        // The model may have been replaced, by one with other dimensions, since it was read.
        if vectors.len() != SLOTS * self.model.dims {
            return;
        }
        let room = self.most.saturating_mul(CANDIDATES_PER_RESULT);
        for (key, vector) in keys.chunks_exact(KEY).zip(vectors.chunks_exact(self.model.dims)) {
            if self.project.is_some_and(|project| key[4..8] != project) {
                continue;
            }
            let product = dot(self.query, vector);
            if product <= self.least {
                continue;
            }
            let Some(key) = Key::read(key) else { continue };
            self.best.push(Reverse((product, key.record)));
            if self.best.len() > room {
                self.best.pop();
                self.least = self.best.peek().map_or(0, |Reverse((product, _))| *product);
            }
        }
    }

    /// Returns the records, the most similar first, each with its most similar part.
    pub(super) fn finish(self) -> Vec<(RecordId, f32)> {
        let mut once: HashMap<RecordId, i32> = HashMap::new();
        for Reverse((product, record)) in self.best {
            let known = once.entry(record).or_insert(product);
            *known = product.max(*known);
        }
        let mut nearest: Vec<(RecordId, i32)> = once.into_iter().collect();
        nearest.sort_by_key(|(record, product)| (Reverse(*product), *record));
        nearest.truncate(self.most);
        nearest.into_iter().map(|(record, product)| (record, similarity(product, self.model.dims))).collect()
    }
}

/// Returns whether a block has vectors of a project.
pub(super) fn has_project(keys: &[u8], project: i64) -> bool {
    let project = (project as u32).to_le_bytes();
    keys.chunks_exact(KEY).any(|key| key[4..8] == project)
}

/// Returns the records of a project that a block has vectors of.
pub(super) fn records_in(keys: &[u8], project: i64) -> impl Iterator<Item = RecordId> {
    keys.chunks_exact(KEY).filter_map(Key::read).filter(move |key| key.project == project).map(|key| key.record)
}
