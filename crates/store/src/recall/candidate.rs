//! A candidate of a search, with its text, and with its score.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use longhaul_memory::{Field, Kind, Look, Looker, MadeBy, Subject, WEIGHTS, amends, decides};
use rusqlite::{Connection, Row};

use super::key::Key;
use super::replies;
use crate::memory::records::{raw_chars, texts};
use crate::memory::{Hit, Score, millis};
use crate::sql::Sql;
use crate::sync::name_of_host;
use crate::turns::is_taken_back;
use crate::{RecordId, What};

pub(crate) struct Candidate {
    pub(crate) what: What,
    pub(crate) id: i64,
    pub(crate) session: Option<i64>,
    pub(crate) project: i64,
    /// The row of the other host that it comes from.
    pub(super) host: Option<i64>,
    pub(super) prompt_number: i64,
    pub(crate) at: i64,
    pub(super) kind: String,
    made_by: MadeBy,
    pub(super) title: String,
    /// Its texts, each with the weight of a word in it.
    pub(super) fields: Vec<(String, f64)>,
    files: Vec<String>,
    /// Size of its stored text, in bytes.
    pub(super) chars: u64,
    /// Whether the index has found words of the query in it. It is a result even if its text was not read to the end.
    pub(super) is_selected: bool,
    decides: OnceCell<bool>,
    amends: OnceCell<bool>,
    subject: OnceCell<Subject>,
}

impl Candidate {
    /// Reads a record of what was asked, said or done; `None` if it no longer exists, or if a rewind took it back: that is not
    /// part of any conversation any more.
    pub(super) fn read(connection: &Connection, key: Key) -> rusqlite::Result<Option<Self>> {
        let Some(found) = Self::stored(connection, key)? else { return Ok(None) };
        let is_taken_back = match found.session {
            // A summary up to a prompt that was taken back is about what is not there any more.
            Some(session) => is_taken_back(connection, session, found.prompt_number)?,
            None => false,
        };
        Ok((!is_taken_back).then_some(found))
    }

    /// Reads a record, whether a rewind took it back or not; `None` if it no longer exists.
    pub(crate) fn stored(connection: &Connection, key: Key) -> rusqlite::Result<Option<Self>> {
        let columns = match key.what() {
            What::Prompt => "'', 'person', prompt",
            What::Observation => "kind, made_by, title, narrative, facts, files_read, files_modified",
            What::Summary => "'', made_by, request, investigated, learned, completed, next_steps",
        };
        let table = key.what().table();
        let sql = format!(
            "SELECT session_id, project_id, prompt_number, created_at, host_id, {columns} FROM {table} WHERE id = ?1"
        );
        let found = connection.first_with(&sql, [key.id()], |row| Self::of(key, row))?;
        let Some(mut found) = found else { return Ok(None) };
        if found.what == What::Prompt {
            let replied = replies::to_prompt(connection, key.id())?;
            found.chars += replied.len() as u64;
            found.fields.push((replied, 1.0));
        }
        Ok(Some(found))
    }

    pub(super) fn prompt(connection: &Connection, session: i64, number: i64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT id, project_id FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
        let found: Option<(i64, i64)> = connection.first(sql, (session, number))?;
        match found {
            Some((id, project)) => Self::read(connection, Key::new(project, What::Prompt, id)),
            None => Ok(None),
        }
    }

    fn of(key: Key, row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |column: usize| row.get::<_, String>(column);
        let mut files = Vec::new();
        let mut chars = 0;
        for column in 7..row.as_ref().column_count() {
            chars += row.get_ref(column)?.as_bytes()?.len() as u64;
        }
        // Counted as in a line of the timeline, with the separators of the columns.
        chars += match key.what() {
            What::Prompt => 0,
            What::Observation => 2,
            What::Summary => 3,
        };
        let fields = match key.what() {
            What::Prompt => vec![(text(7)?, 1.0)],
            What::Observation => {
                files = texts(&text(10)?);
                files.extend(texts(&text(11)?));
                vec![(text(7)?, 1.3), (text(8)?, 0.9), (texts(&text(9)?).join("\n"), 0.8), (files.join("\n"), 1.0)]
            }
            What::Summary => {
                vec![(text(7)?, 0.8), (text(8)?, 0.8), (text(9)?, 1.0), (text(10)?, 1.0), (text(11)?, 0.8)]
            }
        };
        let kind = text(5)?;
        Ok(Self {
            what: key.what(),
            id: key.id(),
            session: row.get(0)?,
            project: row.get(1)?,
            host: row.get(4)?,
            prompt_number: row.get(2)?,
            at: row.get(3)?,
            is_selected: false,
            decides: OnceCell::new(),
            amends: OnceCell::new(),
            subject: OnceCell::new(),
            kind,
            made_by: MadeBy::from_name(&text(6)?).unwrap_or(MadeBy::Rule),
            title: fields[0].0.clone(),
            fields,
            files,
            chars,
        })
    }

