use proptest::prelude::*;

use crate::clock::{DAY_MS, Date, date_of, time_of};
use crate::{Millis, parse_timestamp};

fn date(year: i32, month: u8, day: u8) -> Date {
    Date { year, month, day }
}

#[test]
fn a_date_is_parsed_only_if_it_exists() {
    for (text, expected) in [
        ("2026-11-14", Some(date(2026, 11, 14))),
        ("2024-02-29", Some(date(2024, 2, 29))),
        ("2000-02-29", Some(date(2000, 2, 29))),
        ("0001-01-01", Some(date(1, 1, 1))),
        ("2026-12-31", Some(date(2026, 12, 31))),
        ("2026-02-29", None),
        ("1900-02-29", None),
        ("2026-04-31", None),
        ("2026-13-01", None),
        ("2026-00-01", None),
        ("2026-01-00", None),
        ("2026-01-32", None),
        ("26-01-01", None),
        ("2026-1-01", None),
        ("2026-01-1", None),
        ("2026-01-01-01", None),
        ("2026-01", None),
        ("+026-01-01", None),
        ("", None),
    ] {
        assert_eq!(Date::parse(text), expected, "{text}");
    }
}

#[test]
fn days_are_counted_from_1970() {
    for (day, days) in [
        (date(1970, 1, 1), 0),
        (date(1970, 3, 1), 59),
        (date(1969, 12, 31), -1),
        (date(2000, 2, 29), 11_016),
        (date(2000, 3, 1), 11_017),
        (date(2026, 11, 14), 20_771),
        (date(0, 3, 1), -719_468),
        (date(-1, 12, 31), -719_529),
    ] {
        assert_eq!(day.days(), days, "{day}");
    }
    assert_eq!(date(2026, 2, 31).days(), date(2026, 3, 3).days());
    assert_eq!(date(2026, 3, 1).yesterday(), date(2026, 2, 28));
    assert_eq!(date(2026, 1, 1).yesterday(), date(2025, 12, 31));
    assert_eq!(date(7, 3, 1).to_string(), "0007-03-01");
}

#[test]
fn local_time_follows_the_offset() {
    let at = Millis(20_771 * DAY_MS as u64 + 3_661_999);
    assert_eq!((date_of(at, 0), time_of(at, 0).as_str()), (date(2026, 11, 14), "01:01:01"));
    assert_eq!((date_of(at, 3_600), time_of(at, 3_600).as_str()), (date(2026, 11, 14), "02:01:01"));
    assert_eq!((date_of(at, -7_200), time_of(at, -7_200).as_str()), (date(2026, 11, 13), "23:01:01"));
    assert_eq!(date_of(Millis(0), -1), date(1969, 12, 31));
    assert_eq!(time_of(Millis(DAY_MS as u64 - 1), 0), "23:59:59");
}

#[test]
fn a_damaged_time_is_the_end_of_the_year_9999() {
    for at in [Millis(253_402_300_799_999), Millis(253_402_300_800_000), Millis(u64::MAX)] {
        assert_eq!((date_of(at, 0), time_of(at, 0).as_str()), (date(9999, 12, 31), "23:59:59"));
    }
}

proptest! {
    #[test]
    fn a_date_and_its_days_agree(days in 0..3_000_000_u64) {
        let at = Millis(days * DAY_MS as u64);
        prop_assert_eq!(date_of(at, 0).days(), days.min(2_932_896) as i64);
    }
}

#[track_caller]
fn check(text: &str, expected: Option<u64>) {
    assert_eq!(parse_timestamp(text), expected.map(Millis), "{text}");
}

#[test]
fn what_the_client_writes_is_read() {
    check("2026-11-14T23:45:24.215Z", Some(1_794_699_924_215));
    check("1970-01-01T00:00:00Z", Some(0));
    check("2024-02-29T12:00:00.5Z", Some(1_709_208_000_500));
    check("2000-03-01T00:00:00.000Z", Some(951_868_800_000));
    check("2026-11-15T00:45:24.215999+01:00", Some(1_794_699_924_215));
    check("2026-11-14T18:15:24.215-05:30", Some(1_794_699_924_215));
}

#[test]
fn anything_else_is_none() {
    for text in [
        "",
        "2026-11-14",
        "2026-11-14T23:45:24",
        "2026-13-14T23:45:24Z",
        "2026-00-14T23:45:24Z",
        "2026-11-14T24:45:24Z",
        "2026-11-14T23:45Z",
        "2026-11-14T23:45:24.Zx",
        "2026-11-14T+1:45:24Z",
        "1969-12-31T23:59:59Z",
        "2026-11-1é23:45:24Z",
    ] {
        check(text, None);
    }
}

#[test]
fn fields_are_checked_at_their_limits() {
    for text in [
        "9999-12-31T23:59:60.999Z",
        "2026-01-01t00:00:00z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T0:0:0Z",
        "2026-01-01T00:00:00+23:59",
        "2026-02-31T00:00:00Z",
    ] {
        assert!(parse_timestamp(text).is_some(), "{text}");
    }
    for text in [
        "2026-11-32T23:45:24Z",
        "2026-11-00014T23:45:24Z",
        "2026-11-14T23:+5:24Z",
        "2026-11-00T23:45:24Z",
        "2026-11-14T23:60:24Z",
        "2026-11-14T23:45:61Z",
        "2026-11-14T23:45:24:00Z",
        "2026-1--14T23:45:24Z",
        "2026-1-1-1T23:45:24Z",
        "2026-11-14T23:45:24.2x5Z",
        "2026-11-14T23:45:24+24:00",
        "2026-11-14T23:45:24+01:60",
        "2026-11-14T23:45:24+0100",
        "2026-11-14T23:45:24+",
        "2026-11-14X23:45:24Z",
    ] {
        check(text, None);
    }
    check("1970-01-01T00:00:01.2Z", Some(1_200));
    check("1970-01-01T00:01:00.02Z", Some(60_020));
    check("1970-01-01T01:00:00.0029Z", Some(3_600_002));
    check("1970-01-02T00:00:00+01:30", Some(81_000_000));
    check("1970-01-01T00:00:00-01:30", Some(5_400_000));
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in any::<String>(), like in "[0-9]{0,5}[-:T.Z+0-9é]{0,30}") {
        let _ = (parse_timestamp(&text), parse_timestamp(&like));
    }
}
