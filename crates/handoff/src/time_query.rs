//! The argument of `longhaul detail`: a time, a range of times, or a turn.

use longhaul_core::Millis;
use longhaul_core::clock::{DAY_MS, Date};

/// The turns to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeQuery {
    /// The turns in a part of a day.
    Time {
        /// The day; `None` where the query names none, and the caller chooses it.
        date: Option<Date>,
        /// The part of the day.
        span: Span,
    },
    /// The turn with this number.
    TurnNumber(u64),
    /// The turn whose id begins with this text.
    TurnId(String),
}

/// A part of a day, in milliseconds since local midnight. `from` is included, `to` is not.
///
/// `to` lies after the end of the day where a range crosses midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first millisecond.
    pub from: u64,
    /// The first millisecond after the span.
    pub to: u64,
}

impl Span {
    /// A whole day.
    pub const DAY: Self = Self { from: 0, to: DAY_MS as u64 };

    /// Returns the span in absolute time, given the day's local midnight. `from` is included, `to` is not.
    ///
    /// On a day on which the clocks change, times after the change are wrong by that change. A caller that knows the time
    /// zone can widen the span.
    pub fn after(self, midnight: Millis) -> (Millis, Millis) {
        (Millis(midnight.0.saturating_add(self.from)), Millis(midnight.0.saturating_add(self.to)))
    }
}

/// Why a query could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeQueryError {
    /// It is empty.
    #[error("the time is missing")]
    Empty,
    /// It looks like a time, but is not valid.
    #[error("that is not a valid time")]
    BadTime,
    /// It is neither a time nor a range nor a turn.
    #[error("that is neither a time nor a range nor a turn")]
    Unknown,
}

/// Parses a time (`14:03`, `14:03:20`), a range (`14:00-14:30`), a date, or a turn's number (`12`, `#12`, `turn 12`) or id.
///
/// A time or range may have a date before it: `2026-11-14 14:03`, `2026-11-14T14:03`, `today 14:03`, `yesterday 14:03`.
/// `14:03` is the whole minute and `14:03:20` the whole second; a range includes its last minute or second. A range whose
/// end is before its beginning crosses midnight. `today` is the current date.
pub fn parse_time_query(text: &str, today: Date) -> Result<TimeQuery, TimeQueryError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(TimeQueryError::Empty);
    }
    let (date, rest) = split_date(text, today);
    if date.is_some() && rest.is_empty() {
        return Ok(TimeQuery::Time { date, span: Span::DAY });
    }
    if rest.contains(':') {
        let span = span(rest).ok_or(TimeQueryError::BadTime)?;
        return Ok(TimeQuery::Time { date, span });
    }
    if date.is_some() {
        return Err(TimeQueryError::BadTime);
    }
    turn(text).ok_or(TimeQueryError::Unknown)
}

fn split_date(text: &str, today: Date) -> (Option<Date>, &str) {
    for (word, date) in [("today", today), ("yesterday", today.yesterday())] {
        let after =
            text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &text[word.len()..]);
        if let Some(rest) = after.filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            return (Some(date), rest.trim_start());
        }
    }
    let Some((day, rest)) = text.split_at_checked(10) else { return (None, text) };
    match (Date::parse(day), rest.chars().next()) {
        (Some(date), None) => (Some(date), ""),
        (Some(date), Some(c)) if c.is_whitespace() => (Some(date), rest.trim_start()),
        (Some(date), Some('T')) => (Some(date), &rest[1..]),
        _ => (None, text),
    }
}

fn span(text: &str) -> Option<Span> {
    let bounds = ["..", " to ", "-", "–", "—"].into_iter().find_map(|separator| text.split_once(separator));
    let (first, last) = bounds.unwrap_or((text, text));
    let (from, _) = time(first)?;
    let (_, to) = time(last)?;
    Some(Span { from, to: if to <= from { to + DAY_MS as u64 } else { to } })
}

/// Returns the first millisecond of a minute or second of the day, and the first millisecond after it.
fn time(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim().split(':');
    let mut next = |max: u64| {
        let part = parts.next()?;
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|number| digits && *number <= max)
    };
    let minutes = next(23)? * 60 + next(59)?;
    let colons = text.matches(':').count();
    match colons {
        1 => Some((minutes * 60_000, (minutes + 1) * 60_000)),
        2 => {
            let seconds = minutes * 60 + next(59)?;
            Some((seconds * 1000, (seconds + 1) * 1000))
        }
        _ => None,
    }
}

fn turn(text: &str) -> Option<TimeQuery> {
    let name = text.strip_prefix("turn ").unwrap_or(text).trim_start();
    let number = name.strip_prefix('#').unwrap_or(name);
    // Eight or more digits may be the beginning of an id.
    if number.len() < 8 && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.parse().ok().map(TimeQuery::TurnNumber);
    }
    let id = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    // The first part of a UUID has eight digits: `2026-02-30` is an invalid date, not an id.
    let id = id && name.find('-').is_none_or(|dash| dash == 8);
    id.then(|| TimeQuery::TurnId(name.to_owned()))
}
