//! Parses the time of `longhaul reopen --since`.

use anyhow::{Context, Result};
use jiff::civil;
use jiff::tz::TimeZone;
use longhaul_core::Millis;

/// Parses `90m`, `12h`, `3d`, or a day such as `2026-01-31`.
pub(super) fn parse(text: &str, now: Millis) -> Result<Millis> {
    let unusable = || format!("{text:?} is not a time: write it as 90m, 12h, 3d or 2026-01-31");
    if let Ok(day) = text.parse::<civil::Date>() {
        let start = day.to_zoned(TimeZone::system()).with_context(unusable)?;
        return Ok(Millis(start.timestamp().as_millisecond().unsigned_abs()));
    }
    let unit = text.chars().last().with_context(unusable)?;
    let minutes: u64 = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        _ => 0,
    };
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let number = number.filter(|_| minutes > 0).with_context(unusable)?;
    Ok(Millis(now.0.saturating_sub(number.saturating_mul(minutes * 60_000))))
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::parse;

    #[test]
    fn a_time_is_an_age_or_a_day() {
        let now = Millis(1_800_000_000_000);
        let age = |text: &str| parse(text, now).map(|since| now.0 - since.0).map_err(|error| error.to_string());
        assert_eq!(age("90m"), Ok(5_400_000));
        assert_eq!(age("12h"), Ok(43_200_000));
        assert_eq!(age("3d"), Ok(259_200_000));
        assert!(age("2026-11-16").is_ok_and(|age| age > 0));
        for wrong in ["", "h", "3", "3w", "-3d", "2026-13-01", "é", "3é"] {
            let message = format!("{wrong:?} is not a time: write it as 90m, 12h, 3d or 2026-01-31");
            assert_eq!(age(wrong), Err(message));
        }
    }
}
