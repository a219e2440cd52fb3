//! The search at the prompt. Its limits are far below those of a search, because the user waits.

use std::cell::LazyCell;

use longhaul_core::Millis;
use longhaul_memory::{Evidence, Looker, PromptQuestion, PromptRank, Spot};
use rusqlite::Connection;

use super::candidate::{Candidate, Ranked};
use super::expression::Strict;
use super::search::{PROMPT, Searcher};
use super::{NearRecords, SearchQuery, backlog, postings};
use crate::memory::millis;
use crate::sql::Sql;
use crate::sync::name_of_host;
use crate::{RecordId, Store, StoreError, What, cannot};

/// Maximum number of passages that are returned.
const RETURNED: usize = 20;

/// The record at this position among the nearest ones counts as unrelated to the prompt, because few are related.
const FIRST_UNRELATED: usize = 9;

/// The similarity of an unrelated record, where fewer are known.
const UNRELATED_SIMILARITY: f32 = 0.1;

#[derive(Debug, Clone, Copy)]
pub struct PromptSearch<'a> {
    pub question: &'a PromptQuestion,
    pub project_key: &'a str,
    /// The session of the prompt, whose own passages are excluded.
    pub session: &'a str,
}

/// A passage that may answer a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPassage {
    pub record: RecordId,
    /// The session; empty for a note without one.
    pub session: String,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    pub at: Millis,
    /// The prompt, or the title of a note.
    pub asked: String,
    pub replied: String,
    /// The position in the reply at which the words are close together, in bytes; `None` if they are elsewhere.
    pub spot: Option<usize>,
    pub rank: PromptRank,
    /// Whether a newer passage answers the same question.
    pub is_older: bool,
}

impl Store {
    /// Returns about how many prompts and observations there are, by their numbers: those that were deleted count, too.
    pub fn newest_numbers(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce((SELECT max(id) FROM prompts), 0) + coalesce((SELECT max(id) FROM observations), 0)";
        let number = self.connection.one::<i64>(sql, []).map_err(cannot("read the newest numbers of records"))?;
        Ok(number.max(0) as u64)
    }

    /// Returns the passages of other sessions that answer a prompt best: by words alone, and by words and meaning.
    ///
    /// `near` returns the records that are near in meaning; none without a model. It is called when the words have been searched
    /// for, so that another thread can compute it meanwhile.
    ///
    /// Returns none until the index of passages is complete.
    pub fn passages_for_prompt(
        &self,
        search: &PromptSearch<'_>,
        near: impl FnOnce() -> NearRecords,
    ) -> Result<Vec<PromptPassage>, StoreError> {
        self.read("look for passages that the prompt is about", |connection| find(connection, search, near))
    }
}

fn find(
    connection: &Connection,
    search: &PromptSearch<'_>,
    near: impl FnOnce() -> NearRecords,
) -> rusqlite::Result<Vec<PromptPassage>> {
    if !backlog::is_empty(connection)? {
        return Ok(Vec::new());
    }
    let own: Option<i64> = connection.first("SELECT id FROM sessions WHERE session_id = ?1", [search.session])?;
    let query = SearchQuery {
        project_key: Some(search.project_key),
        without_session: own.and(Some(search.session)),
        ..SearchQuery::default()
    };
    let Some(strict) = Strict::new(connection, &query)? else { return Ok(Vec::new()) };
    let near = LazyCell::new(near);
    let wanted = &search.question.terms;
    let searcher = Searcher { connection, query: &query, lazy_near: &near, strict: &strict, wanted, effort: &PROMPT };
    let (ranked, looker) = searcher.ranked()?;
    let most = postings::rarity(1.0, searcher.records()?);
    let unrelated = near.records.get(FIRST_UNRELATED).map_or(UNRELATED_SIMILARITY, |(_, similarity)| *similarity);
    let mut passages = Vec::new();
    for (ranked, mut rank) in best_of(&looker, &ranked, own, most) {
        for evidence in [&mut rank.evidence, &mut rank.own] {
            evidence.stands_out = evidence.similarity.map_or(0.0, |similarity| similarity - unrelated);
        }
        passages.push(PromptPassage { rank, ..passage(connection, ranked)? });
    }
    Ok(passages)
}

/// Returns the best passages that can be shown, with their ranks. `own` is the session of the prompt.
fn best_of<'r>(looker: &Looker, ranked: &'r [Ranked], own: Option<i64>, most: f64) -> Vec<(&'r Ranked, PromptRank)> {
    // A prompt without a reply is no answer.
    let says_something = |candidate: &Candidate| {
        candidate.is_note() || candidate.fields.get(1).is_some_and(|(reply, _)| !reply.trim().is_empty())
    };
    let is_shown = |ranked: &&Ranked| {
        let candidate = &ranked.candidate;
        candidate.what != What::Summary && says_something(candidate) && (own.is_none() || candidate.session != own)
    };
    let shown: Vec<&Ranked> = ranked.iter().filter(is_shown).collect();
    let rank = |place: usize| {
        let mut rank = PromptRank::new(shown[place].score);
        rank.by_words = shown[place].by_words;
        rank.evidence = evidence(looker, ranked, shown[place], most, 1);
        rank.own = evidence(looker, ranked, shown[place], most, 0);
        rank
    };
    (0..shown.len().min(RETURNED)).map(|place| (shown[place], rank(place))).collect()
}

/// Returns the evidence for a passage, with that of its tool calls, and of the passages up to `distance` before and after it.
fn evidence(looker: &Looker, ranked: &[Ranked], of: &Ranked, most: f64, distance: u64) -> Evidence {
    let mut has = of.look.has.clone();
    let mut near = of.look.near;
    let is_beside = |other: &&Ranked| {
        let is_call = other.candidate.what == What::Observation;
        other.candidate.session == of.candidate.session
            && of.candidate.session.is_some()
            && other.candidate.prompt_number.abs_diff(of.candidate.prompt_number) <= if is_call { 0 } else { distance }
    };
    for other in ranked.iter().filter(is_beside) {
        near = near.max(other.look.near);
        has.iter_mut().zip(&other.look.has).for_each(|(has, other)| *has |= other);
    }
    let mut evidence = Evidence::default();
    evidence.words = looker.weight(&has) / most;
    evidence.covered = looker.share(&has);
    evidence.near = near;
    evidence.similarity = of.similarity;
    evidence
}

/// Returns a passage without its ranks.
fn passage(connection: &Connection, ranked: &Ranked) -> rusqlite::Result<PromptPassage> {
    let candidate = &ranked.candidate;
    let session: Option<String> = match candidate.session {
        Some(id) => connection.first("SELECT session_id FROM sessions WHERE id = ?1", [id])?,
        None => None,
    };
    let Spot { field, start } = ranked.look.spot(&candidate.fields());
    let text = |field: usize| candidate.fields.get(field).map(|(text, _)| text.clone()).unwrap_or_default();
    Ok(PromptPassage {
        record: RecordId { what: candidate.what, id: candidate.id },
        session: session.unwrap_or_default(),
        host: name_of_host(connection, candidate.host)?,
        at: millis(candidate.at),
        asked: text(0),
        replied: text(1),
        spot: (field == 1 && ranked.look.near > 0.0).then_some(start),
        rank: PromptRank::default(),
        is_older: ranked.is_older,
    })
}
