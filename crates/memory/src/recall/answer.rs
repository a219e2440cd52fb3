//! The answer to a question: the best passages, without those that a newer one has replaced, cut around the words,
//! grouped by session, within a budget; and as lines of text, for a terminal and for a model.

use std::ops::RangeInclusive;

use longhaul_core::{Millis, counted, short_session};

use super::amends::decides;
use super::excerpt::{MarkedText, excerpt};
use super::matched_words::{WordMarker, WordMatch};
use super::normalised_text::{FIRST_PART, READ_ON};
use crate::query::Query;
use crate::text::{clean, one_line};

/// Default number of tokens of an answer.
pub const ANSWER_TOKENS: usize = 1_500;

/// The allowed numbers of tokens. Fewer are not enough for one passage.
pub const ANSWER_TOKENS_RANGE: RangeInclusive<usize> = 100..=20_000;

/// Maximum number of passages of an answer.
pub const ANSWER_PASSAGES: usize = 12;

/// Maximum number of passages of an answer of which none is good.
const WEAK_ANSWER_PASSAGES: usize = 3;

/// Number of search results that an answer is chosen from. More do not fit into it.
pub const ANSWER_CANDIDATES: usize = 24;

/// The limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Maximum number of characters of [`Answer::text`].
    pub chars: usize,
    /// Maximum number of passages.
    pub passages: usize,
}

/// Minimum space for a passage, in characters. A shorter one would not be useful.
const LEAST_CHARS: usize = 350;

/// Passages with at least this share of the best score count as equally good answers.
const AS_GOOD: f64 = 0.6;

/// A record that was found, with its text.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FoundPassage {
    /// The id of the record.
    pub id: String,
    /// The session; `None` for a note without a session.
    pub session: Option<String>,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    /// The name of the project.
    pub project: String,
    /// The number of the prompt in the session.
    pub prompt_number: i64,
    /// The time of the record.
    pub at: Millis,
    /// The day, in local time.
    pub date: String,
    /// The time of day, in local time.
    pub time: String,
    /// The kind of the passage.
    pub kind: PassageKind,
    /// The prompt; the title of a record that is not a prompt.
    pub asked: String,
    /// The reply; the text of a record that is not a prompt.
    pub answered: String,
    /// How well it answers, compared with others of the same search; 0 if that is not known.
    pub score: f64,
    /// Whether it has few of the words of the question.
    pub is_weak: bool,
    /// Whether a newer passage answers the same question.
    pub is_older: bool,
}

impl FoundPassage {
    /// Returns the record `id` of the time `at`: what was asked, and what was answered.
    ///
    /// It belongs to no session, and its day, its time of day and its score are not known.
    pub fn new(id: impl Into<String>, at: Millis, asked: impl Into<String>, answered: impl Into<String>) -> Self {
        Self { id: id.into(), at, asked: asked.into(), answered: answered.into(), ..Self::default() }
    }
}

longhaul_core::named! {
    /// The kind of a passage.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    #[non_exhaustive]
    pub enum PassageKind {
        /// A prompt with its replies.
        #[default]
        Exchange = "exchange",
        /// A note.
        Note = "note",
        /// A recognised decision.
        Decision = "decision",
        /// A tool call.
        Work = "work",
        /// The summary of a session.
        Summary = "summary",
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Answer {
    /// Passages by session. Of sessions with a decision, the newest comes first.
    pub sessions: Vec<AnswerSession>,
    /// Whether no passage has most of the words of the question.
    pub is_weak: bool,
    /// Number of further passages that were found.
    pub left_out: usize,
}

/// The passages of one session.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct AnswerSession {
    /// The session; `None` for notes without a session.
    pub session: Option<String>,
    /// The name of the project.
    pub project: String,
    /// The day of the first passage, in local time.
    pub date: String,
    /// The passages, the oldest first.
    pub passages: Vec<AnswerPassage>,
}

/// A passage, cut around the words of the question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AnswerPassage {
    /// The record, without its texts.
    pub found: FoundPassage,
    /// The prompt, or the title.
    pub asked: MarkedText,
    /// The reply, or the text.
    pub answered: MarkedText,
}

