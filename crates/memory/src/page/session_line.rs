//! A session in one line: what was asked, and what came of it.

use longhaul_core::record::defuse;

use super::{PageInput, PageSession, moment};
use crate::conclusions::without_reports;
use crate::observation::MadeBy;
use crate::summarize::without_commands;
use crate::text::{first_lines, one_line};

/// How much of a line the request takes at most, in characters.
const REQUEST_CHARS: usize = 160;

/// A shorter first prompt (`go on`) says little; the summary's request has the prompts after it, too.
const TELLING_CHARS: usize = 15;
const TELLING_WIDE_CHARS: usize = 6;

/// Returns a session's line, of at most about `chars` characters; `None` where nothing was asked for and nothing came of
/// it.
pub(super) fn session_line(session: &PageSession, input: &PageInput<'_>, chars: usize) -> Option<String> {
    let request = request(session);
    let outcome = outcome(session);
    if outcome.is_empty() && session.summary.next_steps.trim().is_empty() && !is_telling(&request) {
        return None;
    }
    let request = one_line(&request, REQUEST_CHARS.min(chars / 2));
    let room = chars.saturating_sub(request.chars().count());
    let outcome = match one_line(&outcome, room) {
        outcome if outcome.is_empty() => outcome,
        outcome => format!(" → {outcome}"),
    };
    let reader = if session.is_reader { "(this session) " } else { "" };
    let text = defuse(&format!("{request}{outcome}"));
    let record = defuse(&session.record);
    Some(format!("- {record} {} {reader}{text}\n", moment(session.at, input.offset_seconds)))
}

fn request(session: &PageSession) -> String {
    let first = first_lines(&session.first_prompt, 2);
    let request = first_lines(&session.summary.request, 2);
    if is_telling(&first) || request.is_empty() { first } else { request }
}

/// Returns what a session came to: what it decided and found out, then what it changed.
fn outcome(session: &PageSession) -> String {
    let summary = &session.summary;
    // Rules of earlier versions took the reply's first sentences, whatever they said.
    let learned = match session.made_by {
        MadeBy::Rule => without_reports(&summary.learned),
        MadeBy::Model | MadeBy::Person => summary.learned.trim().to_owned(),
    };
    let done = without_commands(&summary.completed);
    match (learned.is_empty(), done.is_empty()) {
        (true, _) => done.to_owned(),
        (false, true) => learned,
        (false, false) if learned.ends_with(['.', '!', '?', '…', '。']) => format!("{learned} {done}"),
        (false, false) => format!("{learned}. {done}"),
    }
}

fn is_telling(request: &str) -> bool {
    let chars = request.chars().count();
    chars >= TELLING_CHARS || (chars >= TELLING_WIDE_CHARS && request.chars().any(|c| c >= '\u{2e80}'))
}
