//! Parses the time of `longhaul cost --since`.

use anyhow::{Context, Result};
use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_runtime::{local_days, midnight};

const HOUR_MS: u64 = 3_600_000;

/// The maximum of a number of hours, days or weeks.
const MAX: u64 = 100_000;

/// Parses a day, `today`, `yesterday`, or a number of hours (`12h`), days (`7d`) or weeks (`2w`) until now.
///
/// Days are whole days in local time, today included: `1d` is today.
pub(crate) fn parse(text: &str, now: Millis) -> Result<Millis> {
    let today = local_days()(now);
    let parsed = match text {
        "today" => Some(midnight(today)),
        "yesterday" => Some(midnight(today.yesterday())),
        _ => Date::parse(text).map(midnight).or_else(|| ago(text, now, today)),
    };
    parsed.with_context(|| format!("{text:?} is not a time: write 2026-01-31, today, yesterday, 12h, 7d or 2w"))
}

fn ago(text: &str, now: Millis, today: Date) -> Option<Millis> {
    let unit = text.chars().last().filter(char::is_ascii_alphabetic)?;
    let count: u64 = text[..text.len() - 1].parse().ok().filter(|count| (1..=MAX).contains(count))?;
    let days = match unit {
        'h' => return Some(Millis(now.0.saturating_sub(count * HOUR_MS))),
        'd' => count,
        'w' => count * 7,
        _ => return None,
    };
    let first = (1..days).fold(today, |date, _| date.yesterday());
    Some(midnight(first))
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;
    use longhaul_core::clock::Date;
    use longhaul_runtime::{local_days, midnight};

    use super::parse;

    const NOW: Millis = Millis(1_794_700_000_000);

    #[track_caller]
    fn check(text: &str, days_ago: i64) {
        let today = local_days()(NOW);
        let day = (0..days_ago).fold(today, |date: Date, _| date.yesterday());
        assert_eq!(parse(text, NOW).unwrap(), midnight(day), "{text}");
    }

    #[test]
    fn days_are_whole_and_today_is_one_of_them() {
        check("today", 0);
        check("1d", 0);
        check("yesterday", 1);
        check("7d", 6);
        check("2w", 13);
        check(&local_days()(NOW).yesterday().to_string(), 1);
    }

    #[test]
    fn hours_count_back_from_now() {
        assert_eq!(parse("12h", NOW).unwrap(), Millis(NOW.0 - 12 * 3_600_000));
        assert_eq!(parse("100000h", Millis(5)).unwrap(), Millis(0));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_what_to_write() {
        for text in ["", "d", "0d", "-1d", "7", "7x", "7é", "1e3d", "100001d", "2026-13-01", "99999999999999999999d"] {
            let error = parse(text, NOW).unwrap_err().to_string();
            assert!(error.contains("write 2026-01-31"), "{text}: {error}");
        }
    }
}
