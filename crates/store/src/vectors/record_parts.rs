//! The text of a record that vectors are computed from, in parts: how many, and how long.

use longhaul_memory::Kind;
use rusqlite::{Connection, OptionalExtension};

use crate::memory::records::texts;
use crate::recall::replies;
use crate::{RecordId, What};

/// Characters of a part. The mean over a longer text says little about each of its sentences.
const PART_CHARS: usize = 1_200;

/// The most parts of a record.
const MAX_PARTS: usize = 8;

/// A record whose vectors are to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordParts {
    /// The id of the record.
    pub id: RecordId,
    /// Its text, in parts, each of which has a vector.
    pub parts: Vec<String>,
    /// The folder of its session, or the key of its project if it has none: by it, a project is excluded from the memory.
    pub folder: String,
    pub(crate) project: i64,
    /// Whether its text may still grow, by the reply to a prompt.
    pub(crate) is_open: bool,
}

impl RecordParts {
    /// Returns the bytes of its text, by which it is known whether the text has grown.
    pub(super) fn bytes(&self) -> i64 {
        self.parts.iter().map(String::len).sum::<usize>() as i64
    }
}

/// The kinds of observations that have a text of their own; the others describe what a tool did.
pub(super) const KINDS: [Kind; 2] = [Kind::Note, Kind::Decision];

/// The folder of a record `t`. A session of another host has none.
const FOLDER: &str = "coalesce((SELECT nullif(s.project_path, '') FROM sessions s WHERE s.id = t.session_id),
                               (SELECT p.project_key FROM projects p WHERE p.id = t.project_id), '')";

/// What is read of a record: its project, its folder, its text, and whether that may still grow.
type Read = (i64, String, String, bool);

/// Reads the text of a record; `None` if there is no such record.
pub(super) fn read_parts(
    connection: &Connection,
    record: RecordId,
    open_since: i64,
) -> rusqlite::Result<Option<RecordParts>> {
    let found: Option<Read> = match record.what {
        What::Prompt => prompt(connection, record.id, open_since)?,
        What::Observation => connection
            .prepare_cached(&format!(
                "SELECT t.project_id, {FOLDER}, t.title, t.narrative, t.facts FROM observations t WHERE t.id = ?1"
            ))?
            .query_row([record.id], |row| {
                let facts = texts(&row.get::<_, String>(4)?).join("\n");
                let text = [row.get::<_, String>(2)?, row.get(3)?, facts].join("\n");
                Ok((row.get(0)?, row.get(1)?, text, false))
            })
            .optional()?,
        What::Summary => connection
            .prepare_cached(&format!(
                "SELECT t.project_id, {FOLDER}, t.request, t.investigated, t.learned, t.completed, t.next_steps
                 FROM session_summaries t WHERE t.id = ?1"
            ))?
            .query_row([record.id], |row| {
                let texts = (2..=6).map(|column| row.get::<_, String>(column)).collect::<Result<Vec<_>, _>>()?;
                Ok((row.get(0)?, row.get(1)?, texts.join("\n"), false))
            })
            .optional()?,
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
    let found: Option<Row> = connection.prepare_cached(&sql)?.query_row([id], read).optional()?;
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
