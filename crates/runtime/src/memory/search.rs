//! A search, from any interface, as a query of the store, its results as JSON with the searched words marked, and answering a question
//! with the best passages. Used by the command, the MCP server, the worker and the hook.

use longhaul_core::Millis;
use longhaul_core::clock::{Date, date_of, time_of};
use longhaul_core::text::CHARS_PER_TOKEN;
use longhaul_memory::{
    ANSWER_CANDIDATES, ANSWER_PASSAGES, Answer, AnswerLimits, AnswerPassage, FoundPassage, Kind, MarkedText,
    PassageKind, Query, WordMarker,
};
use longhaul_store::{Content, Hit, NearRecords, Order, Record, RecordId, SearchQuery, Store, StoreError, What};
use serde_json::{Value, json};

use crate::{midnight, utc_offset_seconds};

/// A search: words and filters. A filter in a field takes precedence over one among the words.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The words. The caller resolves a project that is named among them.
    pub query: Query,
    /// Only observations of these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Part of a file's path.
    pub file: Option<String>,
    /// Only from this day on.
    pub since: Option<Date>,
    pub before: Option<Date>,
    /// Only of this session.
    pub session: Option<String>,
    /// Not of this session.
    pub without_session: Option<String>,
    /// Only what comes from the host with this name.
    pub from_host: Option<String>,
    /// Only records of these types; empty for all.
    pub what: Vec<What>,
    pub order: Order,
    pub limit: usize,
    pub offset: usize,
}

/// An invalid filter among the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{value} is not a day: write it as {name}:2026-01-31, or in quotes to search for the words")]
pub struct BadFilter {
    pub name: &'static str,
    pub value: String,
}

impl Wanted {
    /// Returns an error for an invalid filter among the words, because a search without it would not be the one that
    /// was asked for.
    pub fn check(&self) -> Result<(), BadFilter> {
        let bad = self.query.misread.first();
        bad.map_or(Ok(()), |(name, value)| Err(BadFilter { name, value: value.clone() }))
    }
}

/// Searches by words, and by the records that are near in meaning, which `near` returns, in the project with this key or in all.
pub(super) fn find(
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
    near: impl FnOnce() -> NearRecords,
) -> Result<Vec<Hit>, StoreError> {
    let query = &wanted.query;
    let kinds: Vec<Kind> = wanted.kinds.iter().copied().chain(query.kind.filter(|_| wanted.kinds.is_empty())).collect();
    let day_before = |date: Date| Millis(midnight(date).0.saturating_sub(1));
    let query = SearchQuery {
        // A star matches everything.
        query: Some(query)
            .filter(|query| query.terms.iter().any(|term| term.text != "*") || !query.excluded.is_empty()),
        project_key,
        session: wanted.session.as_deref(),
        without_session: wanted.without_session.as_deref(),
        from_host: wanted.from_host.as_deref().or(query.from.as_deref()),
        kinds: &kinds,
        file: wanted.file.as_deref().or(query.file.as_deref()),
        from: wanted.since.or(query.since).map(midnight),
        to: wanted.before.or(query.before).map(day_before),
        what: &wanted.what,
        order: wanted.order,
        limit: wanted.limit,
        offset: wanted.offset,
    };
    store.search_with_meaning(&query, near)
}

/// A question, and the limits of its answer.
#[derive(Debug, Clone)]
pub struct Recall<'a> {
    /// The question with its filters. Its order, limit and offset are ignored.
    pub wanted: Wanted,
    /// Only this project; `None` for all.
    pub project_key: Option<&'a str>,
    /// The session that asks. Its prompt without a reply is the question itself, and is left out.
    pub asking_session: Option<&'a str>,
    /// Records that are left out, such as those that were shown before.
    pub without: &'a [RecordId],
    pub limits: AnswerLimits,
}

impl<'a> Recall<'a> {
    /// Returns a question whose answer has at most `tokens` tokens.
    pub fn new(wanted: Wanted, project_key: Option<&'a str>, tokens: usize) -> Self {
        let limits = AnswerLimits { chars: tokens.saturating_mul(CHARS_PER_TOKEN), passages: ANSWER_PASSAGES };
        Self { wanted, project_key, asking_session: None, without: &[], limits }
    }
}

/// A question without words to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the question has no words to search for: ask in a sentence, such as \"why did the importer stall\"")]
pub struct NoWords;

/// Parses a question as typed.
pub fn question(text: &str) -> Result<Query, NoWords> {
    let query = Query::parse(text);
    let has_words = query.required().any(|term| term.text.chars().any(char::is_alphanumeric));
    if has_words || !query.wanted_terms().is_empty() { Ok(query) } else { Err(NoWords) }
}

