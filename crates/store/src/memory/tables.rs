//! The tables of the records, and how a record is read for a line.

use rusqlite::Row;

use super::What;

/// A table of records.
pub(crate) struct RecordTable {
    /// What its records are.
    pub(crate) what: What,
    /// The name of the table.
    pub(crate) table: &'static str,
    /// What [`Candidate::read`] reads, of `t`.
    pub(crate) columns: &'static str,
}

/// The table of each kind of record.
pub(crate) const RECORD_TABLES: [RecordTable; 3] = [
    RecordTable {
        what: What::Prompt,
        table: "prompts",
        columns: "t.id, t.session_id, t.project_id, t.prompt_number, t.created_at, '', t.prompt, '', ''",
    },
    RecordTable {
        what: What::Observation,
        table: "observations",
        columns: "t.id, t.session_id, t.project_id, t.prompt_number, t.created_at, t.kind, t.title, t.narrative || ' ' || t.facts,
                  t.files_read || ' ' || t.files_modified",
    },
    RecordTable {
        what: What::Summary,
        table: "session_summaries",
        columns: "t.id, t.session_id, t.project_id, t.prompt_number, t.created_at, '', t.request,
                  t.investigated || ' ' || t.learned || ' ' || t.completed || ' ' || t.next_steps, ''",
    },
];

/// Returns the table of `what`.
pub(crate) fn record_table(what: What) -> &'static RecordTable {
    match what {
        What::Prompt => &RECORD_TABLES[0],
        What::Observation => &RECORD_TABLES[1],
        What::Summary => &RECORD_TABLES[2],
    }
}

/// A record, as a line shows it.
pub(crate) struct Candidate {
    pub(crate) what: What,
    pub(crate) id: i64,
    pub(crate) session: Option<i64>,
    pub(crate) project: i64,
    pub(crate) prompt_number: i64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// JSON arrays of paths.
    pub(crate) files: String,
}

impl Candidate {
    /// Reads the columns of a table.
    pub(crate) fn read(what: What, row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            what,
            id: row.get(0)?,
            session: row.get(1)?,
            project: row.get(2)?,
            prompt_number: row.get(3)?,
            at: row.get(4)?,
            kind: row.get(5)?,
            title: row.get(6)?,
            text: row.get(7)?,
            files: row.get(8)?,
        })
    }
}
