use proptest::prelude::*;

use crate::{Millis, parse_timestamp};

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
