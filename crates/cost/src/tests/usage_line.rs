use longhaul_core::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Request, Tokens, UsageLine};

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