    pub(super) fn key(&self) -> Key {
        Key::new(self.project, self.what, self.id)
    }

    pub(super) fn decides(&self) -> bool {
        *self.decides.get_or_init(|| match self.what {
            // The reply can state one; the prompt only asks.
            What::Prompt => self.fields.get(1).is_some_and(|(replied, _)| decides(replied)),
            What::Observation | What::Summary => self.is_note(),
        })
    }

    pub(super) fn is_note(&self) -> bool {
        matches!(Kind::from_name(&self.kind), Some(Kind::Note | Kind::Decision))
    }

    /// Returns whether it says that an earlier decision no longer holds.
    pub(super) fn amends(&self) -> bool {
        *self.amends.get_or_init(|| self.fields.iter().any(|(text, _)| amends(text)))
    }

    pub(super) fn subject(&self) -> &Subject {
        self.subject.get_or_init(|| Subject::of(self.fields.iter().map(|(text, _)| text.as_str())))
    }

    pub(super) fn fields(&self) -> Vec<Field<'_>> {
        self.fields.iter().map(|(text, weight)| Field { text, weight: *weight }).collect()
    }

    /// Returns the beginning of its texts, at most so many bytes.
    pub(super) fn beginning(&self, bytes: usize) -> String {
        let mut text = self.fields.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("\n");
        text.truncate(text.floor_char_boundary(bytes));
        text
    }

    pub(super) fn weight(&self) -> f64 {
        match self.what {
            What::Prompt | What::Observation if self.decides() => WEIGHTS.decides,
            What::Observation => WEIGHTS.tool,
            What::Summary if self.made_by == MadeBy::Rule => WEIGHTS.summary,
            What::Prompt | What::Summary => 1.0,
        }
    }

    /// Returns whether the path of one of its files contains `part`, which is in lower case.
    pub(super) fn has_file(&self, part: &str) -> bool {
        self.files.iter().any(|file| file.to_lowercase().contains(part))
    }

    /// Returns it in one line.
    pub(crate) fn line(&self, connection: &Connection) -> rusqlite::Result<Hit> {
        let name = |sql: &str, row: Option<i64>| connection.first_with(sql, [row], |row| row.get::<_, String>(0));
        let title = match self.what {
            What::Prompt => self.title.trim_start().lines().next().unwrap_or_default().to_owned(),
            What::Observation | What::Summary => self.title.clone(),
        };
        let raw = if self.what == What::Observation { raw_chars(connection, self.id)? } else { 0 };
        Ok(Hit {
            record: RecordId { what: self.what, id: self.id },
            session: name("SELECT session_id FROM sessions WHERE id = ?1", self.session)?,
            host: name_of_host(connection, self.host)?,
            project: name("SELECT name FROM projects WHERE id = ?1", Some(self.project))?.unwrap_or_default(),
            prompt_number: self.prompt_number,
            at: millis(self.at),
            kind: Kind::from_name(&self.kind),
            title,
            chars: self.chars + raw,
            snippet: String::new(),
            score: Score::default(),
            is_weak: false,
            is_unrelated: false,
            is_older: false,
        })
    }

    /// Returns a hash of what it says: of two records that say the same it is the same. White space does not count, and of
    /// each text only its first `chars` characters.
    pub(super) fn sameness(&self, chars: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.what as u8, self.project, &self.kind).hash(&mut hasher);
        for (text, _) in &self.fields {
            let said: String = text.chars().filter(|c| !c.is_whitespace()).take(chars).collect();
            said.hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Number of records from which two threads read faster than one. A search at the prompt reads fewer.
const SHARED: usize = 24;

pub(super) struct Ranked {
    pub(super) candidate: Candidate,
    pub(super) look: Look,
    /// The score of its own text, without its neighbours.
    pub(super) own: f64,
    pub(super) score: f64,
    /// The score by words, also where meaning decides the order.
    pub(super) by_words: f64,
    /// The same, compared with the rarity of a word that one record has. Infinite if nothing was ranked.
    pub(super) evidence: f64,
    /// Whether a newer record answers the same question.
    pub(super) is_older: bool,
    /// The similarity of its meaning to the query's, if it is among the most similar.
    pub(super) similarity: Option<f32>,
    pub(super) parts: Parts,
}

/// The parts of a score besides a record's own text: sums, then factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parts {
    pub(super) neighbours: f64,
    pub(super) calls: f64,
    /// How similar its meaning is to the question, and how much of the words it has; 0 if only words were compared.
    pub(super) meaning: f64,
    pub(super) age: f64,
    /// The factor for a day that the query names.
    pub(super) date: f64,
}

