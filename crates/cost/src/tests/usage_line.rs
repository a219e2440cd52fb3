use longhaul_core::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Ledger, Prices, Request, RolloutUsage, Tokens, UsageLine, UsageScanner};

fn line(usage: Value) -> Value {
    json!({
        "type": "assistant", "uuid": "u", "sessionId": "s", "cwd": "/work/app", "requestId": "r",
        "timestamp": "2026-11-14T23:45:24.215Z",
        "message": { "id": "m", "model": "claude-opus-5-5", "content": [], "usage": usage },
    })
}

#[track_caller]
fn requests(line: &Value) -> Vec<Request> {
    let text = line.to_string();
    let parsed = UsageLine::parse(text.as_bytes()).unwrap_or_else(|| panic!("not parsed: {text}"));
    parsed.requests
}

#[track_caller]
fn tokens(usage: Value) -> Tokens {
    requests(&line(usage))[0].tokens
}

#[test]
fn every_kind_of_token_is_read() {
    let usage = json!({
        "input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11,
        "cache_creation": { "ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 9 },
    });
    let text = line(usage).to_string();
    let parsed = UsageLine::parse(text.as_bytes()).unwrap();
    assert_eq!((parsed.at, parsed.session.as_deref()), (Millis(1_794_699_924_215), Some("s")));
    assert_eq!((parsed.folder.as_deref(), parsed.is_copy), (Some("/work/app"), false));
    let [request] = parsed.requests.as_slice() else { panic!("{parsed:?}") };
    let expected = Tokens { input: 3, output: 5, cache_read: 7, cache_write_5m: 2, cache_write_1h: 9 };
    assert_eq!((request.model.as_str(), request.tokens), ("claude-opus-5-5", expected));
    assert_eq!((expected.prompt(), expected.cache_write(), expected.total()), (21, 11, 26));
}

#[test]
fn the_total_of_the_cache_counts_whatever_its_parts_say() {
    let written = |total: Value, parts: Value| {
        let usage = json!({
            "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": total, "cache_creation": parts,
        });
        let tokens = tokens(usage);
        (tokens.cache_write_5m, tokens.cache_write_1h)
    };
    let parts = |five: u64, hour: u64| json!({ "ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour });
    assert_eq!(written(json!(10), Value::Null), (10, 0));
    assert_eq!(written(json!(10), parts(0, 0)), (10, 0));
    assert_eq!(written(json!(10), parts(4, 6)), (4, 6));
    assert_eq!(written(json!(10), parts(0, 99)), (0, 10));
    assert_eq!(written(Value::Null, parts(4, 6)), (4, 6));
    assert_eq!(written(Value::Null, Value::Null), (0, 0));
}

#[test]
fn a_forked_line_belongs_to_the_session_that_made_the_request() {
    let mut forked = line(json!({ "input_tokens": 1, "output_tokens": 1 }));
    forked["forkedFrom"] = json!({ "sessionId": "original", "messageUuid": "x" });
    let text = forked.to_string();
    let parsed = UsageLine::parse(text.as_bytes()).unwrap();
    assert_eq!((parsed.session.as_deref(), parsed.is_copy), (Some("original"), true));
}

#[test]
fn the_pieces_of_a_reply_have_one_key_and_other_requests_another() {
    let key = |message: Value, request: Value, uuid: &str| {
        let mut line = line(json!({ "input_tokens": 1, "output_tokens": 1 }));
        (line["message"]["id"], line["requestId"], line["uuid"]) = (message, request, uuid.into());
        requests(&line)[0].key
    };
    assert_eq!(key("m".into(), "r".into(), "u1"), key("m".into(), "r".into(), "u2"));
    assert_ne!(key("m".into(), "r".into(), "u1"), key("m".into(), "r2".into(), "u1"));
    assert_ne!(key("m".into(), "r".into(), "u1"), key("m2".into(), "r".into(), "u1"));
    assert_eq!(key(Value::Null, Value::Null, "u1"), key(Value::Null, Value::Null, "u1"));
    assert_ne!(key(Value::Null, Value::Null, "u1"), key(Value::Null, Value::Null, "u2"));
    assert_eq!(key(Value::Null, "r".into(), ""), None);
}

#[test]
fn what_other_models_did_in_a_reply_is_counted_too() {
    let iteration = |kind: &str, model: Value, input: u64| json!({ "type": kind, "model": model, "input_tokens": input, "output_tokens": 1 });
    let usage = json!({
        "input_tokens": 100, "output_tokens": 10, "iterations": [
            iteration("message", Value::Null, 100),
            iteration("advisor_message", "claude-fable-5-2".into(), 200),
            iteration("compaction", Value::Null, 300),
        ],
    });
    let found = requests(&line(usage));
    let found: Vec<(&str, u64)> = found.iter().map(|request| (request.model.as_str(), request.tokens.input)).collect();
    assert_eq!(found, [("claude-opus-5-5", 100), ("claude-fable-5-2", 200), ("claude-opus-5-5", 300)]);
    for kind in ["advisor_message", "compaction"] {
        let alone =
            json!({ "input_tokens": 100, "output_tokens": 10, "iterations": [iteration(kind, "m".into(), 200)] });
        assert_eq!(requests(&line(alone)).len(), 2, "{kind}");
    }
    let odd = json!({ "input_tokens": 100, "output_tokens": 10, "iterations": "advisor_message" });
    assert_eq!(requests(&line(odd)).len(), 1);
}

#[test]
fn the_fast_mode_searches_and_the_place_are_read() {
    let usage = json!({
        "input_tokens": 1, "output_tokens": 1, "speed": "fast", "inference_geo": "us",
        "server_tool_use": { "web_search_requests": 4 },
    });
    let found = requests(&line(usage)).remove(0);
    assert_eq!((found.model.as_str(), found.web_searches, found.is_us_only), ("claude-opus-5-5-fast", 4, true));
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "speed": "standard", "inference_geo": "not_available" });
    let found = requests(&line(usage)).remove(0);
    assert_eq!((found.model.as_str(), found.web_searches, found.is_us_only), ("claude-opus-5-5", 0, false));
}

#[test]
fn messages_of_the_client_itself_are_no_requests() {
    let mut own = line(json!({ "input_tokens": 0, "output_tokens": 0 }));
    assert_eq!(requests(&own), []);
    own["message"]["model"] = "<synthetic>".into();
    own["message"]["usage"]["input_tokens"] = 5.into();
    assert_eq!(requests(&own), []);
}

#[test]
fn a_request_of_no_model_is_of_an_unknown_one() {
    let mut nameless = line(json!({ "input_tokens": 1, "output_tokens": 1 }));
    nameless["message"]["model"] = Value::Null;
    assert_eq!(requests(&nameless)[0].model, "unknown");
    nameless["message"]["model"] = "".into();
    assert_eq!(requests(&nameless)[0].model, "unknown");
}

#[test]
fn what_is_damaged_or_half_written_is_no_usage() {
    let whole = line(json!({ "input_tokens": 1, "output_tokens": 1 })).to_string();
    for end in 0..whole.len() {
        assert_eq!(UsageLine::parse(&whole.as_bytes()[..end]), None, "{end}");
    }
    for (pointer, value) in [
        ("/message/usage/input_tokens", json!("9")),
        ("/message/usage/input_tokens", json!(-1)),
        ("/message/usage/input_tokens", Value::Null),
        ("/message/usage", json!([])),
        ("/message", json!("usage")),
        ("/timestamp", json!("yesterday")),
        ("/timestamp", json!(7)),
        ("/sessionId", json!({})),
    ] {
        let mut bad = line(json!({ "input_tokens": 1, "output_tokens": 1 }));
        *bad.pointer_mut(pointer).unwrap() = value;
        assert_eq!(UsageLine::parse(bad.to_string().as_bytes()), None, "{bad}");
    }
    let too_many = line(json!({ "input_tokens": 1, "output_tokens": u64::MAX })).to_string();
    assert_eq!(UsageLine::parse(too_many.as_bytes()).unwrap().requests, []);
    let deep = format!("{{\"message\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(UsageLine::parse(deep.as_bytes()), None);
}

proptest! {
    #[test]
    fn no_line_is_too_strange(line in "\\PC*", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = UsageLine::parse(line.as_bytes());
        let _ = UsageLine::parse(&bytes);
    }
}

fn meta(id: &str) -> Value {
    json!({ "timestamp": "2026-11-15T08:00:00Z", "type": "session_meta", "payload": { "id": id, "cwd": "/work/app" } })
}

fn turn(id: &str, model: &str) -> Value {
    json!({ "timestamp": "2026-11-15T08:00:01Z", "type": "turn_context", "payload": { "turn_id": id, "model": model } })
}

/// Returns the event after a request with this many tokens of input, half of them from the cache, and ten of output.
fn count(input: u64, total: u64) -> Value {
    let tokens = |input: u64, output: u64| {
        json!({ "input_tokens": input, "cached_input_tokens": input / 2, "output_tokens": output,
            "reasoning_output_tokens": output / 2, "total_tokens": input + output })
    };
    let info = json!({ "last_token_usage": tokens(input, 10), "total_token_usage": tokens(total, 10) });
    let payload = json!({ "type": "token_count", "info": info, "rate_limits": null });
    json!({ "timestamp": "2026-11-15T08:00:02Z", "type": "event_msg", "payload": payload })
}

/// Counts rollouts, and returns the sum of a session.
fn sum(rollouts: &[&[Value]], session: &str) -> (u64, Tokens) {
    let mut ledger = Ledger::default();
    let project = ledger.project("", "");
    for lines in rollouts {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut rollout = RolloutUsage::default();
        UsageScanner::for_rollouts().feed(text.as_bytes(), |line| {
            if let Some(line) = rollout.line(line) {
                ledger.add(&line, "none", project);
            }
        });
    }
    let sum = ledger.session(session, &Prices::default());
    (sum.requests, sum.tokens)
}

fn rollout_tokens(input: u64, cache_read: u64, output: u64) -> Tokens {
    Tokens { cache_read, ..Tokens::new(input, output) }
}

#[test]
fn each_request_is_counted_once_with_the_cache_apart_from_the_input() {
    let text = json!({ "timestamp": "t", "type": "response_item", "payload": { "text": "\"token_count\"" } });
    let lines = [meta("s"), turn("1", "gpt-5-codex"), text, count(100, 100), count(100, 100), count(60, 160)];
    assert_eq!(sum(&[&lines], "codex:s"), (2, rollout_tokens(80, 80, 20)));
}

#[test]
fn what_was_written_to_the_cache_is_apart_from_the_input_too() {
    let mut written = count(10, 10);
    written["payload"]["info"]["last_token_usage"]["cache_write_input_tokens"] = 3.into();
    let lines = [meta("s"), turn("1", "m"), written];
    assert_eq!(sum(&[&lines], "codex:s"), (1, Tokens { cache_write_5m: 3, ..rollout_tokens(2, 5, 10) }));
}

#[test]
fn what_a_fork_has_copied_belongs_to_the_original_session() {
    let first = [meta("s"), turn("1", "m"), count(100, 100)];
    let fork = [meta("f"), meta("s"), turn("1", "m"), count(100, 100), turn("2", "m"), count(40, 140)];
    assert_eq!(sum(&[&first, &fork], "codex:s"), (1, rollout_tokens(50, 50, 10)));
    assert_eq!(sum(&[&first, &fork], "codex:f"), (1, rollout_tokens(20, 20, 10)));
}

#[test]
fn the_model_is_that_of_the_turn_and_the_folder_that_of_the_session() {
    let mut rollout = RolloutUsage::default();
    let mut line = |line: Value| rollout.line(line.to_string().as_bytes());
    assert_eq!(line(count(10, 10)).unwrap().requests[0].model, "unknown");
    assert_eq!(line(meta("s")), None);
    for model in ["gpt-5-codex", "gpt-6"] {
        assert_eq!(line(turn(model, model)), None);
        let counted = line(count(10, 10)).unwrap();
        assert_eq!((counted.requests[0].model.as_str(), counted.folder.as_deref()), (model, Some("/work/app")));
        assert_eq!((counted.session.as_deref(), counted.at.0), (Some("codex:s"), 1_794_729_602_000));
    }
}

#[test]
fn damaged_lines_and_events_without_tokens_count_nothing() {
    let mut rollout = RolloutUsage::default();
    let mut no_info = count(1, 1);
    no_info["payload"]["info"] = Value::Null;
    let mut huge = count(1, 1);
    huge["payload"]["info"]["last_token_usage"]["input_tokens"] = u64::MAX.into();
    let mut nothing = count(0, 0);
    nothing["payload"]["info"]["last_token_usage"]["output_tokens"] = 0.into();
    let whole = count(1, 1).to_string();
    let half = &whole[..whole.len() / 2];
    for line in [no_info.to_string(), huge.to_string(), nothing.to_string(), half.to_owned(), String::new()] {
        assert_eq!(rollout.line(line.as_bytes()), None, "{line}");
    }
    // More from the cache than there was.
    let mut odd = count(10, 10);
    odd["payload"]["info"]["last_token_usage"]["cached_input_tokens"] = 50.into();
    odd["payload"]["info"]["last_token_usage"]["cache_write_input_tokens"] = 50.into();
    assert_eq!(rollout.line(odd.to_string().as_bytes()).unwrap().requests[0].tokens, rollout_tokens(0, 10, 10));
}

/// Returns the lines that are found in a text that comes in pieces of this size.
fn found(text: &str, piece: usize) -> Vec<String> {
    let mut scanner = UsageScanner::default();
    let mut lines = Vec::new();
    let mut take = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).unwrap());
    for piece in text.as_bytes().chunks(piece.max(1)) {
        scanner.feed(piece, &mut take);
    }
    scanner.finish(&mut take);
    lines
}