impl Answer {
    /// Chooses, cuts and groups passages, which are ordered from the best on.
    ///
    /// [`Answer::text`] of the result has at most `limits.chars` characters, unless that is not enough for one passage.
    pub fn compose(query: &Query, found: Vec<FoundPassage>, limits: AnswerLimits) -> Self {
        let total = found.len();
        let mut chosen = choose(found, limits);
        let mut left = READ_ON;
        let mut tidied = |text: &str| tidy(text, &mut left);
        let texts: Vec<[String; 2]> =
            chosen.iter().map(|passage| [tidied(&passage.asked), tidied(&passage.answered)]).collect();
        let mut marker = WordMarker::new(query, texts.iter().flatten().map(String::as_str));
        let matches: Vec<[Vec<WordMatch>; 2]> =
            texts.iter().map(|[asked, answered]| [marker.matches(asked), marker.matches(answered)]).collect();
        let weights = weights(&marker, &matches);
        let mut room = limits.chars;
        loop {
            let shares = shares(&texts[..chosen.len()], room);
            let cut = |(index, found): (usize, &FoundPassage)| {
                let ([asked, answered], [in_asked, in_answered]) = (&texts[index], &matches[index]);
                let (for_asked, for_answered) = split_share(asked, answered, shares[index]);
                AnswerPassage {
                    asked: excerpt(asked, in_asked, &weights, for_asked),
                    answered: excerpt(answered, in_answered, &weights, for_answered),
                    found: FoundPassage { asked: String::new(), answered: String::new(), ..found.clone() },
                }
            };
            let passages: Vec<AnswerPassage> = chosen.iter().enumerate().map(cut).collect();
            let is_weak = passages.first().is_some_and(|best| best.found.is_weak);
            let answer = Self { sessions: group(passages), is_weak, left_out: total - chosen.len() };
            let over = answer.text().chars().count().saturating_sub(limits.chars);
            if over == 0 || chosen.is_empty() {
                return answer;
            }
            // Headings need space as well. If the passages become too short, there are too many of them.
            if room > over && (room - over) / chosen.len() >= LEAST_CHARS / 2 {
                room -= over;
            } else if chosen.len() > 1 {
                chosen.pop();
                room = limits.chars;
            } else if room > over {
                room -= over;
            } else {
                return answer;
            }
        }
    }

    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Returns the passages in the order in which they are shown.
    pub fn passages(&self) -> impl Iterator<Item = &AnswerPassage> {
        self.sessions.iter().flat_map(|session| &session.passages)
    }

    /// Returns the answer as text.
    pub fn text(&self) -> String {
        text_of(self)
    }
}

