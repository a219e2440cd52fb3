//! The page that a new session is shown of its project's memory, within a number of characters.
//!
//! One line per session, newest first: requests, each with its result, decisions first. Then what is left to do, the
//! checks that failed when they were last run, and decisions and notes. It states facts only.

mod failing;
mod limits;
mod session_line;
mod still_to_do;

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::text::tokens;
use longhaul_core::{Millis, counted, grouped};

use self::failing::failing;
use self::limits::{FAILING_LINES, HOST_CHARS, KEPT_LINES, LEFT_LINES, NAME_CHARS};
pub use self::limits::{PAGE_MIN_CHARS, PAGE_NEW_SUMMARIES, PAGE_NOTES, PAGE_RECORDS, PAGE_SESSIONS};
use self::session_line::{SessionLine, session_line};
use self::still_to_do::still_to_do;
use crate::observation::{Kind, MadeBy, Summary};
use crate::observe::TITLE_CHARS;
use crate::text::one_line;

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

/// Lines under a heading.
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
