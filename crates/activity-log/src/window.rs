//! What the end of the log says: the window since the last bookmark, the bookmarks since the last prompt, and how many
//! characters a JSON value of a tool call has.

use longhaul_core::text::tokens_of_chars;
use longhaul_core::{Millis, Status};

use crate::LogLine;
use crate::decision::BURST_MS;

/// The maximum number of bytes that are read from the end of a log.
pub const MAX_TAIL: usize = 64 * 1024;

/// Where in a log its tail begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailStart {
    /// At the beginning: the tail is the whole log.
    LogStart,
    /// Somewhere later, possibly in the middle of a line.
    Midway,
}

/// The metrics of the window since the last bookmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// The number of tool calls in the window.
    pub tool_calls: u64,
    /// The number of subagents that returned in the window.
    pub agent_returns: u64,
    /// The size of the output of both, in characters.
    pub chars: u64,
    /// The time of the first tool call or return in the window.
    pub first_activity: Option<Millis>,
    /// The time of the last tool call or return in the window.
    pub last_activity: Option<Millis>,
    /// The time at which the last subagent returned.
    pub last_return: Option<Millis>,
    /// The number of subagents that returned in the ten seconds before `last_return`, including the last one.
    pub agent_burst: u64,
    /// The time of the last injection, as far as the tail shows.
    pub last_injection: Option<Millis>,
    /// The number of injections since the last prompt that were not given up and that no bookmark has confirmed.
    pub unconfirmed: u64,
    /// The time of the last bookmark.
    pub last_bookmark: Option<Millis>,
    /// Whether there was neither a tool call nor a return after the last bookmark.
    pub last_line_is_bookmark: bool,
    /// The time of the last compaction, as far as the tail shows.
    pub last_compaction: Option<Millis>,
    /// The status of the main conversation, from the newest line that shows one.
    pub status: Option<Status>,
    /// The latest time in any line, as far as the tail shows.
    pub last_line: Option<Millis>,
}

impl Metrics {
    /// Returns an estimate of the tokens in the window's output.
    pub fn estimated_tokens(&self) -> u64 {
        tokens_of_chars(self.chars)
    }

    /// Returns the whole seconds between the window's first and last activity.
    pub fn elapsed_seconds(&self) -> u64 {
        Option::zip(self.first_activity, self.last_activity).map_or(0, |(first, last)| last.since(first) / 1000)
    }

    /// Returns whether a turn is running, as far as the log shows.
    pub fn is_turn_running(&self) -> bool {
        self.status.is_some_and(Status::is_running)
    }
}

/// Returns whether `tail` contains the whole window, so that reading further back would not change the metrics.
pub fn covers_window(tail: &[u8], start: TailStart) -> bool {
    if start == TailStart::LogStart {
        return true;
    }
    let mut lines = whole_lines(tail, start);
    let bookmarked = lines.any(|line| line.first() == Some(&b'B') && LogLine::parse(line).is_some());
    // The status may stand before the bookmark: a marker that is typed while idle follows the end of the turn.
    bookmarked
        && whole_lines(tail, start)
            .any(|line| matches!(line.first(), Some(b'T' | b'P' | b'S')) && LogLine::parse(line).is_some())
}

