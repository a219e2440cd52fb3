//! Pages of records, the newest first, each with the size of its whole text.

use longhaul_core::Millis;
use longhaul_memory::Kind;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::memory::records::{RawText, record};
use crate::recall::Candidate;
use crate::recall::key::Key;
use crate::{Record, RecordId, Store, StoreError, What, cannot};

/// A record and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The record.
    pub record: Record,
    /// Bytes of the whole record, raw tool text included.
    pub bytes: u64,
}

/// Which records a page has.
#[derive(Debug, Clone, Default)]
pub struct Only<'a> {
    /// Of this project.
    pub project_key: Option<&'a str>,
    /// Of this session.
    pub session: Option<&'a str>,
    /// Observations of these kinds; empty for all.
    pub kinds: &'a [Kind],
    /// Stored before the one with this number.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: usize,
}

/// The newest of the stored records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Newest {
    /// The newest prompt's number; 0 where there is none.
    pub prompt: i64,
    /// The newest observation's number.
    pub observation: i64,
    /// The newest summary's number.
    pub summary: i64,
    /// When a summary was last written. An old summary may be rewritten.
    pub summary_at: Millis,
}

impl Store {
    /// Returns a page of records without their raw text, the last stored first.
    pub fn entries(&self, what: What, only: &Only<'_>) -> Result<Vec<Entry>, StoreError> {
        let failed = cannot("list the records");
        let (sql, values) = page(what, only);
        self.list_entries(what, &sql, values).map_err(failed)
    }

    /// Returns records with their raw text, in the order asked for; those that are not there are left out.
    pub fn whole_entries(&self, ids: &[RecordId]) -> Result<Vec<Entry>, StoreError> {
        let read = |id: &RecordId| entry(&self.connection, *id, RawText::With).transpose();
        ids.iter().filter_map(read).collect::<Result<_, _>>().map_err(cannot("read the records"))
    }

    /// Returns the newest of the stored records.
    pub fn newest(&self) -> Result<Newest, StoreError> {
        newest(&self.connection).map_err(cannot("look for the newest records"))
    }

    /// Returns the last `most` records that were stored after `since`, the oldest first.
    pub fn entries_since(&self, what: What, since: &Newest, most: usize) -> Result<Vec<Entry>, StoreError> {
        let (most, after) = (Value::from(most as i64), |id: i64| Value::from(id));
        let by_number = |table: &str| format!("SELECT id FROM {table} WHERE id > ?1 ORDER BY id DESC LIMIT ?2");
        let (sql, values) = match what {
            What::Prompt => (by_number("prompts"), vec![after(since.prompt), most]),
            What::Observation => (by_number("observations"), vec![after(since.observation), most]),
            // Project by project: the index by time begins with the project.
            What::Summary => (
                "SELECT t.id FROM projects p CROSS JOIN session_summaries t ON t.project_id = p.id
                 AND t.created_at > ?1 WHERE p.project_key IS NOT NULL ORDER BY t.created_at DESC LIMIT ?2"
                    .to_owned(),
                vec![after(i64::try_from(since.summary_at.0).unwrap_or(i64::MAX)), most],
            ),
        };
        let mut found = self.list_entries(what, &sql, values).map_err(cannot("look for new records"))?;
        found.reverse();
        Ok(found)
    }

    fn list_entries(&self, what: What, sql: &str, values: Vec<Value>) -> rusqlite::Result<Vec<Entry>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let ids: Vec<i64> =
            statement.query_map(params_from_iter(values), |row| row.get(0))?.collect::<Result<_, _>>()?;
        let read = |id: i64| entry(&self.connection, RecordId { what, id }, RawText::Without).transpose();
        ids.into_iter().filter_map(read).collect()
    }
}

/// Returns the statement for a page. It has only the conditions that are asked for, so that SQLite uses the right index.
fn page(what: What, only: &Only<'_>) -> (String, Vec<Value>) {
    let mut terms = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |term: &str, value: Value| {
        values.push(value);
        terms.push(term.replace('?', &format!("?{}", values.len())));
    };
    if let Some(before) = only.before {
        add("t.id < ?", before.into());
    }
    if let Some(key) = only.project_key {
        add("t.project_id = (SELECT id FROM projects WHERE project_key = ?)", key.to_owned().into());
    }
    if let Some(session) = only.session {
        add("t.session_id = (SELECT id FROM sessions WHERE session_id = ?)", session.to_owned().into());
    }
    if what == What::Observation && !only.kinds.is_empty() {
        let kinds: Vec<&str> = only.kinds.iter().map(|kind| kind.as_str()).collect();
        // Names of our own: nothing in them needs quoting.
        terms.push(format!("t.kind IN ('{}')", kinds.join("','")));
    }
    values.push((only.limit as i64).into());
    // The plus keeps SQLite from using another index than that of the session's rows.
    let order = if only.session.is_some() { "+t.id" } else { "t.id" };
    let sql = format!(
        "SELECT t.id FROM {} t WHERE {} ORDER BY {order} DESC LIMIT ?{}",
        what.table(),
        terms.join(" AND "),
        values.len()
    );
    (sql, values)
}

fn newest(connection: &Connection) -> rusqlite::Result<Newest> {
    let number = |sql: &str| -> rusqlite::Result<i64> {
        Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default())
    };
    Ok(Newest {
        prompt: number("SELECT max(id) FROM prompts")?,
        observation: number("SELECT max(id) FROM observations")?,
        summary: number("SELECT max(id) FROM session_summaries")?,
        summary_at: Millis(
            number(
                "SELECT max((SELECT max(created_at) FROM session_summaries WHERE project_id = p.id))
                 FROM projects p WHERE p.project_key IS NOT NULL",
            )?
            .unsigned_abs(),
        ),
    })
}

pub(super) fn entry(connection: &Connection, id: RecordId, raw: RawText) -> rusqlite::Result<Option<Entry>> {
    let Some(record) = record(connection, id, raw)? else { return Ok(None) };
    let Some(stored) = Candidate::stored(connection, Key::new(0, id.what, id.id))? else { return Ok(None) };
    Ok(Some(Entry { record, bytes: stored.line(connection)?.chars }))
}
