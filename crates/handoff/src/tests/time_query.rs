use longhaul_core::Millis;
use proptest::prelude::*;

use crate::{Date, Span, TimeQuery, TimeQueryError, date_of, parse_time_query, time_of};

const TODAY: Date = Date { year: 2026, month: 3, day: 1 };

fn clock(hours: u64, minutes: u64, seconds: u64) -> u64 {
    ((hours * 60 + minutes) * 60 + seconds) * 1000
}

#[track_caller]
fn check(text: &str, date: Option<&str>, from: u64, to: u64) {
    let date = date.map(|date| Date::parse(date).unwrap());
    assert_eq!(parse_time_query(text, TODAY), Ok(TimeQuery::Time { date, span: Span { from, to } }), "{text}");
}

#[test]
fn times_cover_their_minute_or_second() {
    check("14:03", None, clock(14, 3, 0), clock(14, 4, 0));
    check(" 14:03:20 ", None, clock(14, 3, 20), clock(14, 3, 21));
    check("9:05", None, clock(9, 5, 0), clock(9, 6, 0));
    check("23:59", None, clock(23, 59, 0), clock(24, 0, 0));
    check("00:00:00", None, 0, 1000);
}

#[test]
fn ranges_end_with_their_last_minute() {
    check("14:00-14:30", None, clock(14, 0, 0), clock(14, 31, 0));
    check("14:00 - 14:30:10", None, clock(14, 0, 0), clock(14, 30, 11));
    check("14:00..14:00", None, clock(14, 0, 0), clock(14, 1, 0));
    check("14:00 to 15:00", None, clock(14, 0, 0), clock(15, 1, 0));
    check("14:00–15:00", None, clock(14, 0, 0), clock(15, 1, 0));
    check("23:50-00:10", None, clock(23, 50, 0), clock(24, 11, 0));
}

#[test]
fn dates_may_stand_before() {
    check("2026-11-14 14:03", Some("2026-11-14"), clock(14, 3, 0), clock(14, 4, 0));
    check("2026-11-14T14:03:20", Some("2026-11-14"), clock(14, 3, 20), clock(14, 3, 21));
    check("2026-11-14 14:00-14:30", Some("2026-11-14"), clock(14, 0, 0), clock(14, 31, 0));
    check("2026-11-14", Some("2026-11-14"), 0, clock(24, 0, 0));
    check("today 14:03", Some("2026-03-01"), clock(14, 3, 0), clock(14, 4, 0));
    check("Yesterday 14:03", Some("2026-02-28"), clock(14, 3, 0), clock(14, 4, 0));
    check("yesterday", Some("2026-02-28"), 0, clock(24, 0, 0));
    let span = Span { from: 1, to: 2 };
    assert_eq!(span.after(Millis(10)), (Millis(11), Millis(12)));
}

#[test]
fn turns_have_numbers_and_ids() {
    for text in ["12", "#12", "turn 12", "turn #12"] {
        assert_eq!(parse_time_query(text, TODAY), Ok(TimeQuery::TurnNumber(12)), "{text}");
    }
    for id in ["fae7d3d5", "fae7d3d5-0b4e-4f6f-9a0d-4cb06f3a1f4b", "12345678"] {
        assert_eq!(parse_time_query(id, TODAY), Ok(TimeQuery::TurnId(id.to_owned())), "{id}");
    }
}

#[test]
fn nonsense_is_said_to_be() {
    assert_eq!(parse_time_query("  ", TODAY), Err(TimeQueryError::Empty));
    for text in [
        "24:00",
        "14:60",
        "14:03:60",
        "14:3:2:1",
        ":",
        "14:",
        "14:03-",
        "x14:03",
        "14:03-15",
        "+1:03",
        "2026-11-14 5",
        "141:00",
    ] {
        assert_eq!(parse_time_query(text, TODAY), Err(TimeQueryError::BadTime), "{text}");
    }
    for text in ["soon", "2026-02-30", "+5", "#", "#x", "noon today"] {
        assert_eq!(parse_time_query(text, TODAY), Err(TimeQueryError::Unknown), "{text}");
    }
}

#[test]
fn local_times_follow_the_offset() {
    let at = Millis(1_794_699_924_215);
    assert_eq!((time_of(at, 0), date_of(at, 0).to_string()), ("23:45:24".into(), "2026-11-14".into()));
    assert_eq!((time_of(at, 3600), date_of(at, 3600).to_string()), ("00:45:24".into(), "2026-11-15".into()));
    assert_eq!((time_of(at, -19_800), date_of(at, -19_800).to_string()), ("18:15:24".into(), "2026-11-14".into()));
    assert_eq!(time_of(Millis(0), -3600), "23:00:00");
    assert_eq!(Date::parse("2024-02-29").map(|date| date.to_string()).as_deref(), Some("2024-02-29"));
    for text in ["2023-02-29", "2026-2-1", "2026-00-01", "2026-01-00", "2026-01-01-", "x", "+026-01-01"] {
        assert_eq!(Date::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "[0-9:# .a-zé–-]{0,24}|\\PC{0,20}") {
        let _ = parse_time_query(&text, TODAY);
    }

    #[test]
    fn days_come_back(ms in any::<u64>(), offset in -86_400..86_400_i32) {
        let date = date_of(Millis(ms), offset);
        prop_assert!(date.year < 1970 || date.year > 9999 || Date::parse(&date.to_string()) == Some(date));
        prop_assert_eq!(time_of(Millis(ms), offset).len(), 8);
    }
}
