//! The passages that are added to a prompt, as the model is shown them, and the message about them for the user.

use longhaul_core::clock::date_of;
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::{Millis, counted};

use super::amends::decides;
use crate::text::one_line;

/// Maximum length of the whole text including its frame, in characters.
pub const PROMPT_CHARS: usize = 1_200;

/// How many passages are shown at most.
pub const PROMPT_PASSAGES: usize = 3;

/// How many are shown for a longer text at most.
pub const REPORT_PASSAGES: usize = 4;

/// Maximum length of the earlier prompt, and its maximum share of a passage. The reply is more important.
const ASKED: usize = 110;
const ASKED_SHARE: usize = 5;

/// Minimum length of a part of a reply that is worth showing.
const SHORTEST: usize = 60;

/// Maximum length of the name of a host.
const HOST_CHARS: usize = 40;

const TOP: &str =
    "Recalled for this prompt, said in other sessions of this project (the whole of it: `longhaul memory get ID`):\n";

/// A passage to show.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BroughtPassage<'a> {
    /// The id of the record.
    pub id: &'a str,
    /// The short id of the session.
    pub session: &'a str,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<&'a str>,
    /// The time of the passage.
    pub at: Millis,
    /// The prompt, or the title of a note.
    pub asked: &'a str,
    /// The reply.
    pub replied: &'a str,
    /// The position of the words in the reply, in bytes; `None` if they are in the prompt.
    pub spot: Option<usize>,
    /// Whether a newer passage answers the same question.
    pub is_older: bool,
    /// Whether it is uncertain that it is about the prompt.
    pub is_weak: bool,
}

impl<'a> BroughtPassage<'a> {
    /// Returns the record `id` of the time `at`: what was asked, and what was replied.
    ///
    /// It is certainly about the prompt, no newer one answers the same, and its session is not
    /// known.
    pub fn new(id: &'a str, at: Millis, asked: &'a str, replied: &'a str) -> Self {
        Self { id, session: "", host: None, at, asked, replied, spot: None, is_older: false, is_weak: false }
    }
}

/// The rendered passages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Brought {
    /// The text in its frame; empty if there is nothing to show.
    pub text: String,
    /// Number of passages in it, which are the first ones.
    pub shown: usize,
}

