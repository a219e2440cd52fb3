//! Points in time, local dates and times from a UTC offset, and timestamps, without a calendar library.

use std::fmt;

/// The number of milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;

/// A date in the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year.
    pub year: i32,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day, 1 to 31.
    pub day: u8,
}

impl Date {
    /// Parses `YYYY-MM-DD`; returns `None` for anything else, and for a date that does not exist.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
            part.parse::<i32>().ok()
        };
        let (year, month, day) = (next(4)?, next(2)?, next(2)?);
        let date = Self { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? };
        (parts.next().is_none() && Self::from_days(date.days()) == date).then_some(date)
    }

    /// Returns the day before.
    pub fn yesterday(self) -> Self {
        Self::from_days(self.days() - 1)
    }

    /// Returns the number of days since 1970-01-01.
    ///
    /// A day past the end of its month counts into the next month. The algorithm is from Howard Hinnant,
    /// "chrono-Compatible Low-Level Date Algorithms".
    pub fn days(self) -> i64 {
        let (year, month, day) = (i64::from(self.year), i64::from(self.month), i64::from(self.day));
        let year = if month <= 2 { year - 1 } else { year };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let year_of_era = year.rem_euclid(400);
        year.div_euclid(400) * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    fn from_days(days: i64) -> Self {
        let days = days + 719_468;
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = days.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2);
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        Self { year: year as i32, month: month as u8, day: day as u8 }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Returns the local time of `at`, in milliseconds since 1970-01-01 00:00 local time.
fn local(at: Millis, offset_seconds: i32) -> i64 {
    // A time past the year 9999 comes from damaged data; the bound prevents an overflow.
    at.0.min(253_402_300_799_999) as i64 + i64::from(offset_seconds) * 1000
}

/// Returns the local date of `at`; `offset_seconds` is the offset east of UTC.
pub fn date_of(at: Millis, offset_seconds: i32) -> Date {
    Date::from_days(local(at, offset_seconds).div_euclid(DAY_MS))
}

/// Returns the local time of `at` as `HH:MM:SS`; `offset_seconds` is the offset east of UTC.
pub fn time_of(at: Millis, offset_seconds: i32) -> String {
    let seconds = local(at, offset_seconds).rem_euclid(DAY_MS) / 1000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

// Points in time.

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// Returns the milliseconds from `earlier` to `self`; 0 where `earlier` is later, as after the clock was set back.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// Parsing timestamps such as `2026-11-14T23:45:24.215Z`. This runs for every line of a transcript.

/// Parses an ISO 8601 time with date, time, optional fraction and zone (`Z` or `±HH:MM`).
///
/// Returns `None` for anything else, and for times before 1970. A day may be up to 31 in every month: the clients write
/// valid dates, and the result is only used to sort and to show entries.
pub fn parse_timestamp(text: &str) -> Option<Millis> {
    let (date, time) = text.split_at_checked(10)?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let mut date = date.split('-');
    let (year, month, day) = (field(date.next()?, 9999)?, field(date.next()?, 12)?, field(date.next()?, 31)?);
    if month < 1 || day < 1 || date.next().is_some() {
        return None;
    }
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at_checked(zone_at)?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = whole.split(':');
    let (hour, minute, second) = (field(clock.next()?, 23)?, field(clock.next()?, 59)?, field(clock.next()?, 60)?);
    if clock.next().is_some() {
        return None;
    }
    let date = Date { year: year as i32, month: month as u8, day: day as u8 };
    let ms =
        date.days() * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + thousandths(fraction)? - zone_ms(zone)?;
    u64::try_from(ms).ok().map(Millis)
}

/// Parses up to four digits, with a value of at most `max`.
fn field(text: &str, max: i64) -> Option<i64> {
    let digits = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= max)
}

fn thousandths(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(3);
    Some(digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

fn zone_ms(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (field(hours, 23)? * 60 + field(minutes, 59)?) * 60_000)
}
