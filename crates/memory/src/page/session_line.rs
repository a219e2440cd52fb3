//! The line of a session: its requests and their results.

use longhaul_core::record::defuse;

use super::{PageInput, PageSession, moment, shown_host};
use crate::exchanges::is_telling;
use crate::observation::MadeBy;
use crate::summarize::without_commands;
use crate::text::{first_lines, one_line};

/// Maximum length of one request, in characters.
const REQUEST_CHARS: usize = 160;

/// Minimum space for another request with its result, and for the changes, in characters.
const EXCHANGE_CHARS: usize = 120;
const DONE_CHARS: usize = 40;

/// The separator between the requests of a session.
const SEPARATOR: &str = " | ";

/// The result of a session that has none.
const NO_RESULT: &str = "(no result recorded)";

/// The line of a session.
pub(super) struct SessionLine {
    pub(super) text: String,
    /// Whether it contains a result.
    pub(super) has_result: bool,
}

/// Returns the line of a session, of at most about `chars` characters; `None` if it has neither a request nor a result.
pub(super) fn session_line(session: &PageSession, input: &PageInput<'_>, chars: usize) -> Option<SessionLine> {
    let (text, has_result) = match session.made_by {
        MadeBy::Rule if session.summary.exchanges.is_empty() => whole(session, "", chars)?,
        MadeBy::Rule => (paired(session, chars), true),
        MadeBy::Model | MadeBy::Person => whole(session, session.summary.learned.trim(), chars)?,
    };
    let reader = if session.is_reader { "(this session) " } else { "" };
    let (record, text) = (defuse(&session.record), defuse(&text));
    let host = shown_host(session.host.as_deref());
    let text = format!("- {record} {} {host}{reader}{text}\n", moment(session.at, input.offset_seconds));
    Some(SessionLine { text, has_result })
}

/// Returns requests with the results of their own turns, as many as fit, and the changes of the session.
fn paired(session: &PageSession, chars: usize) -> String {
    let mut text = String::new();
    for exchange in &session.summary.exchanges {
        let separator = if text.is_empty() { "" } else { SEPARATOR };
        let room = chars.saturating_sub(text.chars().count() + separator.len());
        if !text.is_empty() && room < EXCHANGE_CHARS {
            break;
        }
        let asked = one_line(&exchange.asked, REQUEST_CHARS.min(room / 2));
        let outcome = one_line(&exchange.outcome, room.saturating_sub(asked.chars().count() + 3));
        text = format!("{text}{separator}{asked} → {outcome}");
    }
    let room = chars.saturating_sub(text.chars().count() + SEPARATOR.len());
    let done = unsaid(without_commands(&session.summary.completed), &text);
    if done.is_empty() || room < DONE_CHARS {
        return text;
    }
    let done = one_line(&done, room);
    // The changes belong to the session. After several requests they must not look like the result of the last one.
    if text.contains(SEPARATOR) { format!("{text}{SEPARATOR}{done}") } else { joined(&text, &done) }
}

/// Returns the first request of the session with the results of the whole session, and whether there are any; `None` if
/// the line would be empty.
fn whole(session: &PageSession, learned: &str, chars: usize) -> Option<(String, bool)> {
    let request = request(session);
    let outcome = joined(learned, without_commands(&session.summary.completed));
    if outcome.is_empty() && session.summary.next_steps.trim().is_empty() && !is_telling(&request) {
        return None;
    }
    let request = one_line(&request, REQUEST_CHARS.min(chars / 2));
    let room = chars.saturating_sub(request.chars().count());
    let (outcome, has_result) = match one_line(&outcome, room) {
        outcome if outcome.is_empty() => (NO_RESULT.to_owned(), false),
        outcome => (outcome, true),
    };
    Some((format!("{request} → {outcome}"), has_result))
}

fn request(session: &PageSession) -> String {
    let first = first_lines(&session.first_prompt, 2);
    let request = first_lines(&session.summary.request, 2);
    // The request in a model's summary is that of the whole session.
    let is_whole = session.made_by != MadeBy::Rule && is_telling(&request);
    if !is_whole && (is_telling(&first) || request.is_empty()) { first } else { request }
}

/// Returns the parts of `done` that are not in the line yet.
fn unsaid(done: &str, line: &str) -> String {
    let parts = done.split_inclusive(". ");
    let is_new = |part: &&str| !line.contains(part.trim().trim_end_matches('.'));
    // The parts were joined by full stops, but some scripts have their own.
    parts.filter(is_new).collect::<String>().trim().replace("。.", "。")
}

/// Joins two texts as sentences.
fn joined(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (false, true) => first.to_owned(),
        (false, false) if first.ends_with(['.', '!', '?', '…', '。']) => format!("{first} {second}"),
        (false, false) => format!("{first}. {second}"),
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::{DONE_CHARS, EXCHANGE_CHARS, PageSession, paired, whole};
    use crate::{Exchange, Summary};

    fn session(exchanges: &[(&str, &str)], completed: &str) -> PageSession {
        let exchange = |(asked, outcome): &(&str, &str)| Exchange {
            asked: (*asked).to_owned(),
            outcome: (*outcome).to_owned(),
            is_decision: false,
        };
        let exchanges = exchanges.iter().map(exchange).collect();
        PageSession::new("S1", Millis(0), Summary { exchanges, completed: completed.to_owned(), ..Summary::default() })
    }

    #[test]
    fn another_request_needs_space_for_a_result() {
        let two = session(&[("why?", "a lock"), ("and now?", "none")], "");
        let first = "why? → a lock";
        let enough = first.chars().count() + " | ".len() + EXCHANGE_CHARS;
        assert_eq!(paired(&two, enough), "why? → a lock | and now? → none");
        assert_eq!(paired(&two, enough - 1), first);
    }

    #[test]
    fn the_changes_of_a_session_need_space_too() {
        let one = session(&[("why?", "a lock")], "Changed src/a.rs");
        let first = "why? → a lock";
        let enough = first.chars().count() + " | ".len() + DONE_CHARS;
        assert_eq!(paired(&one, enough), "why? → a lock. Changed src/a.rs");
        assert_eq!(paired(&one, enough - 1), first);
        assert_eq!(paired(&session(&[("why?", "a lock")], ""), 500), first);
    }

    #[test]
    fn a_request_gets_at_most_half_of_the_line() {
        let long = "w".repeat(300);
        let line = paired(&session(&[(&long, &long)], ""), 100);
        assert_eq!(line.chars().position(|c| c == '→'), Some(51), "{line}");
        assert_eq!(line.chars().count(), 100, "{line}");
        let mut unpaired = session(&[], "Changed src/a.rs");
        unpaired.first_prompt = format!("please {long}");
        let (line, has_result) = whole(&unpaired, "", 100).unwrap();
        assert_eq!((line.chars().position(|c| c == '→'), has_result), (Some(51), true), "{line}");
    }
}
