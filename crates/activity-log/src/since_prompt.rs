//! The newest turn, and the bookmarks since the last prompt.

use crate::LogLine;
use crate::window::{TailStart, whole_lines};

/// Returns the number of bookmarks since the last prompt, as far as `tail` shows.
///
/// A `B` line that only restarts the count of work, after a compaction or where nothing can be typed, is not counted:
/// `/rewind` cannot go back to it.
pub fn bookmarks_since_prompt(tail: &[u8], start: TailStart) -> u64 {
    let mut bookmarks = 0;
    let mut newer = None;
    for line in whole_lines(tail, start).filter_map(LogLine::parse) {
        match line {
            LogLine::Prompt { .. } => break,
            LogLine::Bookmark { .. } => bookmarks += 1,
            // The count of work began again, without a bookmark.
            LogLine::Compaction { at } | LogLine::GivenUp { at } if newer == Some(LogLine::Bookmark { at }) => {
                bookmarks -= 1
            }
            LogLine::Compaction { .. }
            | LogLine::Tool { .. }
            | LogLine::Agent { .. }
            | LogLine::Injection { .. }
            | LogLine::GivenUp { .. }
            | LogLine::Turn { .. }
            | LogLine::Status { .. } => {}
        }
        newer = Some(line);
    }
    bookmarks
}

/// Returns whether a prompt with this id may belong to the newest turn, as far as `tail` shows.
///
/// It does not if the newest turn is known and was started by another prompt.
pub fn may_be_of_newest_turn(tail: &[u8], start: TailStart, prompt_id: &str) -> bool {
    let newest = whole_lines(tail, start).filter_map(LogLine::parse).find(|line| matches!(line, LogLine::Turn { .. }));
    newest.is_none_or(|newest| newest == LogLine::turn(newest.at(), prompt_id))
}
