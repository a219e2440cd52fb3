//! The page that a new session is shown of its project's memory, within a number of characters.
//!
//! One line per session, newest first: requests, each with its result, decisions first. Then what is left to do, which
//! `left_to_do.rs` finds in replies, the checks that failed when they were last run, and decisions and notes. It states
//! facts only.

use std::collections::HashSet;

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::text::tokens;
use longhaul_core::{Millis, counted, grouped};

use crate::exchanges::is_telling;
use crate::observation::{Kind, MadeBy, Summary};
use crate::observe::{TITLE_CHARS, is_check};
use crate::summarize::{without_commands, without_failures};
use crate::terms::is_stop_word;
use crate::text::{first_lines, one_line};

/// Maximum number of sessions on a page: the project's newest ones.
pub const PAGE_SESSIONS: usize = 24;

/// Number of the project's newest records that are searched for failed checks, decisions and notes.
pub const PAGE_RECORDS: usize = 300;

/// Maximum number of older notes.
pub const PAGE_NOTES: usize = 12;

/// Maximum number of sessions that are summarized for a page, because their summary is missing.
pub const PAGE_NEW_SUMMARIES: usize = 3;

/// A page is not shown if there is room for fewer characters than this.
pub const PAGE_MIN_CHARS: usize = 600;

const NAME_CHARS: usize = 100;

const HOST_CHARS: usize = 40;

const LEFT_LINES: usize = 5;

const FAILING_LINES: usize = 5;

const KEPT_LINES: usize = 12;

/// The content of a page.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PageInput<'a> {
    /// The name of the project.
    pub project: &'a str,
    /// The current time.
    pub now: Millis,
    /// The UTC offset of local time in seconds.
    pub offset_seconds: i32,
    /// The newest sessions, newest first.
    pub sessions: &'a [PageSession],
    /// The newest relevant records: problems and other commands, decisions, notes; newest first.
    pub records: &'a [PageRecord],
    /// Number of records of the project.
    pub total_records: u64,
}

impl<'a> PageInput<'a> {
    /// Returns the input for a project without records, with times in UTC.
    pub fn new(project: &'a str, now: Millis) -> Self {
        Self { project, now, ..Self::default() }
    }
}

/// A session on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageSession {
    /// The id of its record.
    pub record: String,
    /// Time of its last activity.
    pub at: Millis,
    /// Whether it is the session that reads the page.
    pub is_reader: bool,
    /// The other host on which it ran; `None` for this one.
    pub host: Option<String>,
    /// Its first prompt.
    pub first_prompt: String,
    /// Its summary.
    pub summary: Summary,
    /// What wrote the summary.
    pub made_by: MadeBy,
}

impl PageSession {
    /// Returns a session that was summarized by rules, and whose first prompt is not known.
    ///
    /// `record` is the id of its record, `at` the time of its last activity.
    pub fn new(record: impl Into<String>, at: Millis, summary: Summary) -> Self {
        Self {
            record: record.into(),
            at,
            is_reader: false,
            host: None,
            first_prompt: String::new(),
            summary,
            made_by: MadeBy::Rule,
        }
    }
}

/// A record on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageRecord {
    /// The id of the record.
    pub id: i64,
    /// The time of the record.
    pub at: Millis,
    /// The kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    /// A key that is equal for two runs of the same command; only for runs that ended.
    pub command_key: Option<String>,
}

impl PageRecord {
    /// Returns a record that is not the run of a command.
    pub fn new(id: i64, at: Millis, kind: Kind, title: impl Into<String>) -> Self {
        Self { id, at, kind, title: title.into(), host: None, command_key: None }
    }
}

/// A rendered page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Page {
    /// The text; empty if there is nothing to show.
    pub text: String,
    /// Number of sessions shown.
    pub sessions: usize,
    /// Number of records shown in addition.
    pub records: usize,
    /// Number of sessions and records for which there was no space.
    pub omitted: usize,
    /// Estimated number of tokens of the text.
    pub tokens: u64,
}

impl Page {
    /// Returns the message to the user that says what a new session was shown of `project`.
    pub fn notice(&self, project: &str) -> String {
        let what = match (self.sessions, self.records) {
            (sessions, 0) => counted(sessions, "session"),
            (0, records) => counted(records, "record"),
            (sessions, records) => format!("{} and {}", counted(sessions, "session"), counted(records, "record")),
        };
        format!("shown {what} of {project}")
    }
}

struct Section {
    heading: &'static str,
    lines: Vec<String>,
}

