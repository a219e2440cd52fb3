//! Parsing timestamps such as `2026-11-14T23:45:24.215Z`. This runs for every line, and needs no calendar library.

use crate::clock::{DAY_MS, Date};
use crate::time::Millis;

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
