use proptest::prelude::*;
use serde_json::json;

use crate::{Ledger, Prices, UsageLine};

/// A line of a transcript.
#[derive(Debug, Clone)]
struct Line {
    message: &'static str,
    session: &'static str,
    output: u64,
    forked_from: Option<&'static str>,
}

fn line(message: &'static str, session: &'static str, output: u64) -> Line {
    Line { message, session, output, forked_from: None }
}

fn fork(message: &'static str, session: &'static str, output: u64, from: &'static str) -> Line {
    Line { forked_from: Some(from), ..line(message, session, output) }
}

fn ledger(lines: &[Line]) -> Ledger {
    let mut ledger = Ledger::default();
    let project = ledger.project("/p", "p");
    for Line { message, session, output, forked_from } in lines {
        let mut json = json!({
            "timestamp": "2026-11-14T10:00:00Z", "sessionId": session, "requestId": format!("req_{message}"),
            "message": { "id": message, "model": "claude-opus-5-5", "usage": {
                "input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 100,
            } },
        });
        if let Some(from) = forked_from {
            json["forkedFrom"] = json!({ "sessionId": from });
        }
        let text = json.to_string();
        ledger.add(&UsageLine::parse(text.as_bytes()).unwrap(), "file", project);
    }
    ledger
}

/// Checks the requests and the output tokens of sessions.
#[track_caller]
fn check(lines: &[Line], expected: &[(&str, u64, u64)]) {
    let ledger = ledger(lines);
    for (session, requests, output) in expected {
        let sum = ledger.session(session, &Prices::default());
        assert_eq!((sum.requests, sum.tokens.output), (*requests, *output), "{session}: {lines:?}");
    }
    assert_eq!(ledger.len() as u64, expected.iter().map(|(_, requests, _)| requests).sum::<u64>());
}

#[test]
fn the_pieces_of_a_stream_count_once_with_the_largest_number() {
    check(&[line("m1", "a", 1), line("m1", "a", 40), line("m1", "a", 7), line("m2", "a", 5)], &[("a", 2, 45)]);
}

#[test]
fn a_resumed_session_that_repeats_the_old_one_counts_only_what_is_new() {
    check(
        &[line("m1", "a", 1), line("m2", "a", 2), line("m1", "b", 1), line("m2", "b", 2), line("m3", "b", 4)],
        &[("a", 2, 3), ("b", 1, 4)],
    );
}

#[test]
fn a_forked_session_leaves_its_copies_to_the_original_in_any_order() {
    let original = [line("m1", "a", 1), line("m2", "a", 2)];
    let forked = [fork("m1", "b", 1, "a"), fork("m2", "b", 2, "a"), line("m3", "b", 4)];
    let expected = [("a", 2, 3), ("b", 1, 4)];
    check(&[&original[..], &forked].concat(), &expected);
    check(&[&forked[..], &original].concat(), &expected);
    // The transcript of the original session was deleted.
    check(&forked, &expected);
}

#[test]
fn a_session_that_no_line_names_is_that_of_the_file() {
    let mut ledger = Ledger::default();
    let project = ledger.project("/p", "p");
    let text = r#"{"timestamp":"2026-11-14T10:00:00Z","message":{"usage":{"input_tokens":1,"output_tokens":2}}}"#;
    for _ in 0..2 {
        ledger.add(&UsageLine::parse(text.as_bytes()).unwrap(), "file", project);
    }
    // Without an id, nothing says that the two lines are the same request.
    assert_eq!((ledger.session("file", &Prices::default()).requests, ledger.is_empty()), (2, false));
    assert_eq!(ledger.session("other", &Prices::default()).requests, 0);
}

#[test]
fn a_name_of_any_length_takes_little_memory() {
    let mut ledger = Ledger::default();
    let project = ledger.project("/p", "p");
    let long = "é".repeat(100_000);
    let text = format!(
        r#"{{"timestamp":"2026-11-14T10:00:00Z","sessionId":"x{long}","message":{{"id":"m","usage":{{"input_tokens":1,"output_tokens":2}}}}}}"#
    );
    ledger.add(&UsageLine::parse(text.as_bytes()).unwrap(), "file", project);
    let name = &ledger.sessions.all()[0];
    assert_eq!((name.len(), name.starts_with("xéé")), (999, true));
}

proptest! {
    #[test]
    fn repetitions_and_their_order_change_no_sum(
        requests in proptest::collection::vec((0..8_usize, 0..3_usize, 0..100_u64), 0..40),
        seed in any::<u64>(),
    ) {
        const IDS: [&str; 8] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"];
        const SESSIONS: [&str; 3] = ["a", "b", "c"];
        let lines: Vec<Line> =
            requests.iter().map(|(id, session, output)| line(IDS[*id], SESSIONS[*session], *output)).collect();
        let mut mixed = [lines.clone(), lines.clone()].concat();
        mixed.sort_by_key(|line| (line.output ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let total = |lines: &[Line]| {
            let ledger = ledger(lines);
            let sums = SESSIONS.map(|session| ledger.session(session, &Prices::default()));
            sums.iter().fold((0, 0), |(count, output), sum| (count + sum.requests, output + sum.tokens.output))
        };
        let expected: u64 = IDS.iter().filter_map(|id| {
            lines.iter().filter(|line| line.message == *id).map(|line| line.output).max()
        }).sum();
        prop_assert_eq!(total(&lines).1, expected);
        prop_assert_eq!(total(&mixed), total(&lines));
    }
}