impl Section {
    fn size(&self) -> usize {
        if self.lines.is_empty() {
            0
        } else {
            count(self.heading) + self.lines.iter().map(|line| count(line)).sum::<usize>()
        }
    }

    /// Returns the first lines that fit into `room` characters, and how many they are.
    fn fitting(&self, room: usize) -> (String, usize) {
        let Some(mut left) = room.checked_sub(count(self.heading)) else { return (String::new(), 0) };
        let fits = |line: &&String| left.checked_sub(count(line)).map(|rest| left = rest).is_some();
        let lines: Vec<&String> = self.lines.iter().take_while(fits).collect();
        if lines.is_empty() {
            return (String::new(), 0);
        }
        let text = lines.iter().fold(self.heading.to_owned(), |text, line| text + line);
        (text, lines.len())
    }
}

/// Renders the page in at most `chars` characters; empty if there is nothing to show.
pub fn page(input: &PageInput<'_>, chars: usize) -> Page {
    let top = format!("{OPEN}Memory of {}, {}\n", name(input.project), date_of(input.now, input.offset_seconds));
    // The numbers are not known yet, so the longest are assumed.
    let frame = count(&top) + count(&bottom(usize::MAX, usize::MAX, usize::MAX, u64::MAX, u64::MAX));
    let Some(room) = chars.checked_sub(frame) else { return Page::default() };
    let sections = sections(input, room);
    // Each section below the sessions has a guaranteed share. Space that it does not need goes to the others.
    let shares = [0, room / 5, room / 8, room / 5];
    let reserved: Vec<usize> = sections.iter().zip(shares).map(|(section, share)| section.size().min(share)).collect();
    let (mut left, mut body, mut shown) = (room, String::new(), Vec::new());
    for (index, section) in sections.iter().enumerate() {
        let later: usize = reserved[index + 1..].iter().sum();
        let (text, lines) = section.fitting(left.saturating_sub(later));
        left -= count(&text);
        body.push_str(&text);
        shown.push(lines);
    }
    if body.is_empty() {
        return Page::default();
    }
    // The items that are left to do belong to sessions that have their own lines.
    let (sessions, records) = (shown[0], shown[2] + shown[3]);
    let all = [0, 2, 3].iter().map(|index| sections[*index].lines.len()).sum::<usize>();
    let omitted = all - sessions - records;
    let text = |cost: u64| format!("{top}{body}{}", bottom(sessions, records, omitted, input.total_records, cost));
    let text = text(tokens(&text(0)));
    Page { sessions, records, omitted, tokens: tokens(&text), text }
}

fn sections(input: &PageInput<'_>, room: usize) -> [Section; 4] {
    let each = room * 6 / 10 / input.sessions.len().max(1);
    let longest = |first: bool| if first { (room / 8).clamp(200, 800) } else { each.clamp(160, 440) };
    let mut sessions = Vec::new();
    for session in input.sessions {
        sessions.extend(session_line(session, input, longest(sessions.is_empty())));
    }
    let sessions = worth_showing(sessions);
    let failed = failing(input.records).into_iter().take(FAILING_LINES).map(|record| {
        let what = record.title.strip_prefix("Failed: ").unwrap_or(&record.title);
        record_line(record, "", what, input)
    });
    let is_kept = |record: &&PageRecord| matches!(record.kind, Kind::Decision | Kind::Note);
    let kept = input.records.iter().filter(is_kept).take(KEPT_LINES);
    let kept = kept.map(|record| record_line(record, &format!("[{}] ", record.kind), &record.title, input));
    [
        Section { heading: "\nSessions, newest first (what was asked → what came of it):\n", lines: sessions },
        Section { heading: "\nLeft to do, as each session ended:\n", lines: still_to_do(input.sessions, LEFT_LINES) },
        Section { heading: "\nFailed when last run:\n", lines: failed.collect() },
        Section { heading: "\nDecisions and notes:\n", lines: kept.collect() },
    ]
}

/// Returns the lines of sessions with a result, and that of the newest session, which may have been interrupted. If
/// none has a result, all are returned.
fn worth_showing(mut lines: Vec<SessionLine>) -> Vec<String> {
    if lines.iter().any(|line| line.has_result) {
        let mut is_newest = true;
        lines.retain(|line| std::mem::take(&mut is_newest) || line.has_result);
    }
    lines.into_iter().map(|line| line.text).collect()
}

fn record_line(record: &PageRecord, mark: &str, text: &str, input: &PageInput<'_>) -> String {
    let text = defuse(&one_line(text, TITLE_CHARS));
    let host = shown_host(record.host.as_deref());
    format!("- #{} {} {host}{mark}{text}\n", record.id, date_of(record.at, input.offset_seconds))
}

