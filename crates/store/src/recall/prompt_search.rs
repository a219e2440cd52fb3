//! The search at the prompt. Its limits are far below those of a search, because the user waits.

use std::collections::HashSet;

use longhaul_core::Millis;
use longhaul_memory::{Evidence, Looker, PromptQuestion, PromptRank, Spot, WEIGHTS};
use rusqlite::{Connection, OptionalExtension};

use super::candidate::Candidate;
use super::expression::Strict;
use super::order::{Asked, rank};
use super::prompt_terms::{Index, last_prompts};
use super::ranked::Ranked;
use super::{SearchQuery, backlog, meaning};
use crate::memory::millis;
use crate::memory::session_row::project_number;
use crate::sync::host_of;
use crate::{RecordId, Store, StoreError, What, cannot};

/// Maximum number of passages that are returned.
const RETURNED: usize = 10;

/// The record at this position among the nearest ones counts as unrelated to the prompt, because few are related.
const RELATED: usize = 9;

/// Number of records near in meaning that are added to those that words find. Each is read.
const NEAR: usize = 8;

/// Number of bytes that are read of long passages after their beginnings, of all together.
const READ_ON: usize = 128 * 1024;

/// A search at the prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptSearch<'a> {
    /// The question of the prompt.
    pub question: &'a PromptQuestion,
    /// The project.
    pub project_key: &'a str,
    /// The session of the prompt, whose own passages are excluded.
    pub session: &'a str,
}

/// A passage that may answer a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPassage {
    /// The id of the record.
    pub record: RecordId,
    /// The session; empty for a note without one.
    pub session: String,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    /// The time of the passage.
    pub at: Millis,
    /// The prompt, or the title of a note.
    pub asked: String,
    /// The reply.
    pub replied: String,
    /// The position in the reply at which the words are close together, in bytes; `None` if they are elsewhere.
    pub spot: Option<usize>,
    /// Its rank by words alone; `None` if words do not find it.
    pub by_words: Option<PromptRank>,
    /// Its rank by words and meaning; `None` without a model.
    pub with_meaning: Option<PromptRank>,
    /// Whether a newer passage answers the same question.
    pub is_older: bool,
}

impl Store {
    /// Returns about how many prompts and observations there are, by their numbers: those that were deleted count, too.
    pub fn newest_numbers(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce((SELECT max(id) FROM prompts), 0) + coalesce((SELECT max(id) FROM observations), 0)";
        let number = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)));
        Ok(number.map_err(cannot("read the newest numbers of records"))?.max(0) as u64)
    }

    /// Returns the passages of other sessions that answer a prompt best: by words alone, and by words and meaning.
    ///
    /// `near` returns the records that are near in meaning, the most similar first; none without a model. It is called when
    /// the words have been searched for, so that another thread can compute it meanwhile.
    ///
    /// Returns none until the index of passages is complete.
    pub fn passages_for_prompt(
        &self,
        search: &PromptSearch<'_>,
        near: impl FnOnce() -> Vec<(RecordId, f32)>,
    ) -> Result<Vec<PromptPassage>, StoreError> {
        self.read("look for passages that the prompt is about", |connection| find(connection, search, near))
    }
}