/// Renders the first passages in at most [`PROMPT_CHARS`] characters.
pub fn bring(passages: &[BroughtPassage<'_>], offset_seconds: i32) -> Brought {
    let passages = &passages[..passages.len().min(REPORT_PASSAGES)];
    let frame = [OPEN, TOP, CLOSE].iter().map(|text| text.chars().count()).sum::<usize>();
    let mut room = PROMPT_CHARS - frame;
    let mut text = format!("{OPEN}{TOP}");
    let mut shown = 0;
    for (place, passage) in passages.iter().enumerate() {
        let sharing = passages.len() - place;
        // An uncertain one gets no more than if there were three.
        let sharing = if passage.is_weak { sharing.max(PROMPT_PASSAGES.saturating_sub(place)) } else { sharing };
        // Each of a few gets more than its share of what is left; the last one all of it.
        let share = room / sharing;
        let share = if passages.len() > PROMPT_PASSAGES { share } else { share * 6 / 5 };
        let Some(entry) = entry(passage, share.min(room), offset_seconds) else { break };
        room -= entry.chars().count();
        text.push_str(&entry);
        shown += 1;
    }
    if shown == 0 {
        return Brought::default();
    }
    text.push_str(CLOSE);
    Brought { text, shown }
}

/// Returns the message for the user that these records were added to the prompt.
pub fn recalled_message(ids: &[String]) -> String {
    format!("longhaul: recalled {} of earlier sessions ({})", counted(ids.len(), "passage"), ids.join(", "))
}

/// Returns a passage in at most `room` characters, escaped; `None` if that is too short.
fn entry(passage: &BroughtPassage<'_>, room: usize, offset_seconds: i32) -> Option<String> {
    let BroughtPassage { id, session, host, at, is_older, is_weak, .. } = passage;
    let host = host.map(|host| format!(" @{}", one_line(host, HOST_CHARS))).unwrap_or_default();
    let session = if session.is_empty() { String::new() } else { format!(", session {session}") };
    let older = if *is_older { ", older: a newer one answers the same question" } else { "" };
    let weak = if *is_weak { ", may not be about this" } else { "" };
    let asked = one_line(passage.asked, ASKED.min(room / ASKED_SHARE));
    // The title of a note is the beginning of its text.
    let is_note = one_line(passage.replied, ASKED).starts_with(asked.trim_end_matches('…'));
    let (asked, label) =
        if is_note { (String::new(), "  noted: ") } else { (format!("  asked: {asked}\n"), "  replied: ") };
    let head = format!("{id}{host}, {}{session}{older}{weak}\n{asked}", date_of(*at, offset_seconds));
    let left = room.checked_sub(head.chars().count() + label.len() + "\n".len())?;
    let body = match passage.replied.trim().is_empty() {
        true => String::new(),
        false if left < SHORTEST => return None,
        false => format!("{label}{}\n", part(passage.replied, passage.spot, left)),
    };
    // Escaping keeps the length, so that the frame still fits.
    Some(defuse(&format!("{head}{body}")))
}

/// Returns the most important part of a reply, on one line of at most `chars` characters.
fn part(replied: &str, spot: Option<usize>, chars: usize) -> String {
    if replied.chars().nth(chars).is_none() {
        return one_line(replied, chars);
    }
    let at = spot.unwrap_or_else(|| deciding_sentence(replied)).min(replied.len());
    let at = replied.floor_char_boundary(at);
    // A third of the space is for the text before it, from the beginning of a sentence if possible.
    let before = replied.floor_char_boundary(at.saturating_sub(chars / 3));
    let begins = |text: &str| text.char_indices().rev().find(|(_, c)| matches!(c, '.' | '\n' | '!' | '?' | '。'));
    let start = match begins(&replied[before..at]) {
        _ if before == 0 => 0,
        Some((end, c)) => before + end + c.len_utf8(),
        None => replied[before..at].find(char::is_whitespace).map_or(before, |space| before + space),
    };
    if start == 0 {
        return one_line(replied, chars);
    }
    let rest = one_line(&replied[start..], chars - 1);
    format!("…{rest}")
}

/// Returns the start of the first sentence that states a decision, or 0.
fn deciding_sentence(replied: &str) -> usize {
    let mut start = 0;
    for sentence in replied.split_inclusive(['.', '\n', '!', '?', '。']) {
        if decides(sentence) {
            return start;
        }
        start += sentence.len();
    }
    0
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::{BroughtPassage, SHORTEST, entry, recalled_message};

    #[test]
    fn a_reply_is_shown_if_enough_of_it_fits() {
        let reply = "It is kept. ".repeat(20);
        let passage = BroughtPassage::new("P1", Millis(0), "why?", &reply);
        let size = |room: usize| entry(&passage, room, 0).map(|text| text.chars().count());
        let around = "P1, 1970-01-01\n  asked: why?\n  replied: \n".len();
        let enough = around + SHORTEST;
        assert_eq!((size(enough), size(enough - 1)), (Some(enough), None));
        assert_eq!(size(1_000), Some(around + reply.trim().len()));
        let unanswered = BroughtPassage::new("P1", Millis(0), "why?", "");
        assert!(entry(&unanswered, around, 0).is_some());
        assert!(entry(&unanswered, around - 1, 0).is_none());
    }

    #[test]
    fn the_message_names_the_passages() {
        let message = recalled_message(&["P1".to_owned(), "O2".to_owned()]);
        assert_eq!(message, "longhaul: recalled 2 passages of earlier sessions (P1, O2)");
    }
}
