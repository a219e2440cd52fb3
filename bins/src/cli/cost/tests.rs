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