/// Measures the window at the end of a log.
///
/// A last line without a newline is incomplete and ignored. So is the first line where the tail begins midway.
pub fn measure(tail: &[u8], start: TailStart) -> Metrics {
    let mut metrics = Metrics::default();
    let mut seen_activity_or_bookmark = false;
    let mut seen_prompt = false;
    let mut given_up = 0_u64;
    for line in whole_lines(tail, start).filter_map(LogLine::parse) {
        let in_window = metrics.last_bookmark.is_none();
        metrics.last_line = metrics.last_line.max(Some(line.at()));
        match line {
            LogLine::Tool { at, chars, .. } | LogLine::Agent { at, chars } if in_window => {
                let is_agent = matches!(line, LogLine::Agent { .. });
                metrics.count(at, chars, is_agent);
                seen_activity_or_bookmark = true;
            }
            LogLine::Injection { at } => {
                metrics.last_injection = metrics.last_injection.max(Some(at));
                // The newest line comes first: a `G` line is read before the injection that it belongs to.
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
            LogLine::Tool { .. }
            | LogLine::Call { .. }
            | LogLine::Loop { .. }
            | LogLine::Agent { .. }
            | LogLine::Bookmark { .. }
            | LogLine::Turn { .. }
            | LogLine::Status { .. } => {}
        }
        if let LogLine::Status { status, .. } = line {
            metrics.status.get_or_insert(status);
        } else if matches!(line, LogLine::Tool { .. } | LogLine::Prompt { .. }) {
            metrics.status.get_or_insert(Status::Working);
        }
    }
    metrics
}

impl Metrics {
    /// Adds a tool call or a return; called in the order from newest to oldest.
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

/// Returns the complete lines, newest first.
pub(crate) fn whole_lines(tail: &[u8], start: TailStart) -> impl Iterator<Item = &[u8]> {
    let end = tail.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let first = match start {
        TailStart::LogStart => 0,
        // Begins with an empty line, which means nothing.
        TailStart::Midway => tail.iter().position(|byte| *byte == b'\n').unwrap_or(end),
    };
    tail.get(first..end).unwrap_or_default().rsplit(|byte| *byte == b'\n')
}

/// Returns the number of bookmarks since the last prompt, as far as `tail` shows.
///
/// A `B` line that only restarts the count of work, after a compaction or where nothing can be typed, is not counted:
/// `/rewind` cannot go back to it.
pub fn bookmarks_since_prompt(tail: &[u8], start: TailStart) -> u64 {
    let lines = whole_lines(tail, start).filter_map(LogLine::parse);
    let lines: Vec<LogLine> = lines.take_while(|line| !matches!(line, LogLine::Prompt { .. })).collect();
    let bookmarks = lines.iter().filter(|line| matches!(line, LogLine::Bookmark { .. })).count();
    // The count of work began again, without a bookmark.
    let is_restart = |pair: &&[LogLine]| match pair {
        [LogLine::Bookmark { at }, older] => {
            [LogLine::Compaction { at: *at }, LogLine::GivenUp { at: *at }].contains(older)
        }
        _ => false,
    };
    (bookmarks - lines.windows(2).filter(is_restart).count()) as u64
}

/// Returns whether a prompt with this id may belong to the newest turn, as far as `tail` shows.
///
/// It does not if the newest turn is known and was started by another prompt.
pub fn may_be_of_newest_turn(tail: &[u8], start: TailStart, prompt_id: &str) -> bool {
    let newest = whole_lines(tail, start).filter_map(LogLine::parse).find(|line| matches!(line, LogLine::Turn { .. }));
    newest.is_none_or(|newest| newest == LogLine::turn(newest.at(), prompt_id))
}

/// Returns the size of a JSON value in characters: the length of a string's content, 0 for null, else the length of the
/// JSON text.
pub fn chars_of_json(json: &str) -> u64 {
    let json = json.trim_ascii();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(body) => chars_of_string(body),
        None if json == "null" => 0,
        None => json.chars().count() as u64,
    }
}

/// Returns the length of `body`, the text between a JSON string's quotes; an escape counts as one character.
fn chars_of_string(body: &str) -> u64 {
    let mut count = body.chars().count();
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        let length = if rest[at + 1..].starts_with('u') { 6 } else { 2 };
        let Some((escape, behind)) = rest[at..].split_at_checked(length) else { break };
        // The second half of a surrogate pair belongs to the character that the first half began.
        let beyond = if is_low_surrogate(escape.as_bytes()) { length } else { length - 1 };
        count = count.saturating_sub(beyond);
        rest = behind;
    }
    count as u64
}

fn is_low_surrogate(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _])
}
