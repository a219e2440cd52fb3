//! What a new session is shown of this project's past, within a number of characters.
//!
//! One line per session, newest first: requests, each with what came of it, decisions first. Then what is left to do, which checks failed
//! when they were last run, and decisions and notes. It states facts.

mod failing;
mod left_to_do;
mod session_line;

use longhaul_core::Millis;
use longhaul_core::budget::tokens;
use longhaul_core::clock::{date_of, time_of};
use longhaul_core::counted;
use longhaul_core::grouped;
use longhaul_core::record::{CLOSE, OPEN, defuse};

use self::failing::failing;
use self::left_to_do::left_to_do;
use self::session_line::{SessionLine, session_line};
use crate::observation::{Kind, MadeBy, Summary};
use crate::observe::TITLE_CHARS;
use crate::text::one_line;

/// How much of a project's name is shown.
const NAME_CHARS: usize = 100;

/// How many lines the sections below the sessions have at most.
const LEFT_LINES: usize = 5;
const FAILING_LINES: usize = 5;
const KEPT_LINES: usize = 12;

/// What there is to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageInput<'a> {
    /// The project's name.
    pub project: &'a str,
    /// Now.
    pub now: Millis,
    /// Local time, in seconds east of UTC.
    pub offset_seconds: i32,
    /// The newest sessions, newest first.
    pub sessions: &'a [PageSession],
    /// The newest records that may say something: problems and other commands, decisions, notes; newest first.
    pub records: &'a [PageRecord],
    /// How many records the project has.
    pub total_records: u64,
}

impl<'a> PageInput<'a> {
    /// Returns the input for a project of which nothing is known yet, with times in UTC.
    pub fn new(project: &'a str, now: Millis) -> Self {
        Self { project, now, ..Self::default() }
    }
}

/// A session, as it is shown in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSession {
    /// The id of the record by which it is fetched.
    pub record: String,
    /// When something last happened in it.
    pub at: Millis,
    /// Whether it is the session that reads the page.
    pub is_reader: bool,
    /// Its first prompt.
    pub first_prompt: String,
    /// What it came to.
    pub summary: Summary,
    /// Who put that into words.
    pub made_by: MadeBy,
    /// Whether a rule of an earlier version made the summary, which paired no request with its outcome.
    pub is_unpaired: bool,
}

impl PageSession {
    /// Returns a session that a rule has summarized, and whose first prompt is not known.
    ///
    /// `record` is the id by which the whole session is fetched, `at` when something last happened in it.
    pub fn new(record: impl Into<String>, at: Millis, summary: Summary) -> Self {
        Self {
            record: record.into(),
            at,
            is_reader: false,
            first_prompt: String::new(),
            summary,
            made_by: MadeBy::Rule,
            is_unpaired: false,
        }
    }
}

/// A record, as it is shown in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRecord {
    /// The id by which the whole record is fetched.
    pub id: i64,
    /// When.
    pub at: Millis,
    /// What it is about.
    pub kind: Kind,
    /// It in one line.
    pub title: String,
    /// What makes two runs of a command the same; only of runs that ended.
    pub command_key: Option<String>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The text; empty where there is nothing to say.
    pub text: String,
    /// Sessions shown.
    pub sessions: usize,
    /// Records shown besides.
    pub records: usize,
    /// Sessions and records that were worth a line and had no space.
    pub omitted: usize,
    /// Tokens that the text costs, about.
    pub tokens: u64,
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

/// Renders what is known of a project into at most `chars` characters; nothing where there is nothing to say.
pub fn page(input: &PageInput<'_>, chars: usize) -> Page {
    let top = format!("{OPEN}Memory of {}, {}\n", name(input.project), date_of(input.now, input.offset_seconds));
    // The numbers are not known yet: assume the longest.
    let frame = count(&top) + count(&bottom(usize::MAX, usize::MAX, usize::MAX, u64::MAX, u64::MAX));
    let Some(room) = chars.checked_sub(frame) else { return Page::default() };
    let sections = sections(input, room);
    // The sections below the sessions are sure of their share; what one of them does not need is the others'.
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
    // What is left to do belongs to sessions that have lines of their own.
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
        Section { heading: "\nLeft to do, as each session ended:\n", lines: left_to_do(input.sessions, LEFT_LINES) },
        Section { heading: "\nFailed when last run:\n", lines: failed.collect() },
        Section { heading: "\nDecisions and notes:\n", lines: kept.collect() },
    ]
}

/// Returns the lines of sessions that came to something. The newest session is shown in any case: it may have been interrupted.
/// Where none came to anything, all are shown.
fn worth_showing(mut lines: Vec<SessionLine>) -> Vec<String> {
    if lines.iter().any(|line| line.has_result) {
        let mut is_newest = true;
        lines.retain(|line| std::mem::take(&mut is_newest) || line.has_result);
    }
    lines.into_iter().map(|line| line.text).collect()
}

fn record_line(record: &PageRecord, mark: &str, text: &str, input: &PageInput<'_>) -> String {
    let text = defuse(&one_line(text, TITLE_CHARS));
    format!("- #{} {} {mark}{text}\n", record.id, date_of(record.at, input.offset_seconds))
}

fn bottom(sessions: usize, records: usize, omitted: usize, total: u64, cost: u64) -> String {
    let left_out =
        if omitted > 0 { format!("; {} more lines had no space", grouped(omitted as u64)) } else { String::new() };
    let held = if total == 1 { "1 record".to_owned() } else { format!("{} records", grouped(total)) };
    format!(
        "\nShown: {} and {}{left_out}. The memory of this project holds {held}. Reading this costs about {} tokens.\n\
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
