//! Reading whole records, with their raw tool text and their JSON, as the command line and the worker print it; and the
//! records around a record.

use std::ops::ControlFlow;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use rusqlite::{Connection, Row, RowIndex};
use serde_json::{Value, json};

use super::{Hit, RecordId, What};
use crate::recall::key::Key;
use crate::recall::{Candidate, replies};
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::sync::HOST_NAME;
use crate::{Store, StoreError, cannot, limit, newest_last};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub record: RecordId,
    /// The session; `None` for a note that was made outside of any.
    pub session: Option<String>,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    pub project: String,
    pub project_key: String,
    pub prompt_number: i64,
    pub at: Millis,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A prompt and the replies to it, which are empty if they are not known.
    Prompt {
        prompt: String,
        reply: String,
    },
    /// What a tool call did, or a note.
    Observation {
        observation: Observation,
        made_by: MadeBy,
        tool_use_id: Option<String>,
        repeats: i64,
        /// The raw input; `None` if it is not stored any more.
        input: Option<String>,
        output: Option<String>,
    },
    Summary {
        summary: Summary,
        made_by: MadeBy,
    },
}

impl Record {
    /// Returns the texts that are searched, which raw tool text is not among.
    pub fn texts(&self) -> Vec<&str> {
        match &self.content {
            Content::Prompt { prompt, reply } => vec![prompt, reply],
            Content::Observation { observation, .. } => {
                let lists = [&observation.facts, &observation.files_read, &observation.files_modified];
                let lists = lists.into_iter().flatten().map(String::as_str);
                [observation.title.as_str(), &observation.narrative].into_iter().chain(lists).collect()
            }
            Content::Summary { summary, .. } => {
                vec![&summary.request, &summary.investigated, &summary.learned, &summary.completed, &summary.next_steps]
            }
        }
    }

    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "type": self.record.what.as_str(),
            "id": self.record.to_string(),
            "session_id": self.session,
            "host": self.host,
            "project": self.project,
            "project_key": self.project_key,
            "prompt_number": self.prompt_number,
            "created_at": self.at.0,
        });
        let rest = match &self.content {
            Content::Prompt { prompt, reply } => json!({ "prompt": prompt, "reply": reply }),
            Content::Observation { observation, made_by, tool_use_id, repeats, input, output } => json!({
                "kind": observation.kind.as_str(),
                "tool_name": observation.tool,
                "title": observation.title,
                "narrative": observation.narrative,
                "facts": observation.facts,
                "files_read": observation.files_read,
                "files_modified": observation.files_modified,
                "made_by": made_by.as_str(),
                "tool_use_id": tool_use_id,
                "repeats": repeats,
                "input": input,
                "output": output,
            }),
            Content::Summary { summary, made_by } => json!({
                "request": summary.request,
                "investigated": summary.investigated,
                "learned": summary.learned,
                "completed": summary.completed,
                "next_steps": summary.next_steps,
                "made_by": made_by.as_str(),
            }),
        };
        if let (Value::Object(value), Value::Object(rest)) = (&mut value, rest) {
            value.extend(rest);
        }
        value
    }
}

impl Store {
    /// Returns whole records in the order of `ids`; those that do not exist are left out.
    pub fn records(&self, ids: &[RecordId]) -> Result<Vec<Record>, StoreError> {
        self.read_records(ids, RawText::With)
    }

    /// Returns records without raw tool text in the order of `ids`; those that do not exist are left out.
    pub fn passages(&self, ids: &[RecordId]) -> Result<Vec<Record>, StoreError> {
        self.read_records(ids, RawText::Without)
    }

    fn read_records(&self, ids: &[RecordId], raw_text: RawText) -> Result<Vec<Record>, StoreError> {
        let read = |id: &RecordId| record(&self.connection, *id, raw_text).transpose();
        ids.iter().filter_map(read).collect::<Result<_, _>>().map_err(cannot("read the records"))
    }

