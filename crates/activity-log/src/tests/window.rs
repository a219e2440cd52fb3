use longhaul_core::event::Event;
use longhaul_core::{Millis, Status};
use proptest::prelude::*;

use crate::{LogLine, TailStart, bookmarks_since_prompt, chars_of_json, covers_window, may_be_of_newest_turn, measure};

#[test]
fn the_window_begins_at_the_last_bookmark() {
    let metrics = measure(b"T 1 400\nB 2\nT 3000 40\nA 9999 80\nI 10000\n", TailStart::LogStart);
    assert_eq!((metrics.tool_calls, metrics.agent_returns), (1, 1));
    assert_eq!(metrics.estimated_tokens(), 30);
    assert_eq!(metrics.elapsed_seconds(), 6);
    assert_eq!(metrics.last_injection, Some(Millis(10000)));
    assert_eq!(metrics.last_bookmark, Some(Millis(2)));
    assert!(!metrics.last_line_is_bookmark);
}

#[test]
fn a_bookmark_is_last_even_when_a_prompt_or_a_status_follows() {
    assert!(measure(b"T 1 1\nB 2\nP 3\nS 4 completed\n", TailStart::LogStart).last_line_is_bookmark);
    assert!(!measure(b"B 2\nA 3 1\n", TailStart::LogStart).last_line_is_bookmark);
    assert!(!measure(b"T 3 1\n", TailStart::LogStart).last_line_is_bookmark);
}

#[test]
fn a_torn_last_line_and_a_cut_first_one_are_ignored() {
    assert_eq!(measure(b"T 1 1\nT 2 1\nT 3", TailStart::LogStart).tool_calls, 2);
    assert_eq!(measure(b"00 1\nT 2 1\n", TailStart::Midway).tool_calls, 1);
    assert_eq!(measure(b"T 1 1\nT 2 1\n", TailStart::Midway).tool_calls, 1);
    assert_eq!(measure(b"T 1 1", TailStart::Midway).tool_calls, 0);
}

#[test]
fn the_newest_telling_line_is_the_status() {
    let status = |log: &[u8]| measure(log, TailStart::LogStart).status;
    assert_eq!(status(b""), None);
    assert_eq!(status(b"S 1 completed\nP 2\n"), Some(Status::Working));
    assert_eq!(status(b"T 1 1\nS 2 completed\nB 3\n"), Some(Status::Completed));
    assert_eq!(status(b"S 2 completed\nT 3 9\nI 4\nB 5\n"), Some(Status::Working));
}

#[test]
fn injections_are_unconfirmed_until_a_bookmark_or_a_prompt() {
    let unconfirmed = |log: &[u8]| measure(log, TailStart::LogStart).unconfirmed;
    assert_eq!(unconfirmed(b"T 1 1\nI 2\nT 3 1\nI 4\n"), 2);
    assert_eq!(unconfirmed(b"T 1 1\nI 2\nG 3\nT 3 1\nI 4\n"), 1);
    assert_eq!(unconfirmed(b"I 1\nI 2\nG 3\nG 4\n"), 0);
    assert_eq!(unconfirmed(b"I 1\nI 2\nG 3\n"), 1, "one line gives up one injection");
    assert_eq!(unconfirmed(b"I 2\nB 3\nI 4\n"), 1);
    assert_eq!(unconfirmed(b"I 2\nI 3\nP 4\nI 5\n"), 1);
}

#[test]
fn five_returns_in_ten_seconds_are_a_burst() {
    let burst = |log: &[u8]| measure(log, TailStart::LogStart).agent_burst >= crate::decision::BURST;
    assert!(burst(b"A 1 1\nA 2 1\nA 3 1\nA 4 1\nT 5 1\nA 9000 1\n"));
    assert!(!burst(b"A 1 1\nA 2 1\nA 3 1\nA 4 1\nA 30000 1\n"));
}

#[test]
fn a_tail_reaches_far_enough_at_a_bookmark_and_a_status() {
    assert!(covers_window(b"", TailStart::LogStart));
    assert!(!covers_window(b"x\nT 1 1\n", TailStart::Midway));
    assert!(!covers_window(b"x\nB 1\n", TailStart::Midway));
    assert!(covers_window(b"x\nT 1 1\nB 1\n", TailStart::Midway));
}

#[test]
fn a_turn_is_running_while_working_or_blocked() {
    for (log, expected) in [
        (&b""[..], false),
        (b"P 1\n", true),
        (b"T 1 1\n", true),
        (b"S 1 working\n", true),
        (b"S 1 blocked\n", true),
        (b"P 1\nS 2 idle\n", false),
        (b"P 1\nS 2 completed\n", false),
    ] {
        assert_eq!(measure(log, TailStart::LogStart).is_turn_running(), expected, "{log:?}");
    }
}