/// Returns the lines that should be found.
fn expected(text: &str) -> Vec<String> {
    text.split('\n').filter(|line| line.contains("\"usage\":")).map(str::to_owned).collect()
}

#[test]
fn only_lines_with_usage_are_found_however_the_pieces_are_cut() {
    let text =
        "{\"a\":1}\n{\"usage\":{}}\n\n{\"text\":\"\\\"usage\\\":\"}\n{\"b\":{\"usage\": 1}, \"usage\":2}\n{\"usage\":";
    assert_eq!(expected(text).len(), 3);
    for piece in 1..=text.len() {
        assert_eq!(found(text, piece), expected(text), "{piece}");
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_the_next_one_found() {
    let mut scanner = UsageScanner::default();
    let mut lines = Vec::new();
    let megabytes = vec![b' '; 16 << 20];
    scanner.feed(b"{\"usage\":1", |line| lines.push(line.to_vec()));
    for _ in 0..5 {
        scanner.feed(&megabytes, |line| lines.push(line.to_vec()));
    }
    assert_eq!(scanner.skipped(), 1);
    scanner.feed(b"\"usage\":}\n{\"usage\":2}\n", |line| lines.push(line.to_vec()));
    scanner.finish(|line| lines.push(line.to_vec()));
    assert_eq!((lines, scanner.skipped()), (vec![b"{\"usage\":2}".to_vec()], 1));
}

#[test]
fn a_line_of_the_maximum_length_is_found_and_one_with_a_byte_more_is_skipped() {
    const START: &[u8] = b"{\"usage\":";
    let spaces = vec![b' '; (64 << 20) - START.len()];
    for (end, found, skipped) in [("\n", 1, 0), (" \n", 0, 1)] {
        let mut scanner = UsageScanner::default();
        let mut lines = 0;
        for piece in [START, &spaces, end.as_bytes()] {
            scanner.feed(piece, |_| lines += 1);
        }
        assert_eq!((lines, scanner.skipped()), (found, skipped), "{end:?}");
    }
}

proptest! {
    #[test]
    fn no_line_is_lost_or_invented(
        parts in proptest::collection::vec(prop_oneof!["\n", "\"usage\":", "\"usage\"", "[a-z\"]{0,5}"], 0..40),
        piece in 1..30_usize,
    ) {
        let text = parts.concat();
        prop_assert_eq!(found(&text, piece), expected(&text));
    }
}
