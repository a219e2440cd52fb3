use serde_json::{Value, json};

use crate::{Ledger, Prices, RolloutUsage, Tokens, UsageScanner};

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

fn tokens(input: u64, cache_read: u64, output: u64) -> Tokens {
    Tokens { cache_read, ..Tokens::new(input, output) }
}

#[test]
fn each_request_is_counted_once_with_the_cache_apart_from_the_input() {
    let text = json!({ "timestamp": "t", "type": "response_item", "payload": { "text": "\"token_count\"" } });
    let lines = [meta("s"), turn("1", "gpt-5-codex"), text, count(100, 100), count(100, 100), count(60, 160)];
    assert_eq!(sum(&[&lines], "codex:s"), (2, tokens(80, 80, 20)));
}

#[test]
fn what_was_written_to_the_cache_is_apart_from_the_input_too() {
    let mut written = count(10, 10);
    written["payload"]["info"]["last_token_usage"]["cache_write_input_tokens"] = 3.into();
    let lines = [meta("s"), turn("1", "m"), written];
    assert_eq!(sum(&[&lines], "codex:s"), (1, Tokens { cache_write_5m: 3, ..tokens(2, 5, 10) }));
}

#[test]
fn what_a_fork_has_copied_belongs_to_the_original_session() {
    let first = [meta("s"), turn("1", "m"), count(100, 100)];
    let fork = [meta("f"), meta("s"), turn("1", "m"), count(100, 100), turn("2", "m"), count(40, 140)];
    assert_eq!(sum(&[&first, &fork], "codex:s"), (1, tokens(50, 50, 10)));
    assert_eq!(sum(&[&first, &fork], "codex:f"), (1, tokens(20, 20, 10)));
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
    assert_eq!(rollout.line(odd.to_string().as_bytes()).unwrap().requests[0].tokens, tokens(0, 10, 10));
}