fn find(
    connection: &Connection,
    search: &PromptSearch<'_>,
    near: impl FnOnce() -> Vec<(RecordId, f32)>,
) -> rusqlite::Result<Vec<PromptPassage>> {
    if !backlog::is_empty(connection)? {
        return Ok(Vec::new());
    }
    let Some(project) = project_number(connection, search.project_key)? else { return Ok(Vec::new()) };
    let own: Option<i64> = connection
        .prepare_cached("SELECT id FROM sessions WHERE session_id = ?1")?
        .query_row([search.session], |row| row.get(0))
        .optional()?;
    let own_prompts = own.map_or(Ok(HashSet::new()), |own| last_prompts(connection, own))?;
    let index = Index { connection, project, own_prompts };
    let found = index.read(&search.question.terms)?;
    let query = SearchQuery {
        project_key: Some(search.project_key),
        without_session: own.and(Some(search.session)),
        what: &[What::Prompt, What::Observation],
        ..SearchQuery::default()
    };
    let Some(strict) = Strict::new(connection, &query)? else { return Ok(Vec::new()) };
    let mut looker = Looker::new(found.terms.iter().map(|(term, rarity)| (term, *rarity)));
    looker.read_on = READ_ON;
    let by_words = rank(connection, &mut looker, found.records, &strict, Asked::Prompt)?;
    // The ranks by words are those of a search without a model, so they are taken before meaning changes anything.
    let best = best_of(&looker, &by_words, own, found.most);
    let mut passages = Vec::with_capacity(best.len());
    for (one, rank) in best {
        passages.push(PromptPassage { by_words: Some(rank), ..passage(connection, one)? });
    }
    let near = near();
    if near.is_empty() {
        return Ok(passages);
    }
    let nearest = &near[..near.len().min(NEAR)];
    let ranked = meaning::join(connection, &mut looker, by_words, nearest, &strict, Asked::Prompt)?;
    let unrelated = near.get(RELATED).map_or(WEIGHTS.unrelated as f32, |(_, similarity)| *similarity);
    for (one, mut rank) in best_of(&looker, &ranked, own, found.most) {
        for evidence in [&mut rank.evidence, &mut rank.own] {
            evidence.stands_out = evidence.similarity.map_or(0.0, |similarity| similarity - unrelated);
        }
        let record = RecordId { what: one.one.what, id: one.one.id };
        match passages.iter_mut().find(|passage| passage.record == record) {
            Some(known) => {
                known.with_meaning = Some(rank);
                known.is_older |= one.is_older;
            }
            None => passages.push(PromptPassage { with_meaning: Some(rank), ..passage(connection, one)? }),
        }
    }
    Ok(passages)
}

/// Returns the best passages that can be shown, with their ranks. `own` is the session of the prompt.
fn best_of<'r>(looker: &Looker, ranked: &'r [Ranked], own: Option<i64>, most: f64) -> Vec<(&'r Ranked, PromptRank)> {
    // A prompt without a reply is no answer.
    let says_something = |one: &Candidate| {
        one.what == What::Observation || one.fields.get(1).is_some_and(|(reply, _)| !reply.trim().is_empty())
    };
    let is_shown = |ranked: &&Ranked| {
        let one = &ranked.one;
        one.what != What::Summary && says_something(one) && (own.is_none() || one.session != own)
    };
    let shown: Vec<&Ranked> = ranked.iter().filter(is_shown).collect();
    let rank = |place: usize| {
        let mut rank = PromptRank::new(place, shown[place].score);
        rank.evidence = evidence(looker, &shown, place, most, Beside::Counted);
        rank.own = evidence(looker, &shown, place, most, Beside::LeftOut);
        rank
    };
    (0..shown.len().min(RETURNED)).map(|place| (shown[place], rank(place))).collect()
}

/// Whether neighbouring passages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Counted,
    LeftOut,
}

/// Returns the evidence for a passage.
fn evidence(looker: &Looker, ranked: &[&Ranked], place: usize, most: f64, beside: Beside) -> Evidence {
    let one = ranked[place];
    let mut has = one.look.has.clone();
    let mut near = one.look.near;
    let is_beside = |other: &&&Ranked| {
        beside == Beside::Counted
            && other.one.session == one.one.session
            && one.one.session.is_some()
            && other.one.prompt_number.abs_diff(one.one.prompt_number) <= 1
    };
    for other in ranked.iter().filter(is_beside) {
        near = near.max(other.look.near);
        has.iter_mut().zip(&other.look.has).for_each(|(has, other)| *has |= other);
    }
    let mut evidence = Evidence::default();
    evidence.words = looker.weight(&has) / most;
    evidence.covered = looker.share(&has);
    evidence.near = near;
    evidence.similarity = one.similarity;
    evidence
}

/// Returns a passage without its ranks.
fn passage(connection: &Connection, ranked: &Ranked) -> rusqlite::Result<PromptPassage> {
    let one = &ranked.one;
    let session: Option<String> = match one.session {
        Some(id) => connection
            .prepare_cached("SELECT session_id FROM sessions WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?,
        None => None,
    };
    let Spot { field, start } = ranked.look.spot(&one.fields());
    let text = |field: usize| one.fields.get(field).map(|(text, _)| text.clone()).unwrap_or_default();
    Ok(PromptPassage {
        record: RecordId { what: one.what, id: one.id },
        session: session.unwrap_or_default(),
        host: host_of(connection, one.what, one.id)?,
        at: millis(one.at),
        asked: text(0),
        replied: text(1),
        spot: (field == 1 && ranked.look.near > 0.0).then_some(start),
        by_words: None,
        with_meaning: None,
        is_older: ranked.is_older,
    })
}
