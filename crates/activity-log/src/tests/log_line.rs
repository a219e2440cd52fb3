use longhaul_core::{Millis, Status};
use proptest::prelude::*;

use crate::LogLine;

#[track_caller]
fn check(line: &str, expected: Option<LogLine>) {
    assert_eq!(LogLine::parse(line.as_bytes()), expected, "{line:?}");
}

#[test]
fn every_letter_is_read() {
    let at = Millis(1700);
    check("T 1700 42", Some(LogLine::Tool { at, chars: 42 }));
    check("A 1700 7", Some(LogLine::Agent { at, chars: 7 }));
    check("I 1700", Some(LogLine::Injection { at }));
    check("G 1700", Some(LogLine::GivenUp { at }));
    check("B 1700", Some(LogLine::Bookmark { at }));
    check("C 1700", Some(LogLine::Compaction { at }));
    check("P 1700", Some(LogLine::Prompt { at }));
    check("N 1700 12", Some(LogLine::Turn { at, prompt: 12 }));
    check("S 1700 blocked", Some(LogLine::Status { at, status: Status::Blocked }));
}

#[test]
fn a_bad_count_is_zero_and_a_bad_time_is_no_line() {
    check("T 1700 many", Some(LogLine::Tool { at: Millis(1700), chars: 0 }));
    check("T 1700 -3", Some(LogLine::Tool { at: Millis(1700), chars: 0 }));
    check("T 1700", Some(LogLine::Tool { at: Millis(1700), chars: 0 }));
    check("T soon 3", None);
    check("T -1 3", None);
    check("T 99999999999999999999999 3", None);
    check("T", None);
}

#[test]
fn the_unknown_is_ignored() {
    check("X 1700 3", None);
    check("TT 1700 3", None);
    check("S 1700 dancing", None);
    check("S 1700", None);
    check("N 1700", None);
    check("N 1700 p1", None);
    check("", None);
    check("   ", None);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(at in any::<u64>(), chars in any::<u64>(), letter in 0..9_u8) {
        let at = Millis(at);
        let line = match letter {
            0 => LogLine::Tool { at, chars },
            1 => LogLine::Agent { at, chars },
            2 => LogLine::Injection { at },
            3 => LogLine::Bookmark { at },
            4 => LogLine::Compaction { at },
            5 => LogLine::Prompt { at },
            6 => LogLine::GivenUp { at },
            7 => LogLine::Turn { at, prompt: chars },
            _ => LogLine::Status { at, status: Status::Completed },
        };
        prop_assert_eq!(LogLine::parse(line.to_string().as_bytes()), Some(line));
        prop_assert_eq!(line.at(), at);
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = LogLine::parse(&bytes);
    }
}
