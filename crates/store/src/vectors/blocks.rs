//! Blocks of vectors: writing them, and comparing the vectors in them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use longhaul_embedding::{Vector, dot, similarity};
use rusqlite::{Connection, OptionalExtension};

use super::{VectorModel, number_of};
use crate::{RecordId, What};

/// Vectors in a block. The trigger `vector_slots_deleted` in `migrations/13_vectors.sql` has the same number.
pub(super) const SLOTS: usize = 128;

/// Bytes of a key: the kind of the record, its part, two unused bytes, its project (u32) and its number (u64). The trigger
/// `vector_slots_deleted` has the same number.
const KEY: usize = 16;

/// About how many bytes a row of `vector_slots` takes.
const SLOT_ROW: u64 = 20;

/// How many candidates are kept for each result: several parts of a record are one result.
const CANDIDATES_PER_RESULT: usize = 8;

/// Returns the bytes that a model's vectors take, by the number of its blocks.
pub(super) fn bytes(connection: &Connection, model: &VectorModel) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM vector_blocks WHERE model_id = ?1";
    let blocks: i64 = connection.prepare_cached(sql)?.query_row([model.id], |row| row.get(0))?;
    Ok(blocks.unsigned_abs() * SLOTS as u64 * ((model.dims + KEY) as u64 + SLOT_ROW))
}

/// Appends vectors to those of a model.
pub(super) struct Writer<'a> {
    connection: &'a Connection,
    model: &'a VectorModel,
    block: i64,
    slot: usize,
    keys: Vec<u8>,
    vectors: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Reads the last block.
    pub(super) fn open(connection: &'a Connection, model: &'a VectorModel) -> rusqlite::Result<Self> {
        let sql = "SELECT block, keys, vectors FROM vector_blocks WHERE model_id = ?1 ORDER BY block DESC LIMIT 1";
        let last: Option<(i64, Vec<u8>, Vec<u8>)> = connection
            .prepare_cached(sql)?
            .query_row([model.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let (block, keys, vectors) = match last {
            Some((block, keys, vectors)) if keys.len() == SLOTS * KEY && vectors.len() == SLOTS * model.dims => {
                (block, keys, vectors)
            }
            Some((block, ..)) => (block + 1, vec![0; SLOTS * KEY], vec![0; SLOTS * model.dims]),
            None => (0, vec![0; SLOTS * KEY], vec![0; SLOTS * model.dims]),
        };
        let used = keys.chunks_exact(KEY).rposition(|key| Key::read(key).is_some());
        Ok(Self { connection, model, block, slot: used.map_or(0, |last| last + 1), keys, vectors })
    }

    /// Adds the vector of one part of a record.
    pub(super) fn add(&mut self, record: RecordId, part: usize, project: i64, vector: &Vector) -> rusqlite::Result<()> {
        if self.slot == SLOTS {
            self.write()?;
            self.block += 1;
            self.slot = 0;
            self.keys.fill(0);
            self.vectors.fill(0);
        }
        let (slot, dims) = (self.slot, self.model.dims);
        Key { record, part, project }.write(&mut self.keys[slot * KEY..][..KEY]);
        self.vectors[slot * dims..][..dims].copy_from_slice(&vector.to_bytes());
        let sql = "INSERT INTO vector_slots (what, record_id, model_id, part, slot) VALUES (?1, ?2, ?3, ?4, ?5)";
        let place = self.block * SLOTS as i64 + slot as i64;
        let what = number_of(record.what);
        self.connection.prepare_cached(sql)?.execute((what, record.id, self.model.id, part as i64, place))?;
        self.slot += 1;
        Ok(())
    }

    /// Writes the block that is being filled.
    pub(super) fn write(&mut self) -> rusqlite::Result<()> {
        if self.slot == 0 {
            return Ok(());
        }
        let sql = "INSERT INTO vector_blocks (model_id, block, keys, vectors) VALUES (?1, ?2, ?3, ?4)
                   ON CONFLICT DO UPDATE SET keys = excluded.keys, vectors = excluded.vectors";
        self.connection.prepare_cached(sql)?.execute((self.model.id, self.block, &self.keys, &self.vectors)).map(drop)
    }
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

    /// Adds what another comparison with the same query has found.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.best.extend(other.best);
        self
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
