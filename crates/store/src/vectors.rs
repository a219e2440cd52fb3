//! Vectors of records: computed after the record is stored, searched by comparing all of them, deleted with the record.
//!
//! Vectors are stored in blocks of 128, so that a scan reads one row per block. `vector_slots` has the position of each
//! record's vectors, which are overwritten when the record is deleted.
//!
//! While a person waits for a prompt, only the vectors of a project's newest records are compared. A block may have
//! vectors of several projects, in the order in which they were computed. So those records are looked up first, and
//! only the blocks that have their vectors are read.

mod blocks;
mod storing;

use std::collections::HashSet;

use longhaul_core::Millis;
use longhaul_memory::embedding::Vector;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use self::blocks::{Comparison, SLOTS, has_project, records_in};
use crate::memory::session_row::project_number;
use crate::sql::Sql;
use crate::{RecordId, Store, StoreError, What, cannot, recall};

pub use self::storing::{RecordParts, Waiting};
pub(crate) use self::storing::{delete, have_changed};

/// The largest part of the database's file that vectors may take.
const SHARE: f64 = 0.15;

/// How the name of a model begins whose vectors are being deleted.
const DROPPED: &str = "dropped:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorModel {
    pub(crate) id: i64,
    /// Its name. Vectors of different names do not compare.
    pub name: String,
    pub dims: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VectorStats {
    pub model: String,
    pub vectors: u64,
    pub bytes: u64,
    /// Records that were examined.
    pub looked_at: u64,
    pub records: u64,
}

impl Store {
    /// Returns a model by its name; adds it if it is new.
    ///
    /// If its vectors have other dimensions than before, the vectors that are stored are deleted.
    pub fn vector_model(&self, name: &str, dims: usize) -> Result<VectorModel, StoreError> {
        if let Some(model) = self.known_vector_model(name)? {
            if model.dims == dims {
                return Ok(model);
            }
            self.drop_vectors(&model)?;
        }
        let sql = "INSERT INTO indexes (name, form) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.connection.run(sql, (name, dims as i64)).map_err(cannot("add the model"))?;
        let found = self.known_vector_model(name)?.filter(|model| model.dims == dims);
        found.ok_or_else(|| cannot("add the model")(rusqlite::Error::QueryReturnedNoRows))
    }

    pub fn known_vector_model(&self, name: &str) -> Result<Option<VectorModel>, StoreError> {
        let found = self.vector_models()?;
        Ok(found.into_iter().find(|model| model.name == name))
    }

    /// Returns every model that has vectors, or has had some.
    pub fn vector_models(&self) -> Result<Vec<VectorModel>, StoreError> {
        self.connection
            .all_with("SELECT id, name, form FROM indexes WHERE id > 0 ORDER BY id", [], |row| {
                Ok(VectorModel {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    dims: row.get::<_, i64>(2)?.unsigned_abs() as usize,
                })
            })
            .map_err(cannot("read the models"))
    }

    /// Deletes vectors of models that are not in use, at most `most` records of them, in one transaction; returns whether there
    /// is more to do.
    ///
    /// `in_use` are names. Nothing is deleted until one of those models has vectors of every record, or as many as fit: until
    /// then the old ones may still be wanted. To be called until it returns `false`; it may stop after any call, and goes on
    /// there.
    pub fn drop_unused_vectors(&self, in_use: &[String], now: Millis, most: usize) -> Result<bool, StoreError> {
        let (used, unused): (Vec<_>, Vec<_>) =
            self.vector_models()?.into_iter().partition(|model| in_use.contains(&model.name));
        let Some(old) = unused.first() else { return Ok(false) };
        let mut is_replaced = false;
        for model in &used {
            is_replaced |= self.waiting_for_vectors(model, in_use, now)?.is_empty();
        }
        if !is_replaced {
            return Ok(false);
        }
        let more = self.write("delete the vectors of a model that is not in use", |tx| drop_some(tx, old, most))?;
        Ok(more || unused.len() > 1)
    }

    pub fn drop_vectors(&self, model: &VectorModel) -> Result<(), StoreError> {
        self.write("delete the vectors", |tx| {
            for sql in [
                "DELETE FROM vector_blocks WHERE model_id = ?1",
                "DELETE FROM vector_slots WHERE model_id = ?1",
                "DELETE FROM indexes WHERE id = ?1",
            ] {
                tx.run(sql, [model.id])?;
            }
            Ok(())
        })
    }