#[test]
fn times_are_the_latest_whatever_the_order_of_the_lines() {
    let metrics = measure(b"T 9000 1\nI 30\nI 20\nC 7\nC 5\nT 2000 1\nT 4000 1\n", TailStart::LogStart);
    assert_eq!((metrics.first_activity, metrics.last_activity), (Some(Millis(2000)), Some(Millis(9000))));
    assert_eq!(metrics.elapsed_seconds(), 7);
    assert_eq!((metrics.last_injection, metrics.last_compaction), (Some(Millis(30)), Some(Millis(7))));
    assert_eq!(metrics.last_line, Some(Millis(9000)));
    assert_eq!(measure(b"", TailStart::LogStart).elapsed_seconds(), 0);
}

#[test]
fn what_stands_before_the_last_bookmark_is_not_counted() {
    let metrics = measure(b"I 1\nA 2 5\nB 3\nT 4 5\nB 5\nT 6 7\n", TailStart::LogStart);
    assert_eq!((metrics.tool_calls, metrics.agent_returns, metrics.chars), (1, 0, 7));
    assert_eq!((metrics.last_bookmark, metrics.unconfirmed), (Some(Millis(5)), 0));
    assert_eq!((metrics.last_injection, metrics.last_return), (Some(Millis(1)), None));
}

#[test]
fn a_burst_reaches_ten_seconds_back() {
    let burst = |log: &[u8]| measure(log, TailStart::LogStart).agent_burst;
    assert_eq!(burst(b"A 1000 1\nA 11000 1\n"), 2);
    assert_eq!(burst(b"A 999 1\nA 11000 1\n"), 1);
    assert_eq!(measure(b"A 999 1\nA 11000 1\n", TailStart::LogStart).last_return, Some(Millis(11_000)));
}

#[test]
fn only_whole_lines_show_how_far_a_tail_reaches() {
    for (tail, expected) in [
        (&b"x\nP 1\nB 2\n"[..], true),
        (b"x\nS 1 idle\nB 2\n", true),
        (b"x\nT one 1\nB 2\n", false),
        (b"x\nA 1 1\nB 2\n", false),
        (b"x\nT 1 1\nB two\n", false),
        (b"T 1 1\nB 2\n", false),
        (b"x\nT 1 1\nB 2", false),
    ] {
        assert_eq!(covers_window(tail, TailStart::Midway), expected, "{tail:?}");
        assert!(covers_window(tail, TailStart::LogStart));
    }
}

proptest! {
    /// Reading only as far as needed finds what reading everything finds.
    #[test]
    fn a_short_tail_measures_what_the_whole_log_does(
        letters in proptest::collection::vec(proptest::sample::select(vec!["T", "A", "I", "B", "P"]), 1..120),
        cut in 0..2000_usize,
    ) {
        let log: String = letters.iter().enumerate().map(|(i, l)| format!("{l} {} 5\n", 1000 + i)).collect();
        let tail = &log.as_bytes()[cut.min(log.len())..];
        prop_assume!(cut > 0 && covers_window(tail, TailStart::Midway));
        let (short, whole) = (measure(tail, TailStart::Midway), measure(log.as_bytes(), TailStart::LogStart));
        prop_assert_eq!(short.tool_calls, whole.tool_calls);
        prop_assert_eq!(short.agent_returns, whole.agent_returns);
        prop_assert_eq!(short.last_bookmark, whole.last_bookmark);
        prop_assert_eq!(short.last_line_is_bookmark, whole.last_line_is_bookmark);
        prop_assert_eq!(short.unconfirmed, whole.unconfirmed);
        prop_assert_eq!(short.status, whole.status);
    }

    #[test]
    fn no_bytes_break_the_measure(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        for reach in [TailStart::LogStart, TailStart::Midway] {
            let metrics = measure(&bytes, reach);
            let _ = (metrics.estimated_tokens(), metrics.elapsed_seconds(), metrics.is_turn_running());
            let _ = (covers_window(&bytes, reach), bookmarks_since_prompt(&bytes, reach));
        }
    }
}

