//! Local dates and times from a UTC offset, without a calendar library.

use std::fmt;

use crate::time::Millis;

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
