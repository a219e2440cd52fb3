//! Looking up parts of words by their trigrams, in prompts, titles and paths.

use rusqlite::Connection;

use super::expression::Strict;
use super::key::Key;
use crate::What;
use crate::sql::Sql;

/// How many matches of a file's name are read together with words.
const MOST_FILES: usize = 10_000;

/// How many trigrams of a text are looked up. More would make no difference: matches are compared with the text.
const MOST_TRIGRAMS: usize = 10;

/// Adds the trigrams of a record. What belongs to its project has `mark` in common (see `schema.sql`).
///
/// The texts are read first: FTS5 would write a segment for each row that `INSERT … SELECT` adds.
pub(super) fn add(connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
    let read = match what {
        What::Prompt => "SELECT prompt, mark FROM prompts WHERE id = ?1",
        What::Observation => "SELECT title, files_read, files_modified, mark FROM observations WHERE id = ?1",
        What::Summary => return Ok(()),
    };
    let mut statement = connection.prepare_cached(read)?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Ok(()) };
    let text = |column: usize| row.get::<_, String>(column);
    match what {
        What::Prompt => {
            let sql = "INSERT INTO prompt_trigrams (rowid, prompt, mark) VALUES (?1, ?2, ?3)";
            connection.run(sql, (id, text(0)?, text(1)?)).map(drop)
        }
        What::Observation | What::Summary => {
            let sql = "INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.run(sql, (id, text(0)?, text(1)?, text(2)?, text(3)?)).map(drop)
        }
    }
}

/// Removes the trigrams of a record, before it changes or goes: the index reads there which they are.
pub(super) fn remove(connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
    let sql = match what {
        What::Prompt => "DELETE FROM prompt_trigrams WHERE rowid = ?1",
        What::Observation => "DELETE FROM observation_trigrams WHERE rowid = ?1",
        What::Summary => return Ok(()),
    };
    connection.run(sql, [id]).map(drop)
}

/// Returns the records whose title, prompt or path has all parts somewhere, the last stored first.
pub(super) fn having_parts(
    connection: &Connection,
    strict: &Strict<'_>,
    parts: &[String],
) -> rusqlite::Result<Vec<Key>> {
    let parts: Vec<String> =
        parts.iter().filter(|part| !trigrams(part).is_empty()).map(|part| part.to_lowercase()).collect();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let file = strict.file.as_deref().map(in_json);
    let expression = trigram_expression(strict.project, parts.iter().chain(&file).map(String::as_str));
    // Reading the matches is most of what it costs. Prompts are longer.
    let tables = [
        (What::Prompt, 300, "prompts", "prompt_trigrams", "t.prompt, ''"),
        (
            What::Observation,
            1_000,
            "observations",
            "observation_trigrams",
            "t.title, t.files_read || ' ' || t.files_modified",
        ),
    ];
    let mut found = Vec::new();
    for (what, most, table, index, texts) in tables.into_iter().filter(|(what, ..)| strict.takes(*what)) {
        let sql = format!(
            "SELECT t.id, t.project_id, {texts} FROM {index} w CROSS JOIN {table} t ON t.id = w.rowid
             WHERE {index} MATCH ?1 AND (?2 IS NULL OR t.session_id = ?2) AND t.created_at BETWEEN ?3 AND ?4
             ORDER BY w.rowid DESC LIMIT {most}"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query((&expression, strict.session, strict.from, strict.to))?;
        while let Some(row) = rows.next()? {
            let [title, files] = [2, 3].map(|column| row.get::<_, String>(column).map(|text| text.to_lowercase()));
            let (title, files) = (title?, files?);
            if parts.iter().all(|part| title.contains(part) || files.contains(&in_json(part))) {
                found.push(Key::new(row.get(1)?, what, row.get(0)?));
            }
        }
    }
    Ok(found)
}

/// Returns the observations with a path that may contain a text, the last stored first; `None` if the text is too short to
/// be looked up.
pub(super) fn files_like(
    connection: &Connection,
    project: Option<i64>,
    file: &str,
) -> rusqlite::Result<Option<Vec<i64>>> {
    let file = in_json(file);
    if trigrams(&file).is_empty() {
        return Ok(None);
    }
    let expression = trigram_expression(project, [file.as_str()]);
    let sql = format!(
        "SELECT rowid FROM observation_trigrams WHERE observation_trigrams MATCH ?1 ORDER BY rowid DESC LIMIT {MOST_FILES}"
    );
    connection.all(&sql, [expression]).map(Some)
}

/// Returns the FTS5 expression that all trigrams of some texts are there, in the project.
fn trigram_expression<'t>(project: Option<i64>, texts: impl IntoIterator<Item = &'t str>) -> String {
    let mark = project.map(|project| {
        let digit = |n: i64| u32::try_from(n).ok().and_then(|n| char::from_u32(0xE000 + n)).unwrap_or('\u{E000}');
        [digit(0), digit(project / 6400), digit(project % 6400)].iter().collect()
    });
    let all = mark.into_iter().chain(texts.into_iter().flat_map(trigrams));
    all.map(|trigram: String| format!("\"{trigram}\"")).collect::<Vec<_>>().join(" AND ")
}

/// Returns a text as it stands within a JSON string.
fn in_json(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// Returns the first trigrams of a text that are the same in plain text and in JSON.
fn trigrams(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut trigrams: Vec<String> = chars
        .windows(3)
        .filter(|three| !three.iter().any(|c| matches!(c, '"' | '\\') || c.is_control()))
        .map(|three| three.iter().collect())
        .collect();
    trigrams.sort();
    trigrams.dedup();
    trigrams.truncate(MOST_TRIGRAMS);
    trigrams
}
