//! The items that sessions have left to do and that no later session has taken up. `left_to_do.rs` finds them in replies.

use std::collections::HashSet;

use longhaul_core::record::defuse;

use super::PageSession;
use crate::summarize::without_failures;
use crate::terms::is_stop_word;
use crate::text::one_line;

/// Maximum length of one session's list, in characters.
const LIST_CHARS: usize = 400;

/// Number of the newest sessions that are checked. The items of older ones are done or given up.
const SESSIONS: usize = 10;

/// An item counts as continued if a later session has this share of its words, in percent.
const TAKEN_UP: usize = 70;

/// Returns a line for each session with open items, newest first, at most `most`.
///
/// Items that a later session was asked for, or has done, are left out.
pub(super) fn still_to_do(sessions: &[PageSession], most: usize) -> Vec<String> {
    let mut later: Vec<HashSet<String>> = Vec::new();
    let mut lines = Vec::new();
    for session in sessions.iter().take(SESSIONS) {
        let summary = &session.summary;
        let items = without_failures(&summary.next_steps).split("; ").map(str::trim);
        let open: Vec<&str> = items.filter(|item| !item.is_empty() && !is_taken_up(item, &later)).collect();
        if !open.is_empty() && lines.len() < most {
            let list = defuse(&one_line(&open.join("; "), LIST_CHARS));
            lines.push(format!("- {}: {list}\n", defuse(&session.record)));
        }
        let done = [&session.first_prompt, &summary.request, &summary.completed];
        later.push(done.into_iter().flat_map(|text| words(text)).collect());
    }
    lines
}

/// Returns whether one of the later sessions, each given as its words, is about an item. A single word is not enough.
fn is_taken_up(item: &str, later: &[HashSet<String>]) -> bool {
    let words: Vec<String> = words(item).filter(|word| !is_stop_word(word)).collect();
    let known = |session: &HashSet<String>| words.iter().filter(|word| session.contains(*word)).count();
    words.len() > 1 && later.iter().any(|session| known(session) * 100 >= words.len() * TAKEN_UP)
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
