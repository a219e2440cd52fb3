//! Requests, each with the conclusion of its own turn; which prompts continue the request before them.
//!
//! A session may have several subjects. A request is never shown with the conclusion of another one.

use crate::conclusions::{Conclusions, ReplyConclusion, Statement, joined};
use crate::summarize::TurnText;
use crate::text::{first_lines, one_line};

/// Maximum length of a request and of a result, in characters.
const ASKED_CHARS: usize = 160;
const OUTCOME_CHARS: usize = 300;

/// Number of characters of the previous request that are shown with one that only continues it (`ok, do that`).
const CONTINUED_CHARS: usize = 80;

/// Maximum number of exchanges of a session.
const MOST: usize = 4;

/// A shorter request (`go on`) means nothing alone: its turn belongs to the previous request. Languages without spaces
/// need fewer characters.
const TELLING_CHARS: usize = 15;
const TELLING_WIDE_CHARS: usize = 6;

/// The separator between a request and the one that continues it.
const CONTINUED: &str = " / ";

/// The beginnings of requests that answer the previous reply. Their turns belong to the previous request.
const CONTINUATIONS: [&str; 24] = [
    "ok",
    "okay",
    "yes",
    "yeah",
    "yep",
    "sure",
    "fine",
    "good",
    "great",
    "perfect",
    "agreed",
    "right",
    "then",
    "do that",
    "do it",
    "go with",
    "go ahead",
    "take the",
    "ja",
    "gut",
    "dann",
    "so machen",
    "oui",
    "sí",
];

/// A request and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The request, in one line.
    pub asked: String,
    /// The decision, finding or report of its own turn.
    pub outcome: String,
    /// Whether the result states a decision.
    pub is_decision: bool,
}

impl Exchange {
    /// Returns exchanges in the form in which they are stored.
    pub fn to_json(exchanges: &[Self]) -> String {
        let rows: Vec<(&str, &str, bool)> = exchanges
            .iter()
            .map(|exchange| (exchange.asked.as_str(), exchange.outcome.as_str(), exchange.is_decision))
            .collect();
        serde_json::to_string(&rows).unwrap_or_default()
    }

    /// Parses stored exchanges; empty if the text is damaged.
    pub fn from_json(text: &str) -> Vec<Self> {
        let rows: Vec<(String, String, bool)> = serde_json::from_str(text).unwrap_or_default();
        rows.into_iter().map(|(asked, outcome, is_decision)| Self { asked, outcome, is_decision }).collect()
    }
}

/// A request, with the conclusions of its turns so far.
struct Open {
    asked: String,
    place: usize,
    /// The kind of its best conclusion, if there is one.
    best: Option<Statement>,
    outcome: Vec<String>,
}

impl Open {
    fn new(asked: String, place: usize) -> Self {
        Self { asked, place, best: None, outcome: Vec::new() }
    }

    /// Adds the conclusion of a turn. Returns whether it is more important than the previous ones and therefore
    /// replaces them.
    fn conclude(&mut self, concluded: &ReplyConclusion) -> bool {
        match self.best {
            Some(best) if best < concluded.best => false,
            Some(best) if best == concluded.best => {
                self.outcome.extend(concluded.sentences.iter().cloned());
                false
            }
            Some(_) | None => {
                self.best = Some(concluded.best);
                self.outcome = concluded.sentences.clone();
                true
            }
        }
    }

    /// Adds a request that continues this one, because its turn has a better conclusion.
    fn continue_with(&mut self, asked: &str) {
        let before = one_line(self.asked.split(CONTINUED).next().unwrap_or_default(), CONTINUED_CHARS);
        let room = ASKED_CHARS.saturating_sub(before.chars().count() + CONTINUED.len());
        self.asked = format!("{before}{CONTINUED}{}", one_line(asked, room));
    }

    fn is_decision(&self) -> bool {
        self.best == Some(Statement::Decision)
    }

    fn close(self) -> Exchange {
        let is_decision = self.is_decision();
        let outcome = joined(&self.outcome, OUTCOME_CHARS);
        Exchange { asked: self.asked, outcome, is_decision }
    }
}

/// Returns the requests of a session that have a result: decisions first, the newest of them first, then the first
/// request of the session, then the others, the most important and newest first.
pub(crate) fn exchanges(turns: &[TurnText<'_>], concluded: &Conclusions) -> Vec<Exchange> {
    let mut all: Vec<Open> = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        let asked = first_lines(turn.asked, 2);
        let belongs_to_last =
            all.last().is_some_and(|last| !is_telling(&asked) || (continues(&asked) && is_telling(&last.asked)));
        if !belongs_to_last {
            all.push(Open::new(one_line(&asked, ASKED_CHARS), place));
        }
        if let (Some(open), Some(concluded)) = (all.last_mut(), concluded.of_reply(place)) {
            let had_outcome = !open.outcome.is_empty();
            if open.conclude(concluded) && belongs_to_last && had_outcome && is_telling(&asked) {
                open.continue_with(&asked);
            }
        }
    }
    all.retain(|open| !open.outcome.is_empty() && is_telling(&open.asked));
    let first = all.first().map(|open| open.place);
    all.sort_by_key(|open| {
        let is_first = Some(open.place) == first;
        (!open.is_decision(), !is_first && !open.is_decision(), open.best, std::cmp::Reverse(open.place))
    });
    all.into_iter().take(MOST).map(Open::close).collect()
}

/// Returns whether a request can be understood alone.
pub(crate) fn is_telling(request: &str) -> bool {
    let chars = request.chars().count();
    chars >= TELLING_CHARS || (chars >= TELLING_WIDE_CHARS && request.chars().any(|c| c >= '\u{2e80}'))
}

/// Returns whether a request answers the previous reply.
fn continues(asked: &str) -> bool {
    let lower = asked.to_lowercase();
    CONTINUATIONS.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    })
}