/// Answers a question with the best passages, found by words and by the records that are near in meaning, which `near` returns.
///
/// The cost is bounded, however many records there are: one search, and a fixed number of records that are read by id.
pub(super) fn recall_with(
    store: &Store,
    recall: &Recall<'_>,
    near: impl FnOnce() -> NearRecords,
) -> Result<Answer, StoreError> {
    let wanted = Wanted { limit: ANSWER_CANDIDATES, offset: 0, order: Default::default(), ..recall.wanted.clone() };
    let mut hits = find(store, &wanted, recall.project_key, near)?;
    let is_left_out = |hit: &Hit| {
        recall.without.contains(&hit.record)
            || (hit.session.is_some() && hit.session.as_deref() == wanted.without_session.as_deref())
    };
    hits.retain(|hit| !is_left_out(hit));
    // Where the best result is not about the question, no other is.
    if hits.first().is_some_and(|best| best.is_unrelated) {
        hits.clear();
    }
    let ids: Vec<RecordId> = hits.iter().map(|hit| hit.record).collect();
    let records = store.passages(&ids)?;
    let mut found: Vec<FoundPassage> = Vec::with_capacity(records.len());
    for record in records {
        let Some(hit) = hits.iter().find(|hit| hit.record == record.record) else { continue };
        let passage = passage(hit, record);
        let is_question = passage.kind == PassageKind::Exchange && passage.answered.trim().is_empty();
        if !(is_question && passage.session.is_some() && passage.session.as_deref() == recall.asking_session) {
            found.push(passage);
        }
    }
    Ok(Answer::compose(&wanted.query, found, recall.limits))
}

fn passage(hit: &Hit, record: Record) -> FoundPassage {
    let offset = utc_offset_seconds(hit.at);
    let (kind, asked, answered) = content(record.content);
    let mut passage = FoundPassage::new(hit.record.to_string(), hit.at, asked, answered);
    passage.session.clone_from(&hit.session);
    passage.host.clone_from(&hit.host);
    passage.project.clone_from(&hit.project);
    passage.prompt_number = hit.prompt_number;
    passage.date = date_of(hit.at, offset).to_string();
    passage.time = time_of(hit.at, offset)[..5].to_owned();
    passage.kind = kind;
    passage.score = hit.score.thousandths as f64 / 1_000.0;
    passage.is_weak = hit.is_weak;
    passage.is_older = hit.is_older;
    passage
}

fn content(content: Content) -> (PassageKind, String, String) {
    match content {
        Content::Prompt { prompt, reply } => (PassageKind::Exchange, prompt, reply),
        Content::Observation { observation, .. } => {
            let kind = match observation.kind {
                Kind::Note => PassageKind::Note,
                Kind::Decision => PassageKind::Decision,
                Kind::Change | Kind::Discovery | Kind::Command | Kind::Problem | Kind::Fix | Kind::Delegation => {
                    PassageKind::Work
                }
            };
            let mut lines = observation.facts;
            // A note of one line has that line as title and as text.
            lines.extend(Some(observation.narrative).filter(|text| text.trim() != observation.title.trim()));
            (kind, observation.title, lines.join("\n"))
        }
        Content::Summary { summary, .. } => {
            let parts = [
                ("looked at", summary.investigated),
                ("learned", summary.learned),
                ("done", summary.completed),
                ("left", summary.next_steps),
            ];
            let parts = parts.into_iter().filter(|(_, text)| !text.trim().is_empty());
            let lines: Vec<String> = parts.map(|(label, text)| format!("{label}: {}", text.trim())).collect();
            (PassageKind::Summary, summary.request, lines.join("\n"))
        }
    }
}

/// Returns an answer as JSON. Marks are pairs of character offsets.
pub fn answer_json(answer: &Answer) -> Value {
    let marked = |text: &MarkedText| json!({ "text": text.text, "marks": text.marks_in_chars() });
    let passage = |passage: &AnswerPassage| {
        let found = &passage.found;
        json!({
            "id": found.id,
            "kind": found.kind.as_str(),
            "created_at": found.at.0,
            "prompt_number": found.prompt_number,
            "host": found.host,
            "asked": marked(&passage.asked),
            "answered": marked(&passage.answered),
            "score": found.score,
            "weak": found.is_weak,
            "older": found.is_older,
        })
    };
    let sessions: Vec<Value> = answer
        .sessions
        .iter()
        .map(|session| {
            json!({
                "session_id": session.session,
                "project": session.project,
                "date": session.date,
                "passages": session.passages.iter().map(passage).collect::<Vec<Value>>(),
            })
        })
        .collect();
    json!({
        "sessions": sessions,
        "weak": answer.is_weak,
        "left_out": answer.left_out,
        "tokens": answer.text().chars().count().div_ceil(CHARS_PER_TOKEN),
    })
}

/// Returns the marker for the words of a query in the titles and snippets of its results.
pub fn marker(query: &Query, hits: &[Hit]) -> WordMarker {
    let texts = hits.iter().flat_map(|hit| [hit.title.as_str(), hit.snippet.as_str()]);
    WordMarker::new(query, texts.collect::<Vec<_>>().iter().copied())
}

/// Returns search results as JSON. Marks are pairs of character offsets.
pub fn marked_hits(query: &Query, hits: &[Hit]) -> Vec<Value> {
    let mut marker = marker(query, hits);
    let mut marks = |text: &str| MarkedText { text: text.to_owned(), marks: marker.marks(text) }.marks_in_chars();
    let marked = |hit: &Hit| {
        let mut value = hit.to_json();
        value["title_marks"] = json!(marks(&hit.title));
        value["snippet_marks"] = json!(marks(&hit.snippet));
        value
    };
    hits.iter().map(marked).collect()
}
