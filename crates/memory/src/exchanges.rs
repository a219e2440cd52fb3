//! What was asked in a turn, together with what that turn concluded.
//!
//! A session may be about several things. Each request is shown with the conclusion of its own turn, never with another's.

use crate::conclusions::{Conclusions, ReplyConclusion, Statement, joined};
use crate::summarize::TurnText;
use crate::text::{first_lines, one_line};

/// The longest request and the longest outcome, in characters.
const ASKED_CHARS: usize = 160;
const OUTCOME_CHARS: usize = 300;

/// How much of the request before is shown with one that only continues it (`ok, do that`), in characters.
const CONTINUED_CHARS: usize = 80;

/// How many exchanges a session keeps.
const MOST: usize = 4;

/// A shorter request (`go on`) says nothing by itself: its turn belongs to the request before. Languages that are written
/// without spaces need fewer characters.
const TELLING_CHARS: usize = 15;
const TELLING_WIDE_CHARS: usize = 6;

/// What stands between a request and the one that continues it.
const CONTINUED: &str = " / ";

/// How a request begins that answers the reply before it. Its turn belongs to the request before.
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

/// A request with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What was asked, in one line.
    pub asked: String,
    /// What its own turn decided, found out or reports as done.
    pub outcome: String,
    /// Whether the outcome states a decision.
    pub is_decision: bool,
}

impl Exchange {
    /// Returns exchanges as they are stored.
    pub fn to_json(exchanges: &[Self]) -> String {
        let rows: Vec<(&str, &str, bool)> =
            exchanges.iter().map(|one| (one.asked.as_str(), one.outcome.as_str(), one.is_decision)).collect();
        serde_json::to_string(&rows).unwrap_or_default()
    }

    /// Reads exchanges as they are stored; none where the text is damaged.
    pub fn from_json(text: &str) -> Vec<Self> {
        let rows: Vec<(String, String, bool)> = serde_json::from_str(text).unwrap_or_default();
        rows.into_iter().map(|(asked, outcome, is_decision)| Self { asked, outcome, is_decision }).collect()
    }
}

/// A request, and what its turns have concluded so far.
struct Open {
    asked: String,
    /// The first turn of it.
    place: usize,
    /// What its best conclusion is; `None` where there is none.
    best: Option<Statement>,
    outcome: Vec<String>,
}

impl Open {
    fn new(asked: String, place: usize) -> Self {
        Self { asked, place, best: None, outcome: Vec::new() }
    }

    /// Adds what a turn concludes; returns whether it says more than what was concluded before, and so replaces that.
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

    /// Adds a request that continues this one, because its turn has come to more.
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
        let outcome = match joined(&self.outcome, OUTCOME_CHARS) {
            text if text.is_empty() => one_line(&self.outcome.join(" "), OUTCOME_CHARS),
            text => text,
        };
        Exchange { asked: self.asked, outcome, is_decision }
    }
}

/// Returns the requests of a session that led to something, each with its outcome: decisions first, the newest of them
/// first, then the request that the session began with, then the others, the most telling and newest first.
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

/// Returns whether a request says something by itself.
pub(crate) fn is_telling(request: &str) -> bool {
    let chars = request.chars().count();
    chars >= TELLING_CHARS || (chars >= TELLING_WIDE_CHARS && request.chars().any(|c| c >= '\u{2e80}'))
}

/// Returns whether a request answers the reply before it.
fn continues(asked: &str) -> bool {
    let lower = asked.to_lowercase();
    CONTINUATIONS.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    })
}
