use longhaul_core::Millis;
use serde_json::json;

use super::{LineContext, Report, line};
use crate::cli::paint::{Colours, render, width};

fn report() -> Report {
    let json = json!({
        "model": { "id": "claude-opus-5-5", "display_name": "Opus 5.5" },
        "workspace": { "current_dir": "/work/日本\u{1b}[31m語/" },
        "context_window": {
            "context_window_size": 200_000,
            "current_usage": { "input_tokens": 2_000, "cache_read_input_tokens": 140_000, "output_tokens": 9_999 },
        },
        "rate_limits": { "five_hour": { "used_percentage": 42, "resets_at": 90 } },
        "cost": { "total_cost_usd": 1.234 },
    });
    Report::read(json.to_string().as_bytes())
}

fn shown(columns: Option<usize>) -> String {
    shown_with(columns, false)
}

fn shown_with(columns: Option<usize>, shows_cost: bool) -> String {
    let around =
        LineContext { branch: Some("main\n".to_owned()), bookmarks: 3, now: 1, shows_cost, ..LineContext::default() };
    render(&line(&report(), &around, columns), Colours::No)
}

#[test]
fn what_was_shown_stands_there_while_there_is_room() {
    let line = |shown: [u64; 3], columns: Option<usize>| {
        let around = LineContext { shown, ..LineContext::default() };
        render(&line(&report(), &around, columns), Colours::No)
    };
    assert!(line([12, 1, 0], None).contains("  began with 12 turns and 1 record  5h"), "{}", line([12, 1, 0], None));
    assert!(line([0, 2, 1], None).contains("  began with 2 records, recalled 1 passage  "));
    assert!(line([0, 0, 2], None).contains("  recalled 2 passages  "));
    assert_eq!(line([12, 1, 2], Some(60)), line([0; 3], Some(60)));
}

#[test]
fn everything_stands_in_one_harmless_line() {
    assert_eq!(shown(None), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3  5h 42%");
}

#[test]
fn the_cost_is_shown_only_on_request_and_left_out_before_the_bookmarks() {
    let all = "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3  $1.23  5h 42%";
    assert_eq!(shown_with(None, true), all);
    assert_eq!(shown_with(Some(72), true), all.replace("  5h 42%", ""));
    assert_eq!(shown_with(Some(65), true), all.replace("  $1.23  5h 42%", ""));
}

#[test]
fn a_narrow_terminal_gets_what_matters_most() {
    assert_eq!(shown(Some(65)), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3");
    assert_eq!(shown(Some(61)), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left");
    assert_eq!(shown(Some(50)), "Opus 5.5  ███████░░░ 71% · 58k left");
    for columns in 0..80 {
        assert!(width(&shown(Some(columns))) <= columns, "{columns}: {}", shown(Some(columns)));
    }
}

#[test]
fn without_a_report_it_is_short() {
    let plain = |report: &Report| render(&line(report, &LineContext::default(), None), Colours::No);
    assert_eq!(plain(&Report::default()), "longhaul");
    assert_eq!(plain(&Report { window: Some(1_000_000), ..Report::default() }), "1M left");
    assert_eq!(plain(&Report { used_percent: Some(95.0), ..Report::default() }), "██████████ 95%");
}

const BEFORE: &[u8] = include_bytes!("../../../../tests/statusline/before-first-reply.json");
const AFTER: &[u8] = include_bytes!("../../../../tests/statusline/after-reply.json");

#[test]
fn what_the_client_sends_is_understood() {
    let report = Report::read(AFTER);
    assert_eq!(report.model_name.as_deref(), Some("Opus 5.5"));
    assert_eq!((report.window, report.used, report.used_percent), (Some(1_000_000), Some(13_233), Some(1.0)));
    assert_eq!((report.percent(), report.cost), (Some(1.3233), Some(0.727_836)));
    let before = Report::read(BEFORE);
    assert_eq!((before.window, before.used, before.percent()), (Some(1_000_000), None, None));
}

#[test]
fn nothing_that_comes_is_too_strange() {
    for input in [
        &b""[..],
        b"{",
        b"null",
        b"[1]",
        b"\xff\xfe",
        br#"{"session_id":7,"model":"x","context_window":[],"rate_limits":"no"}"#,
        br#"{"context_window":{"context_window_size":0,"used_percentage":-1,"current_usage":{"input_tokens":"9"}}}"#,
        br#"{"context_window":{"context_window_size":1e300,"current_usage":{"input_tokens":1e300}}}"#,
    ] {
        let report = Report::read(input);
        assert_eq!((report.percent(), report.context(Millis(1))), (None, None), "{input:?}");
    }
}