/// Returns the name of another host as `@name `; empty for this one.
fn shown_host(host: Option<&str>) -> String {
    host.map(|host| format!("@{} ", defuse(&one_line(host, HOST_CHARS)))).unwrap_or_default()
}

fn bottom(sessions: usize, records: usize, omitted: usize, total: u64, cost: u64) -> String {
    let left_out =
        if omitted > 0 { format!("; {} more lines had no space", grouped(omitted as u64)) } else { String::new() };
    // Sessions without a recorded tool call are shown, too.
    let held = match total {
        0 => String::new(),
        1 => " The memory of this project holds 1 record.".to_owned(),
        total => format!(" The memory of this project holds {} records.", grouped(total)),
    };
    format!(
        "\nShown: {} and {}{left_out}.{held} Reading this costs about {} tokens.\n\
         To ask for more: `longhaul memory recall QUESTION` or the MCP tool recall; to read a session or record above: \
         `longhaul memory get ID` or get_observations.\n{CLOSE}",
        counted(sessions, "session"),
        counted(records, "record"),
        grouped(cost),
    )
}

/// Returns the local date and time as `YYYY-MM-DD HH:MM`.
fn moment(at: Millis, offset_seconds: i32) -> String {
    let minute: String = time_of(at, offset_seconds).chars().take("HH:MM".len()).collect();
    format!("{} {minute}", date_of(at, offset_seconds))
}

fn name(text: &str) -> String {
    defuse(&one_line(text, NAME_CHARS))
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// Maximum length of one request, in characters.
const REQUEST_CHARS: usize = 160;

/// Minimum space for another request with its result, and for the changes, in characters.
const EXCHANGE_CHARS: usize = 120;
const DONE_CHARS: usize = 40;

/// The separator between the requests of a session.
const SEPARATOR: &str = " | ";

/// The result of a session that has none.
const NO_RESULT: &str = "(no result recorded)";

struct SessionLine {
    text: String,
    has_result: bool,
}

/// Returns the line of a session, of at most about `chars` characters; `None` if it has neither a request nor a result.
fn session_line(session: &PageSession, input: &PageInput<'_>, chars: usize) -> Option<SessionLine> {
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

fn joined(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (false, true) => first.to_owned(),
        (false, false) if first.ends_with(['.', '!', '?', '…', '。']) => format!("{first} {second}"),
        (false, false) => format!("{first}. {second}"),
    }
}

/// Maximum length of one session's list, in characters.
const LIST_CHARS: usize = 400;

/// Number of the newest sessions that are checked. The items of older ones are done or given up.
const SESSIONS: usize = 10;

/// An item counts as continued if a later session has this share of its words, in percent.
const TAKEN_UP: usize = 70;

/// Returns a line for each session with open items, newest first, at most `most`.
///
/// Items that a later session was asked for, or has done, are left out.
fn still_to_do(sessions: &[PageSession], most: usize) -> Vec<String> {
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

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns the failures after which no run of the same command succeeded in any session. `records` and the result are
/// ordered from new to old.
///
/// Only a run that ended has a `command_key`, and a run that is not a problem has succeeded. A later run without the
/// last arguments, such as `cargo test` after `cargo test parser`, counts for both.
fn failing(records: &[PageRecord]) -> Vec<&PageRecord> {
    let mut later: Vec<&str> = Vec::new();
    let mut open = Vec::new();
    for record in records {
        let Some(key) = record.command_key.as_deref() else { continue };
        if record.kind == Kind::Problem && !later.iter().any(|run| *run == key || covers(run, key)) {
            open.push(record);
        }
        later.push(key);
    }
    open
}

/// Returns whether a check runs everything that `key` runs, which is the same check with additional names.
fn covers(run: &str, key: &str) -> bool {
    let Some(names) = key.strip_prefix(run).and_then(|rest| rest.strip_prefix(' ')) else { return false };
    let are_names = names.split(' ').all(|name| !name.starts_with(['-', '&', '|', ';']));
    // `make` alone does not run `make test`.
    are_names && run.contains(' ') && is_check(run)
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
        let changed = session(&[("why?", "a lock")], "Changed src/a.rs");
        let first = "why? → a lock";
        let enough = first.chars().count() + " | ".len() + DONE_CHARS;
        assert_eq!(paired(&changed, enough), "why? → a lock. Changed src/a.rs");
        assert_eq!(paired(&changed, enough - 1), first);
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