    /// Returns the records whose vectors are nearest to `query`, at most `most`, the most similar first.
    ///
    /// `project` is a project's key; `None` searches all projects. A record appears once, with its most similar part. Every
    /// vector of the project is compared. For a million vectors of 128 dimensions that takes about 50 ms, of which 10 ms are
    /// for finding out which of them are of the project.
    pub fn nearest(
        &self,
        model: &VectorModel,
        project: Option<&str>,
        query: &Vector,
        most: usize,
    ) -> Result<Vec<(RecordId, f32)>, StoreError> {
        self.try_to("compare the vectors", |connection| {
            let known = project.map(|key| project_number(connection, key)).transpose()?;
            let project = match known {
                Some(None) => return Ok(Vec::new()),
                known => known.flatten(),
            };
            if query.dims() != model.dims {
                return Ok(Vec::new());
            }
            let mut comparison = Comparison::new(model, project, query, most);
            let vectors = match project {
                Some(project) => {
                    connection.create_scalar_function(
                        "has_project",
                        1,
                        FunctionFlags::SQLITE_UTF8,
                        move |arguments| Ok(has_project(arguments.get_raw(0).as_blob()?, project)),
                    )?;
                    "CASE WHEN has_project(keys) THEN vectors ELSE x'' END"
                }
                None => "vectors",
            };
            // In the order of the rows, because looking each of them up by an index takes longer.
            let sql = format!("SELECT keys, {vectors} FROM vector_blocks NOT INDEXED WHERE model_id = ?1");
            let mut statement = connection.prepare(&sql)?;
            let mut found = statement.query([model.id])?;
            while let Some(row) = found.next()? {
                comparison.add(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            }
            Ok(comparison.finish())
        })
    }

    /// Returns the same among the newest prompts, notes and decisions of a project, and records whose vectors were computed
    /// together with theirs: up to 8,192 vectors, which takes about a millisecond.
    ///
    /// It does not depend on how much newer the records of other projects are.
    pub fn nearest_of_newest(
        &self,
        model: &VectorModel,
        project: &str,
        query: &Vector,
        most: usize,
    ) -> Result<Vec<(RecordId, f32)>, StoreError> {
        self.try_to("compare the vectors", |connection| match project_number(connection, project)? {
            Some(project) if query.dims() == model.dims => nearest_of_newest(connection, model, project, query, most),
            Some(_) | None => Ok(Vec::new()),
        })
    }

    /// Returns how many vectors there are, for each model.
    pub fn vector_stats(&self) -> Result<Vec<VectorStats>, StoreError> {
        let failed = cannot("count the vectors");
        let number = |sql: &str, model: i64| self.connection.one(sql, [model]).map(i64::unsigned_abs).map_err(&failed);
        let stats = |model: VectorModel| {
            let slots = "SELECT count(slot) FROM vector_slots WHERE model_id = ?1";
            Ok(VectorStats {
                vectors: number(slots, model.id)?,
                bytes: blocks::bytes(&self.connection, &model).map_err(&failed)?,
                looked_at: number(storing::LOOKED_AT, model.id)?,
                records: number(storing::RECORDS, model.id)?,
                model: model.name,
            })
        };
        self.vector_models()?.into_iter().map(stats).collect()
    }

    /// Returns whether the vectors of the models in use take as much room as they may.
    ///
    /// Those of other models do not count: upkeep deletes them once they are replaced.
    pub(crate) fn is_full_of_vectors(&self, in_use: &[String]) -> Result<bool, StoreError> {
        let failed = cannot("measure the vectors");
        let mut taken = 0;
        for model in self.vector_models()?.iter().filter(|model| in_use.contains(&model.name)) {
            taken += blocks::bytes(&self.connection, model).map_err(&failed)?;
        }
        let number = |sql: &str| self.connection.one::<i64>(sql, []).map_err(&failed);
        let file = number("PRAGMA page_size")? * number("PRAGMA page_count")?;
        Ok(taken as f64 > SHARE * file as f64)
    }
}

/// Deletes vectors of at most `most` records of a model, at last the model itself; returns whether there is more to do.
fn drop_some(connection: &Connection, model: &VectorModel, most: usize) -> rusqlite::Result<bool> {
    // From the first step on it is another model: one of the same name begins anew, and has nothing to do with this rest.
    let name = format!("{DROPPED}{}", model.id);
    connection.run("UPDATE indexes SET name = ?2 WHERE id = ?1", (model.id, name))?;
    // Blocks first: they have the vectors themselves.
    for (table, key, rows) in [
        ("vector_blocks", "rowid", most.div_ceil(blocks::SLOTS)),
        ("vector_slots", "(what, record_id, model_id, part)", most),
    ] {
        let columns = key.trim_matches(['(', ')']);
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {columns} FROM {table} WHERE model_id = ?1 LIMIT {rows})"
        );
        if connection.run(&sql, [model.id])? == rows {
            return Ok(true);
        }
    }
    connection.run("DELETE FROM indexes WHERE id = ?1", [model.id])?;
    Ok(false)
}

/// Returns the number of a kind of record in the tables.
pub(crate) fn number_of(what: What) -> u8 {
    match what {
        What::Prompt => 0,
        What::Observation => 1,
        What::Summary => 2,
    }
}

/// The most blocks that are read: up to 8,192 vectors.
const BLOCKS: usize = 64;

/// The most prompts that are looked up, and the most notes and decisions, of which there are few.
const PROMPTS: i64 = 4_096;
const NOTES: usize = 64;

/// Compares the vectors of the newest records of a project with `query`.
fn nearest_of_newest(
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
        let slots: Vec<i64> = self.connection.all(sql, (number_of(record.what), record.id, self.model.id))?;
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
