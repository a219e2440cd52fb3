//! The records around a record.

use rusqlite::Connection;

use super::{Hit, RecordId, What};
use crate::recall::Candidate;
use crate::recall::key::Key;
use crate::{Store, StoreError, cannot};

impl Store {
    /// Returns a record with those before and after it, the oldest first; nothing if there is no such record.
    ///
    /// Records of the same session are preferred; if there are not enough, those of the project's other sessions follow.
    /// Around it, only records of the types in `only` are returned; if that is empty, all.
    pub fn timeline(
        &self,
        around: RecordId,
        before: usize,
        after: usize,
        only: &[What],
    ) -> Result<Vec<Hit>, StoreError> {
        timeline(&self.connection, around, before, after, only).map_err(cannot("read the timeline"))
    }
}

/// On which side of a record others are read.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn timeline(
    connection: &Connection,
    around: RecordId,
    before: usize,
    after: usize,
    only: &[What],
) -> rusqlite::Result<Vec<Hit>> {
    let stored = |id: RecordId| Candidate::stored(connection, Key::new(0, id.what, id.id));
    let Some(middle) = stored(around)? else { return Ok(Vec::new()) };
    let mut records = side(connection, &middle, Side::Before, before, only)?;
    records.reverse();
    records.push(around);
    records.extend(side(connection, &middle, Side::After, after, only)?);
    let mut hits = Vec::with_capacity(records.len());
    for record in records {
        if let Some(one) = stored(record)? {
            hits.push(one.line(connection)?);
        }
    }
    Ok(hits)
}

/// Returns the nearest `most` records on one side, the nearest first.
fn side(
    connection: &Connection,
    middle: &Candidate,
    side: Side,
    most: usize,
    only: &[What],
) -> rusqlite::Result<Vec<RecordId>> {
    let is_in_session = middle.session.is_some();
    let mut found = if is_in_session { nearest(connection, middle, (side, most, only), true)? } else { Vec::new() };
    if found.len() < most {
        found.extend(nearest(connection, middle, (side, most - found.len(), only), false)?);
    }
    Ok(found)
}

/// Returns the nearest `most` records of the middle's session, or of its project's others.
fn nearest(
    connection: &Connection,
    middle: &Candidate,
    (side, most, only): (Side, usize, &[What]),
    in_session: bool,
) -> rusqlite::Result<Vec<RecordId>> {
    let (sign, order) = match side {
        Side::Before => ("<", "DESC"),
        Side::After => (">", "ASC"),
    };
    let whose = if in_session { "t.session_id = ?4" } else { "t.project_id = ?5 AND t.session_id IS NOT ?4" };
    let mut found = Vec::new();
    for what in What::ALL.into_iter().filter(|what| only.is_empty() || only.contains(what)) {
        // At the same time, a prompt comes before its observations, and those before the summary.
        let sql = format!(
            "SELECT t.created_at, t.id FROM {} t WHERE {whose} AND t.created_at {sign}= ?1
               AND (t.created_at, ?2, t.id) {sign} (?1, ?3, ?6) ORDER BY t.created_at {order}, t.id {order} LIMIT ?7",
            what.table()
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(
            (
                middle.at,
                what as i64,
                middle.what as i64,
                middle.session,
                middle.project,
                middle.id,
                i64::try_from(most).unwrap_or(i64::MAX),
            ),
            |row| Ok((row.get::<_, i64>(0)?, what, row.get::<_, i64>(1)?)),
        )?;
        for one in rows {
            found.push(one?);
        }
    }
    found.sort_unstable();
    if matches!(side, Side::Before) {
        found.reverse();
    }
    Ok(found.into_iter().take(most).map(|(_, what, id)| RecordId { what, id }).collect())
}