impl Default for Parts {
    fn default() -> Self {
        Self { neighbours: 0.0, calls: 0.0, meaning: 0.0, age: 1.0, date: 1.0 }
    }
}

impl Ranked {
    /// Returns a record with the score of its own text.
    pub(super) fn new(candidate: Candidate, looker: &mut Looker) -> Self {
        let look = looker.look(&candidate.fields());
        let own = look.total() * candidate.weight();
        Self { own, score: own, by_words: own, ..Self::of(candidate, look) }
    }

    /// Returns records with the scores of their own texts, in any order. If there is much to read, two threads share it.
    pub(super) fn all(found: Vec<Candidate>, looker: &mut Looker) -> Vec<Self> {
        let read = |found: Vec<Candidate>, looker: &mut Looker| -> Vec<Self> {
            found.into_iter().map(|candidate| Self::new(candidate, looker)).collect()
        };
        if found.len() < SHARED {
            return read(found, looker);
        }
        // Every second one, because the best come first, and both threads should read those to the end.
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (number, candidate) in found.into_iter().enumerate() {
            if number % 2 == 0 { own.push(candidate) } else { others.push(candidate) }
        }
        let mut second = looker.share_reading();
        let others = Mutex::new(others);
        let take_others = || mem::take(&mut *others.lock().unwrap_or_else(PoisonError::into_inner));
        let mut ranked = thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, || read(take_others(), &mut second));
            let mut ranked = read(own, looker);
            match started.map(ScopedJoinHandle::join) {
                Ok(Ok(others)) => ranked.extend(others),
                Ok(Err(panic)) => resume_unwind(panic),
                // The system allows no more threads.
                Err(_) => {}
            }
            ranked
        });
        looker.take_back(&second);
        ranked.extend(read(take_others(), looker));
        ranked
    }

    pub(super) fn of(candidate: Candidate, look: Look) -> Self {
        let evidence = f64::INFINITY;
        Self {
            candidate,
            look,
            own: 0.0,
            score: 0.0,
            by_words: 0.0,
            evidence,
            is_older: false,
            similarity: None,
            parts: Parts::default(),
        }
    }

    /// Returns whether it has too little of the query to be called an answer.
    pub(super) fn is_weak(&self) -> bool {
        let is_telling = self.look.covered >= WEIGHTS.telling_share && self.evidence >= WEIGHTS.telling;
        self.look.covered < WEIGHTS.weak && !is_telling
    }

    /// Returns whether it is not about a question at all, though it has a word of it.
    pub(super) fn is_unrelated(&self) -> bool {
        let has_one_word = self.look.has.iter().filter(|has| **has).count() <= 1;
        let says_little =
            has_one_word && self.look.covered < WEIGHTS.related_share && self.evidence < WEIGHTS.related_score;
        // Without evidence, only words were found that every text has.
        let is_by_words = says_little || self.evidence <= 0.0;
        is_by_words && self.similarity.is_none_or(|similarity| similarity < WEIGHTS.related_meaning)
    }
}
