//! What has happened since the last bookmark, read from the end of the log.

use longhaul_core::budget::tokens_of_chars;
use longhaul_core::{Millis, Status};

use crate::LogLine;

/// The most of a log's end that is ever read.
pub const MAX_TAIL: usize = 64 * 1024;

/// Whether a tail begins where the log begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailStart {
    /// It is the whole log.
    LogStart,
    /// It begins somewhere inside, perhaps in the middle of a line.
    Midway,
}

/// What the window since the last bookmark amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Tool calls in the window.
    pub tool_calls: u64,
    /// Subagents that returned in the window.
    pub agent_returns: u64,
    /// Characters of their output.
    pub chars: u64,
    /// The first tool call or return of the window.
    pub first_activity: Option<Millis>,
    /// The last one.
    pub last_activity: Option<Millis>,
    /// When the last subagent returned.
    pub last_return: Option<Millis>,
    /// Subagents that returned in the ten seconds up to then.
    pub agent_burst: u64,
    /// When something was last about to be typed, as far as the tail reaches.
    pub last_injection: Option<Millis>,
    /// Injections since the last prompt that were typed, as far as is known, and that no bookmark has confirmed.
    pub unconfirmed: u64,
    /// When the last bookmark was confirmed.
    pub last_bookmark: Option<Millis>,
    /// Whether nothing has been done since that bookmark.
    pub last_line_is_bookmark: bool,
    /// When the conversation was last compacted, as far as the tail reaches.
    pub last_compaction: Option<Millis>,
    /// What the newest line that tells says of the main loop.
    pub status: Option<Status>,
    /// When anything was last written, as far as the tail reaches.
    pub last_line: Option<Millis>,
}

/// How long before the last return a subagent's return belongs to the same burst.
const BURST_MS: u64 = 10_000;

impl Metrics {
    /// Returns the estimate of the window's tokens.
    pub fn estimated_tokens(&self) -> u64 {
        tokens_of_chars(self.chars)
    }

    /// Returns the whole seconds between the window's first and last activity.
    pub fn elapsed_seconds(&self) -> u64 {
        match (self.first_activity, self.last_activity) {
            (Some(first), Some(last)) => last.since(first) / 1000,
            _ => 0,
        }
    }

    /// Returns whether a turn runs, as far as the log knows.
    pub fn is_turn_running(&self) -> bool {
        self.status.is_some_and(Status::is_running)
    }
}

/// Returns whether `tail` shows the whole window: reading further back could not change the metrics.
pub fn covers_window(tail: &[u8], reach: TailStart) -> bool {
    if reach == TailStart::LogStart {
        return true;
    }
    let mut lines = whole_lines(tail, reach);
    let bookmarked = lines.any(|line| line.first() == Some(&b'B') && LogLine::parse(line).is_some());
    // The status may stand before the bookmark: a marker that arrives while idle follows the turn's end.
    bookmarked
        && whole_lines(tail, reach)
            .any(|line| matches!(line.first(), Some(b'T' | b'P' | b'S')) && LogLine::parse(line).is_some())
}

/// Measures the window at the end of a log.
///
/// A last line without a newline is torn and ignored, as is a first one that `reach` says may be cut.
pub fn measure(tail: &[u8], reach: TailStart) -> Metrics {
    let mut metrics = Metrics::default();
    let mut seen_activity_or_bookmark = false;
    let mut seen_prompt = false;
    let mut given_up = 0_u64;
    for line in whole_lines(tail, reach).filter_map(LogLine::parse) {
        let in_window = metrics.last_bookmark.is_none();
        metrics.last_line = metrics.last_line.max(Some(line.at()));
        match line {
            LogLine::Tool { at, chars } | LogLine::Agent { at, chars } if in_window => {
                let is_agent = matches!(line, LogLine::Agent { .. });
                metrics.count(at, chars, is_agent);
                seen_activity_or_bookmark = true;
            }
            LogLine::Injection { at } => {
                metrics.last_injection = metrics.last_injection.max(Some(at));
                // Lines come newest first: what was given up stands behind its injection.
                if given_up > 0 {
                    given_up -= 1;
                } else if in_window && !seen_prompt {
                    metrics.unconfirmed += 1;
                }
            }
            LogLine::GivenUp { .. } => given_up += 1,
            LogLine::Bookmark { at } if in_window => {
                metrics.last_bookmark = Some(at);
                metrics.last_line_is_bookmark = !seen_activity_or_bookmark;
            }
            LogLine::Compaction { at } => metrics.last_compaction = metrics.last_compaction.max(Some(at)),
            LogLine::Prompt { .. } => seen_prompt = true,
            LogLine::Tool { .. } | LogLine::Agent { .. } | LogLine::Bookmark { .. } | LogLine::Status { .. } => {}
        }
        if metrics.status.is_none() {
            metrics.status = match line {
                LogLine::Tool { .. } | LogLine::Prompt { .. } => Some(Status::Working),
                LogLine::Status { status, .. } => Some(status),
                LogLine::Agent { .. }
                | LogLine::Injection { .. }
                | LogLine::GivenUp { .. }
                | LogLine::Bookmark { .. }
                | LogLine::Compaction { .. } => None,
            };
        }
    }
    metrics
}

impl Metrics {
    /// Takes in an activity; called from the newest to the oldest.
    fn count(&mut self, at: Millis, chars: u64, is_agent: bool) {
        if is_agent {
            self.agent_returns += 1;
            let last_return = *self.last_return.get_or_insert(at);
            self.agent_burst += u64::from(last_return.since(at) <= BURST_MS);
        } else {
            self.tool_calls += 1;
        }
        self.chars = self.chars.saturating_add(chars);
        self.first_activity = Some(self.first_activity.map_or(at, |first| first.min(at)));
        self.last_activity = Some(self.last_activity.map_or(at, |last| last.max(at)));
    }
}

/// Returns the lines that are whole, the newest first.
pub(crate) fn whole_lines(tail: &[u8], reach: TailStart) -> impl Iterator<Item = &[u8]> {
    let end = tail.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let start = match reach {
        TailStart::LogStart => 0,
        TailStart::Midway => tail.iter().position(|byte| *byte == b'\n').map_or(end, |newline| newline + 1),
    };
    tail.get(start..end).unwrap_or_default().rsplit(|byte| *byte == b'\n')
}
