//! What has happened since a person last wrote something.

use crate::Line;
use crate::window::{Reach, whole_lines};

/// Returns how many bookmarks were set since the last prompt, as far as the tail reaches.
///
/// The mark that a compaction leaves behind is none that anybody could go back to.
pub fn bookmarks_since_prompt(tail: &[u8], reach: Reach) -> u64 {
    let mut bookmarks = 0;
    let mut newer = None;
    for line in whole_lines(tail, reach).filter_map(Line::parse) {
        match line {
            Line::Prompt { .. } => break,
            Line::Bookmark { .. } => bookmarks += 1,
            Line::Compaction { at } if newer == Some(Line::Bookmark { at }) => bookmarks -= 1,
            Line::Compaction { .. }
            | Line::Tool { .. }
            | Line::Agent { .. }
            | Line::Injection { .. }
            | Line::GivenUp { .. }
            | Line::Status { .. } => {}
        }
        newer = Some(line);
    }
    bookmarks
}