    /// Returns a session's newest observations, at most `most`, the oldest of them first.
    pub fn observations_of(&self, session: &str, most: usize) -> Result<Vec<Observation>, StoreError> {
        let sql = format!(
            "SELECT kind, tool_name, title, narrative, facts, files_read, files_modified FROM observations
             WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1)
             ORDER BY created_at DESC, id DESC {}",
            limit(most)
        );
        newest_last(&self.connection, &sql, [session], read_observation)
            .map_err(cannot("read the session's observations"))
    }

    /// Passes every record of a project, or of all, to `take` in the order of their numbers, until that breaks off.
    ///
    /// Records are read a few at a time: a reader that is slow must not keep the WAL from being copied back.
    pub fn export(
        &self,
        project_key: Option<&str>,
        mut take: impl FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let failed = cannot("export the memory");
        for what in What::ALL {
            // In the order of the table: by the index of projects, SQLite would sort all rows again for every piece.
            let sql = format!(
                "SELECT t.id FROM {} t WHERE t.id > ?1
                 AND (?2 IS NULL OR +t.project_id = (SELECT id FROM projects WHERE project_key = ?2))
                 ORDER BY t.id LIMIT 500",
                what.table()
            );
            let mut last = 0;
            loop {
                let ids: Vec<i64> = self.connection.all(&sql, (last, project_key)).map_err(&failed)?;
                let Some(newest) = ids.last() else { break };
                last = *newest;
                for id in ids {
                    let id = RecordId { what, id };
                    let found = record(&self.connection, id, RawText::With).map_err(&failed)?;
                    if found.is_some_and(|found| take(found).is_break()) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawText {
    With,
    Without,
}

const ORIGIN: &str = "s.session_id, p.name, p.project_key, t.prompt_number, t.created_at";

pub(crate) fn record(connection: &Connection, id: RecordId, raw_text: RawText) -> rusqlite::Result<Option<Record>> {
    let columns = match id.what {
        What::Prompt => "t.prompt",
        What::Observation => {
            "t.kind, t.tool_name, t.title, t.narrative, t.facts, t.files_read, t.files_modified, t.made_by,
             t.tool_use_id, t.repeats"
        }
        What::Summary => "t.request, t.investigated, t.learned, t.completed, t.next_steps, t.made_by",
    };
    let table = id.what.table();
    let sql = format!(
        "SELECT {ORIGIN}, {HOST_NAME}, {columns} FROM {table} t JOIN projects p ON p.id = t.project_id
         LEFT JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1"
    );
    let read = |row: &Row<'_>| {
        Ok(Record {
            record: id,
            session: row.get(0)?,
            host: row.get(5)?,
            project: row.get(1)?,
            project_key: row.get(2)?,
            prompt_number: row.get(3)?,
            at: row.get::<_, Time>(4)?.into(),
            content: match id.what {
                What::Prompt => Content::Prompt { prompt: row.get("prompt")?, reply: String::new() },
                What::Observation => Content::Observation {
                    observation: read_observation(row)?,
                    made_by: maker(row, "made_by")?,
                    tool_use_id: row.get("tool_use_id")?,
                    repeats: row.get("repeats")?,
                    input: None,
                    output: None,
                },
                What::Summary => Content::Summary { summary: read_summary(row)?, made_by: maker(row, "made_by")? },
            },
        })
    };
    let mut found = connection.first_with(&sql, [id.id], read)?;
    if let Some(Record { content: Content::Prompt { reply, .. }, .. }) = &mut found {
        *reply = replies::to_prompt(connection, id.id)?;
    }
    if raw_text == RawText::With
        && let Some(Record { session: Some(session), content, .. }) = &mut found
        && let Content::Observation { tool_use_id: Some(call), input, output, .. } = content
    {
        (*input, *output) = raw(connection, session, call)?;
    }
    Ok(found)
}

/// Reads an observation by the names of its columns.
pub(crate) fn read_observation(row: &Row<'_>) -> rusqlite::Result<Observation> {
    let list = |column: &str| Ok::<_, rusqlite::Error>(texts(&row.get::<_, String>(column)?));
    let kind = Kind::from_name(&row.get::<_, String>("kind")?).unwrap_or(Kind::Note);
    let mut observation = Observation::new(kind, row.get::<_, String>("tool_name")?, row.get::<_, String>("title")?);
    observation.narrative = row.get("narrative")?;
    observation.facts = list("facts")?;
    observation.files_read = list("files_read")?;
    observation.files_modified = list("files_modified")?;
    Ok(observation)
}

/// Reads a summary by the names of its columns.
pub(crate) fn read_summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let mut summary = Summary::new(row.get::<_, String>("request")?);
    summary.investigated = row.get("investigated")?;
    summary.learned = row.get("learned")?;
    summary.completed = row.get("completed")?;
    summary.next_steps = row.get("next_steps")?;
    Ok(summary)
}

pub(super) fn maker(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<MadeBy> {
    Ok(MadeBy::from_name(&row.get::<_, String>(column)?).unwrap_or(MadeBy::Rule))
}

pub(crate) fn texts(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

/// Returns the raw input and output of a call, as far as they are stored.
pub(crate) fn raw(
    connection: &Connection,
    session: &str,
    call: &str,
) -> rusqlite::Result<(Option<String>, Option<String>)> {
    let sql = "SELECT input_text, output_text FROM details
               WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND source_id = ?2";
    Ok(connection.first(sql, (session, call))?.unwrap_or_default())
}

/// Returns the bytes of a call's raw text without reading it.
pub(crate) fn raw_chars(connection: &Connection, observation: i64) -> rusqlite::Result<u64> {
    let bytes: Option<i64> = connection.one(
        "SELECT sum(octet_length(coalesce(d.input_text, '')) + octet_length(coalesce(d.output_text, '')))
         FROM observations o CROSS JOIN details d ON d.session_id = o.session_id AND d.source_id = o.tool_use_id
         WHERE o.id = ?1",
        [observation],
    )?;
    Ok(bytes.unwrap_or_default().unsigned_abs())
}

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
        self.try_to("read the timeline", |connection| {
            let stored = |id: RecordId| Candidate::stored(connection, Key::new(0, id.what, id.id));
            let Some(middle) = stored(around)? else { return Ok(Vec::new()) };
            let mut records = side(connection, &middle, Side::Before, before, only)?;
            records.reverse();
            records.push(around);
            records.extend(side(connection, &middle, Side::After, after, only)?);
            let mut hits = Vec::with_capacity(records.len());
            for record in records {
                if let Some(found) = stored(record)? {
                    hits.push(found.line(connection)?);
                }
            }
            Ok(hits)
        })
    }
}

/// On which side of a record others are read.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
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
        for row in rows {
            found.push(row?);
        }
    }
    found.sort_unstable();
    if matches!(side, Side::Before) {
        found.reverse();
    }
    Ok(found.into_iter().take(most).map(|(_, what, id)| RecordId { what, id }).collect())
}
