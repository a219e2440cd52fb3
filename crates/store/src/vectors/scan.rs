//! Comparing every vector of a model, while a person waits for the results of a search.
//!
//! If only one project is searched, the vectors of blocks without it are not read.

use longhaul_memory::embedding::Vector;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::VectorModel;
use super::blocks::{Comparison, has_project};
use crate::RecordId;

/// Compares the vectors of a model with `query`, of one project or of all.
pub(super) fn nearest(
    connection: &Connection,
    model: &VectorModel,
    project: Option<i64>,
    query: &Vector,
    most: usize,
) -> rusqlite::Result<Vec<(RecordId, f32)>> {
    let mut comparison = Comparison::new(model, project, query, most);
    let vectors = match project {
        Some(project) => {
            connection.create_scalar_function("has_project", 1, FunctionFlags::SQLITE_UTF8, move |arguments| {
                Ok(has_project(arguments.get_raw(0).as_blob()?, project))
            })?;
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
}
