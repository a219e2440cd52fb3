//! What a new session is shown of this project's past, within a number of characters.
//!
//! The most recent summary comes first, then the newest records, grouped by day and file. It states facts.

use longhaul_core::Millis;
use longhaul_core::budget::tokens;
use longhaul_core::clock::{Date, date_of, time_of};
use longhaul_core::record::{CLOSE, OPEN, defuse};

use crate::cap::grouped;
use crate::observation::{Kind, Summary};
use crate::observe::TITLE_CHARS;
use crate::text::{one_line, passage};

/// How much of a file's or a project's name is shown.
const NAME_CHARS: usize = 100;

/// How long each part of a summary may be: in full, and shorter where there is no space for that.
const PART_CHARS: [usize; 4] = [600, 300, 150, 60];

/// What there is to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageInput<'a> {
    /// The project's name.
    pub project: &'a str,
    /// Now.
    pub now: Millis,
    /// Local time, in seconds east of UTC.
    pub offset_seconds: i32,
    /// The most recent summary.
    pub summary: Option<PageSummary<'a>>,
    /// The newest records, newest first.
    pub lines: &'a [PageLine],
    /// How many records there are besides.
    pub older: usize,
}

/// A summary, and where it is from.
#[derive(Debug, Clone, Copy)]
pub struct PageSummary<'a> {
    /// It.
    pub summary: &'a Summary,
    /// The session, short.
    pub session: &'a str,
    /// When it was written.
    pub at: Millis,
}

/// A record, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLine {
    /// The id by which the whole record is fetched.
    pub id: i64,
    /// When.
    pub at: Millis,
    /// What it is about.
    pub kind: Kind,
    /// It in one line.
    pub title: String,
    /// The file that it is about.
    pub file: Option<String>,
    /// What reading the whole record costs.
    pub tokens: u64,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The text; empty where there is nothing to say.
    pub text: String,
    /// Records shown.
    pub shown: usize,
    /// Records left out.
    pub omitted: usize,
    /// Tokens that the text costs, about.
    pub tokens: u64,
}

/// Renders what is known of a project into at most `chars` characters; nothing where there is nothing to say.
pub fn page(input: &PageInput<'_>, chars: usize) -> Page {
    let total = input.lines.len() + input.older;
    let nothing = Page { omitted: total, ..Page::default() };
    let top = format!("{OPEN}Memory of {}, {}\n", name(input.project), date_of(input.now, input.offset_seconds));
    // The numbers are not known yet: assume the longest.
    let frame = count(&top) + count(&bottom(usize::MAX, usize::MAX, u64::MAX, u64::MAX));
    let Some(room) = chars.checked_sub(frame) else { return nothing };
    let summary = summary(input, room);
    let days = Days::new(input, room - count(&summary));
    if summary.is_empty() && days.shown == 0 {
        return nothing;
    }
    let omitted = total - days.shown;
    let behind = days.tokens;
    let body = format!("{top}{summary}{}", days.text());
    let text = |cost: u64| format!("{body}{}", bottom(days.shown, omitted, cost, behind));
    let text = text(tokens(&text(0)));
    Page { shown: days.shown, omitted, tokens: tokens(&text), text }
}

fn bottom(shown: usize, omitted: usize, cost: u64, behind: u64) -> String {
    let left_out = if omitted > 0 { format!("; {} left out", grouped(omitted as u64)) } else { String::new() };
    let behind = if shown > 0 { format!("; the records shown hold about {}", grouped(behind)) } else { String::new() };
    format!(
        "\nRecords: {} shown{left_out}. Reading this costs about {} tokens{behind}.\n\
         More: `longhaul memory search WORDS`, `longhaul memory get ID`, or the MCP tools search and get_observations.\n{CLOSE}",
        grouped(shown as u64),
        grouped(cost),
    )
}

/// Returns the summary, as long as it may be.
fn summary(input: &PageInput<'_>, room: usize) -> String {
    let Some(PageSummary { summary, session, at }) = input.summary else { return String::new() };
    let parts = [
        ("Request", &summary.request),
        ("Investigated", &summary.investigated),
        ("Learned", &summary.learned),
        ("Completed", &summary.completed),
        ("Next steps", &summary.next_steps),
    ];
    if parts.iter().all(|(_, part)| part.trim().is_empty()) {
        return String::new();
    }
    let date = date_of(at, input.offset_seconds);
    let top = format!("\nMost recent session ({}, {date} {}):\n", name(session), minute(at, input.offset_seconds));
    let written = |chars: usize| {
        let parts = parts.iter().filter(|(_, part)| !part.trim().is_empty());
        let parts = parts.map(|(label, part)| format!("{label}: {}\n", defuse(&passage(part, chars))));
        format!("{top}{}", parts.collect::<String>())
    };
    PART_CHARS.into_iter().map(written).find(|text| count(text) <= room).unwrap_or_default()
}

/// The records that fit, newest first, by day and by file.
struct Days {
    days: Vec<(Date, Vec<Group>)>,
    shown: usize,
    tokens: u64,
}

struct Group {
    file: Option<String>,
    lines: Vec<String>,
}

impl Days {
    fn new(input: &PageInput<'_>, room: usize) -> Self {
        let mut days = Self { days: Vec::new(), shown: 0, tokens: 0 };
        let mut left = room;
        for line in input.lines {
            let Some(rest) = left.checked_sub(days.add(line, input, left)) else { break };
            left = rest;
            days.shown += 1;
            days.tokens = days.tokens.saturating_add(line.tokens);
        }
        days
    }

    /// Adds a line where it fits into `left` characters, and returns how many it takes with the headings it needs.
    fn add(&mut self, line: &PageLine, input: &PageInput<'_>, left: usize) -> usize {
        let date = date_of(line.at, input.offset_seconds);
        let file = line.file.as_deref().filter(|file| !file.trim().is_empty()).map(name);
        let indent = if file.is_some() { "  " } else { "" };
        let time = minute(line.at, input.offset_seconds);
        let title = defuse(&one_line(&line.title, TITLE_CHARS));
        let text = format!("{indent}#{} {time} [{}] {title}\n", line.id, line.kind);

        let day = self.days.iter().position(|(day, _)| *day == date);
        let group = day.and_then(|day| self.days[day].1.iter().position(|group| group.file == file));
        let day_heading = if day.is_none() { count(&day_heading(date)) } else { 0 };
        let file_heading = file.as_deref().filter(|_| group.is_none()).map_or(0, |file| count(file) + 1);
        let cost = count(&text) + day_heading + file_heading;
        if cost > left {
            return cost;
        }
        let day = day.unwrap_or_else(|| {
            self.days.push((date, Vec::new()));
            self.days.len() - 1
        });
        let groups = &mut self.days[day].1;
        match group {
            Some(group) => groups[group].lines.push(text),
            None => groups.push(Group { file, lines: vec![text] }),
        }
        cost
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (date, groups) in &self.days {
            text.push_str(&day_heading(*date));
            for group in groups {
                if let Some(file) = &group.file {
                    text.push_str(&format!("{file}\n"));
                }
                text.extend(group.lines.iter().map(String::as_str));
            }
        }
        text
    }
}

fn day_heading(date: Date) -> String {
    format!("\n{date}\n")
}

/// Returns the local time as `HH:MM`.
fn minute(at: Millis, offset_seconds: i32) -> String {
    time_of(at, offset_seconds).chars().take("HH:MM".len()).collect()
}

fn name(text: &str) -> String {
    defuse(&one_line(text, NAME_CHARS))
}

fn count(text: &str) -> usize {
    text.chars().count()
}
