//! What has happened since a person last wrote something.

use crate::LogLine;
use crate::window::{TailStart, whole_lines};

/// Returns how many bookmarks were set since the last prompt, as far as the tail reaches.
///
/// The mark that a compaction leaves behind is none that anybody could go back to.
pub fn bookmarks_since_prompt(tail: &[u8], reach: TailStart) -> u64 {
    let mut bookmarks = 0;
    let mut newer = None;
    for line in whole_lines(tail, reach).filter_map(LogLine::parse) {
        match line {
            LogLine::Prompt { .. } => break,
            LogLine::Bookmark { .. } => bookmarks += 1,
            LogLine::Compaction { at } if newer == Some(LogLine::Bookmark { at }) => bookmarks -= 1,
            LogLine::Compaction { .. }
            | LogLine::Tool { .. }
            | LogLine::Agent { .. }
            | LogLine::Injection { .. }
            | LogLine::GivenUp { .. }
            | LogLine::Status { .. } => {}
        }
        newer = Some(line);
    }
    bookmarks
}