/// Returns a text without control characters and without empty lines. Of all texts together, no more than `left` bytes
/// are read after the first part of each.
fn tidy(text: &str, left: &mut usize) -> String {
    let more = text.len().saturating_sub(FIRST_PART).min(*left);
    *left -= more;
    let text = clean(&text[..text.floor_char_boundary(FIRST_PART + more)]);
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the weight of each term. A term that all passages have distinguishes them least.
fn weights(marker: &WordMarker, matches: &[[Vec<WordMatch>; 2]]) -> Vec<f64> {
    let passages = matches.len() as f64;
    let rarity = |(term, weight): (usize, f64)| {
        let has = |words: &&[Vec<WordMatch>; 2]| words.iter().flatten().any(|found| found.term == term);
        let having = matches.iter().filter(has).count() as f64;
        weight * (1.0 + (passages - having + 0.5) / (having + 0.5)).ln()
    };
    marker.weights().enumerate().map(rarity).collect()
}

/// Distributes the space: a better passage gets more of it, and what one does not need goes to the others.
fn shares(texts: &[[String; 2]], room: usize) -> Vec<usize> {
    let needs: Vec<usize> = texts.iter().map(|[asked, answered]| count(asked) + count(answered)).collect();
    let weight = |index: usize| 1.0 / ((index + 1) as f64).sqrt();
    let mut shares = vec![0; needs.len()];
    let mut left = room;
    let mut waiting: Vec<usize> = (0..needs.len()).collect();
    while !waiting.is_empty() {
        let sum: f64 = waiting.iter().map(|index| weight(*index)).sum();
        let share = |index: usize| (left as f64 * weight(index) / sum) as usize;
        let (content, others): (Vec<usize>, Vec<usize>) =
            waiting.iter().partition(|index| needs[**index] <= share(**index));
        if content.is_empty() {
            others.iter().for_each(|index| shares[*index] = share(*index));
            break;
        }
        for index in content {
            shares[index] = needs[index];
            left -= needs[index];
        }
        waiting = others;
    }
    shares
}

/// Returns how much of a passage's space is for the prompt, and how much for the reply.
fn split_share(asked: &str, answered: &str, share: usize) -> (usize, usize) {
    let (asked, answered) = (count(asked), count(answered));
    let for_answered = answered.min(share.saturating_sub(asked.min(share / 4)));
    (share - for_answered, for_answered)
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// Groups passages by session, the best session first; of sessions with a decision, the newest comes first.
fn group(passages: Vec<AnswerPassage>) -> Vec<AnswerSession> {
    let best = passages.iter().map(|passage| passage.found.score).fold(0.0, f64::max);
    let mut groups: Vec<(AnswerSession, Option<Millis>)> = Vec::new();
    for passage in passages {
        let found = &passage.found;
        let is_decision =
            matches!(found.kind, PassageKind::Note | PassageKind::Decision) || decides(&passage.answered.text);
        let counts = is_decision && !found.is_weak && found.score >= best * AS_GOOD && best > 0.0;
        let decided = counts.then_some(found.at);
        let known =
            groups.iter_mut().find(|(group, _)| group.session == found.session && group.project == found.project);
        match known {
            Some((group, at)) => {
                *at = (*at).max(decided);
                group.passages.push(passage);
            }
            None => {
                let (session, project) = (found.session.clone(), found.project.clone());
                let group = AnswerSession { session, project, date: String::new(), passages: vec![passage] };
                groups.push((group, decided));
            }
        }
    }
    // Only sessions with a decision change places.
    let places: Vec<usize> = (0..groups.len()).filter(|at| groups[*at].1.is_some()).collect();
    let mut newest = places.clone();
    newest.sort_by_key(|at| std::cmp::Reverse(groups[*at].1));
    let mut order: Vec<usize> = (0..groups.len()).collect();
    places.iter().zip(newest).for_each(|(place, group)| order[*place] = group);
    let mut groups: Vec<Option<AnswerSession>> = groups.into_iter().map(|(group, _)| Some(group)).collect();
    let mut sessions: Vec<AnswerSession> = order.into_iter().filter_map(|at| groups[at].take()).collect();
    for session in &mut sessions {
        session.passages.sort_by_key(|passage| (passage.found.at, passage.found.prompt_number));
        session.date = session.passages.first().map(|first| first.found.date.clone()).unwrap_or_default();
    }
    sessions
}

/// Passages with a lower share of the best score are left out.
const LEAST_SCORE: f64 = 0.12;

/// Maximum distance in prompts at which a passage belongs to a good answer.
const BESIDE: i64 = 2;

/// Returns the passages that are worth showing.
fn choose(mut found: Vec<FoundPassage>, limits: AnswerLimits) -> Vec<FoundPassage> {
    let is_weak = found.first().is_some_and(|best| best.is_weak);
    let room = (limits.chars / LEAST_CHARS).clamp(1, limits.passages.max(1));
    let most = if is_weak { room.min(WEAK_ANSWER_PASSAGES) } else { room };
    let best = found.iter().map(|passage| passage.score).fold(0.0, f64::max);
    // Where no score is known, all are 0.
    found.retain(|passage| passage.score >= best * LEAST_SCORE);
    // A prompt without a reply is the least useful.
    found.sort_by_key(|passage| passage.kind == PassageKind::Exchange && passage.answered.trim().is_empty());
    let mut order: Vec<usize> = Vec::new();
    for (index, passage) in found.iter().enumerate() {
        // A passage is more useful than a tool call for it or a summary of it.
        let says_it = |other: &FoundPassage| {
            let is_covered = match passage.kind {
                PassageKind::Work => other.prompt_number == passage.prompt_number,
                PassageKind::Summary => true,
                PassageKind::Exchange | PassageKind::Note | PassageKind::Decision => false,
            };
            is_covered && other.session == passage.session && other.kind == PassageKind::Exchange
        };
        let index = found.iter().position(says_it).unwrap_or(index);
        if !order.contains(&index) && order.len() < most {
            order.push(index);
        }
    }
    let mut found: Vec<Option<FoundPassage>> = found.into_iter().map(Some).collect();
    let mut chosen: Vec<FoundPassage> = order.into_iter().filter_map(|index| found[index].take()).collect();
    let strong: Vec<(Option<String>, i64)> = chosen
        .iter()
        .filter(|passage| !passage.is_weak)
        .map(|passage| (passage.session.clone(), passage.prompt_number))
        .collect();
    for passage in &mut chosen {
        // An answer is next to the words of its question, and need not have them itself.
        let is_beside = |(session, number): &(Option<String>, i64)| {
            *session == passage.session && (number - passage.prompt_number).abs() <= BESIDE
        };
        passage.is_weak &= !strong.iter().any(is_beside);
    }
    chosen
}

const NAME_CHARS: usize = 60;

/// The kind of a piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePart {
    /// Text of the record.
    Text,
    /// A word of the question in it.
    Word,
    /// The id of a record.
    Id,
    /// A label that Longhaul adds.
    Label,
}

/// A line in pieces.
pub type AnswerLine = Vec<(String, LinePart)>;

impl Answer {
    /// Returns the answer as lines.
    pub fn lines(&self) -> Vec<AnswerLine> {
        let mut lines = Vec::new();
        if self.is_weak {
            lines.push(vec![label("No passage has most of these words. The closest:")]);
        }
        let projects = self.sessions.iter().any(|session| session.project != self.sessions[0].project);
        for session in &self.sessions {
            lines.push(vec![label(&heading(session, projects))]);
            for passage in &session.passages {
                add_passage(&mut lines, session, passage, self.is_weak);
            }
        }
        if self.left_out > 0 && !self.is_empty() {
            let left = counted(self.left_out, "more result");
            lines.push(vec![label(&format!("({left} not shown)"))]);
        }
        lines
    }
}

fn text_of(answer: &Answer) -> String {
    let line = |line: AnswerLine| line.into_iter().map(|(text_of, _)| text_of).collect::<String>();
    answer.lines().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn label(text: &str) -> (String, LinePart) {
    (text.to_owned(), LinePart::Label)
}

fn heading(session: &AnswerSession, projects: bool) -> String {
    let name = session.session.as_deref().map(|session| format!(", session {}", short_session(session)));
    let project =
        if projects { format!(", project {}", one_line(&session.project, NAME_CHARS)) } else { String::new() };
    format!("{}{}{project}:", session.date, name.unwrap_or_default())
}

fn add_passage(lines: &mut Vec<AnswerLine>, session: &AnswerSession, passage: &AnswerPassage, all_are_weak: bool) {
    let found = &passage.found;
    let mut signs = Vec::new();
    if found.date != session.date {
        signs.push(found.date.clone());
    }
    signs.push(found.time.clone());
    signs.extend(found.host.as_ref().map(|host| format!("@{}", one_line(host, NAME_CHARS))));
    if found.is_older {
        signs.push("(older: a newer one answers the same question)".to_owned());
    }
    if found.is_weak && !all_are_weak {
        signs.push("(weak)".to_owned());
    }
    let kind = match found.kind {
        PassageKind::Exchange => "asked",
        PassageKind::Note | PassageKind::Decision | PassageKind::Work | PassageKind::Summary => found.kind.as_str(),
    };
    let mut first = vec![(found.id.clone(), LinePart::Id), label(&format!("  {}  {kind}: ", signs.join(" ")))];
    let mut rows = rows(&passage.asked).into_iter();
    first.extend(rows.next().unwrap_or_default());
    lines.push(first);
    rows.for_each(|row| lines.push(indented(row, "    ")));
    let mut lead = if found.kind == PassageKind::Exchange { "  answered: " } else { "  " };
    for row in self::rows(&passage.answered) {
        lines.push(indented(row, lead));
        lead = "    ";
    }
}

fn indented(row: AnswerLine, by: &str) -> AnswerLine {
    std::iter::once(label(by)).chain(row).collect()
}

/// Returns the lines of a text; none for an empty one.
fn rows(text: &MarkedText) -> Vec<AnswerLine> {
    let mut rows: Vec<AnswerLine> = Vec::new();
    for (piece, is_marked) in text.pieces() {
        let part = if is_marked { LinePart::Word } else { LinePart::Text };
        for (number, line) in piece.split('\n').enumerate() {
            if number > 0 || rows.is_empty() {
                rows.push(Vec::new());
            }
            if let Some(row) = rows.last_mut().filter(|_| !line.is_empty()) {
                row.push((line.to_owned(), part));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{shares, split_share, weights};
    use crate::{Query, WordMarker};

    fn text(asked: usize, answered: usize) -> [String; 2] {
        ["a".repeat(asked), "b".repeat(answered)]
    }

    #[test]
    fn a_better_passage_gets_more_space_and_a_short_one_no_more_than_it_needs() {
        assert_eq!(shares(&[text(500, 500), text(500, 500)], 500), [292, 207]);
        assert_eq!(shares(&[text(500, 500), text(4, 6), text(500, 500)], 500), [310, 10, 179]);
        assert_eq!(shares(&[text(4, 6)], 500), [10]);
    }

    #[test]
    fn a_prompt_gets_a_quarter_of_the_space_or_what_the_reply_leaves() {
        let split = |[asked, answered]: [String; 2]| split_share(&asked, &answered, 400);
        assert_eq!(split(text(200, 1_000)), (100, 300));
        assert_eq!(split(text(50, 1_000)), (50, 350));
        assert_eq!(split(text(1_000, 100)), (300, 100));
    }

    #[test]
    fn a_word_of_every_passage_weighs_least() {
        let texts = ["importer stall", "importer", "the importer"];
        let mut marker = WordMarker::new(&Query::parse("importer stall"), texts);
        let matches: Vec<_> = texts.iter().map(|text| [marker.matches(text), Vec::new()]).collect();
        let weights = weights(&marker, &matches);
        assert!((weights[0] - (8.0_f64 / 7.0).ln()).abs() < 1e-9, "{weights:?}");
        assert!((weights[1] - (8.0_f64 / 3.0).ln()).abs() < 1e-9, "{weights:?}");
    }
}