#[test]
fn a_string_counts_its_characters_null_nothing_and_the_rest_its_json() {
    for (json, chars) in [
        ("null", 0),
        (r#""""#, 0),
        (r#""hé\n""#, 3),
        (r#""\u00e9\ud83d\ude00x""#, 3),
        (r#""a\\u0041""#, 7),
        (r#"{"a": "é"}"#, 10),
        ("[1, 2]", 6),
        ("12.5", 4),
        ("true", 4),
    ] {
        assert_eq!(chars_of_json(json), chars, "{json}");
    }
}

#[test]
fn a_payload_is_measured_as_it_came() {
    let text = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_response":{"stdout": "hi"}}"#;
    let Ok(Event::PostToolUse(call)) = Event::parse(text) else { panic!("not a call") };
    assert_eq!(call.tool_response.map(chars_of_json), Some(16));
    let empty = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_response":null}"#;
    assert!(matches!(Event::parse(empty), Ok(Event::PostToolUse(call)) if call.tool_response.is_none()));
}

proptest! {
    #[test]
    fn a_string_is_as_long_as_it_is(text in any::<String>()) {
        let json: String = text.chars().map(|c| match c {
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            c if (c as u32) < 0x20 || (c as u32) > 0xffff => c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect(),
            c => c.to_string(),
        }).collect();
        prop_assert_eq!(chars_of_json(&format!("\"{json}\"")), text.chars().count() as u64);
    }

    #[test]
    fn no_text_measures_more_than_it_is(text in any::<String>(), cut in "(\"|\\\\|\\\\u|d83d|é|a){0,12}") {
        for text in [text, format!("\"{cut}\""), cut] {
            prop_assert!(chars_of_json(&text) <= text.len() as u64, "{text:?}");
        }
    }
}

#[track_caller]
fn check(log: &str, expected: u64) {
    assert_eq!(bookmarks_since_prompt(log.as_bytes(), TailStart::LogStart), expected, "{log:?}");
}

#[test]
fn bookmarks_count_back_to_the_last_prompt() {
    check("", 0);
    check("B 1\nP 2\nT 3 9\n", 0);
    check("P 1\nT 2 9\nI 3\nB 3\nT 4 9\nB 5\nS 6 completed\n", 2);
    check("B 1\nB 2\n", 2);
    check("P 1\nB 2\nnonsense\nB 3", 1);
}

#[test]
fn a_compactions_mark_is_no_bookmark() {
    check("P 1\nB 2\nC 3\nB 3\nT 4 9\nB 5\n", 2);
    check("P 1\nC 3\nB 4\n", 1);
    check("P 1\nB 2\nC 2\nT 3 9\n", 1);
    // The same where nothing could be typed.
    check("P 1\nI 3\nG 3\nB 3\nT 4 9\n", 0);
    check("P 1\nI 2\nG 2\nT 3 9\nI 4\nB 5\n", 1);
}

#[test]
fn only_the_newest_turn_counts() {
    let turn = |id: &str| format!("{}\n", LogLine::turn(Millis(1), id));
    let may_be = |log: &str| may_be_of_newest_turn(log.as_bytes(), TailStart::LogStart, "p1");
    assert!(may_be("") && may_be("P 1\nT 2 9\n"), "no turn is known");
    assert!(may_be(&format!("P 1\n{}T 2 9\nB 3\n", turn("p1"))));
    assert!(may_be(&format!("{}P 1\n{}", turn("p2"), turn("p1"))));
    assert!(!may_be(&format!("{}P 1\n{}", turn("p1"), turn("p2"))));
    assert!(!may_be(&format!("P 1\n{}T 2 9\n", turn("p2"))));
}

#[track_caller]
fn check_line(line: &str, expected: Option<LogLine>) {
    assert_eq!(LogLine::parse(line.as_bytes()), expected, "{line:?}");
}

#[test]
fn every_letter_is_read() {
    let at = Millis(1700);
    check_line("T 1700 42", Some(LogLine::Tool { at, chars: 42, mark: None }));
    check_line("A 1700 7", Some(LogLine::Agent { at, chars: 7 }));
    check_line("I 1700", Some(LogLine::Injection { at }));
    check_line("G 1700", Some(LogLine::GivenUp { at }));
    check_line("B 1700", Some(LogLine::Bookmark { at }));
    check_line("C 1700", Some(LogLine::Compaction { at }));
    check_line("P 1700", Some(LogLine::Prompt { at }));
    check_line("N 1700 12", Some(LogLine::Turn { at, prompt: 12 }));
    check_line("S 1700 blocked", Some(LogLine::Status { at, status: Status::Blocked }));
}

#[test]
fn a_bad_count_is_zero_and_a_bad_time_is_no_line() {
    check_line("T 1700 many", Some(LogLine::Tool { at: Millis(1700), chars: 0, mark: None }));
    check_line("T 1700 -3", Some(LogLine::Tool { at: Millis(1700), chars: 0, mark: None }));
    check_line("T 1700", Some(LogLine::Tool { at: Millis(1700), chars: 0, mark: None }));
    check_line("T soon 3", None);
    check_line("T -1 3", None);
    check_line("T 99999999999999999999999 3", None);
    check_line("T", None);
}

#[test]
fn the_unknown_is_ignored() {
    check_line("X 1700 3", None);
    check_line("TT 1700 3", None);
    check_line("S 1700 dancing", None);
    check_line("S 1700", None);
    check_line("N 1700", None);
    check_line("N 1700 p1", None);
    check_line("", None);
    check_line("   ", None);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(at in any::<u64>(), chars in any::<u64>(), letter in 0..12_u8) {
        let at = Millis(at);
        let (agent, mark) = (chars as u16, Some((chars >> 16) as u16));
        let line = match letter {
            0 => LogLine::Tool { at, chars, mark: None },
            9 => LogLine::Tool { at, chars, mark },
            10 => LogLine::Call { at, agent, mark },
            11 => LogLine::Loop { at, agent, stage: chars as u8 },
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
