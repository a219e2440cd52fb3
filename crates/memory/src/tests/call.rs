use longhaul_core::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Call, INPUT_CHARS, RESPONSE_CHARS, RawCall, Secrets, command_key, fold_key, observe};

fn call(input: &str, response: &str) -> Call {
    Call::new(&RawCall { tool_use_id: "toolu_1", tool: "Bash", input, response, ..RawCall::default() })
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let written = Call::new(&RawCall {
        tool_use_id: "toolu_1",
        tool: "Bash",
        prompt_id: "p",
        input: "{\"command\":\"a\\nb\"}",
        response: "\"x\u{2028}\"",
        is_error: true,
        cwd: "/home/dev",
        at: Millis(1_750_000_000_000),
        duration_ms: Some(7),
        in_subagent: true,
        secrets: Secrets::Redact,
    });
    let line = written.to_line();
    assert!(!line.contains('\n'));
    assert_eq!(Call::from_line(&line), Some(written));
}

#[test]
fn a_torn_line_is_none_and_a_strange_one_is_read() {
    let line = call("{}", "{}").to_line();
    for end in 0..line.len() {
        assert_eq!(Call::from_line(&line[..end]), None);
    }
    assert_eq!(Call::from_line(&format!("{line}{line}")), None);
    assert_eq!(Call::from_line("{}"), None);
    let strange = Call::from_line(r#"{"tool_use_id":"a","tool":"B","later":[1]}"#).unwrap();
    assert_eq!((strange.tool.as_str(), strange.input.as_str()), ("B", ""));
}

#[test]
fn private_and_secret_text_goes_before_the_cut() {
    let token = format!("gh{}_{}", "p", "aB3dE5gH7j".repeat(4));
    for pad in (0..RESPONSE_CHARS + 200).step_by(97) {
        let text = format!("{} {token} <private>mine</private> {}", "x".repeat(pad), "y".repeat(40_000));
        let call = call("{}", &json!({ "stdout": text }).to_string());
        assert!(!call.response.contains("7jaB") && !call.response.contains("mine"), "{pad}");
        assert!(call.response.chars().count() <= RESPONSE_CHARS);
    }
}

#[test]
fn secrets_stay_where_the_user_wants_them_to() {
    let token = format!("gh{}_{}", "p", "aB3dE5gH7j".repeat(4));
    let input = json!({ "command": token }).to_string();
    let raw = RawCall { tool_use_id: "a", tool: "Bash", input: &input, secrets: Secrets::Keep, ..RawCall::default() };
    assert_eq!(Call::new(&raw).input, input);
}

#[test]
fn the_same_call_folds_and_another_does_not() {
    let long =
        |middle: &str| json!({ "content": format!("{}{middle}{}", "x".repeat(9_000), "y".repeat(9_000)) }).to_string();
    let first = call(&long("a"), "{}");
    assert_eq!(fold_key(&first), fold_key(&call(&long("a"), "\"else\"")));
    let other = call(&long("b"), "{}");
    assert_eq!(first.input, other.input);
    assert_ne!(fold_key(&first), fold_key(&other));
    let failed = Call::new(&RawCall { tool: "Bash", input: "{}", is_error: true, ..RawCall::default() });
    assert_ne!(fold_key(&failed), fold_key(&call("{}", "{}")));
    // A stored key must mean the same tomorrow.
    assert_eq!(fold_key(&call("{}", "{}")), FOLDED);
    assert_eq!(fold_key(&Call { fold_key: 0, ..call("{}", "{}") }), FOLDED);
}

#[test]
fn a_line_without_an_id_or_a_tool_is_no_call() {
    for (tool_use_id, tool) in [("", "Bash"), ("a", ""), ("", "")] {
        let line = Call::new(&RawCall { tool_use_id, tool, ..RawCall::default() }).to_line();
        assert_eq!(Call::from_line(&line), None, "{line}");
    }
}

const FOLDED: u64 = 7_515_958_641_951_336_645;

proptest! {
    #[test]
    fn every_call_makes_one_line(input in any::<String>(), response in any::<String>(), tool in ".{1,9}") {
        let raw = RawCall { tool_use_id: "a", tool: &tool, input: &input, response: &response, ..RawCall::default() };
        let call = Call::new(&raw);
        prop_assert!(call.input.chars().count() <= INPUT_CHARS);
        let line = call.to_line();
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert!(serde_json::from_str::<Value>(&line).is_ok());
        let _ = (observe(&call, Some("/work")), command_key(&call), fold_key(&call));
        prop_assert_eq!(Call::from_line(&line), Some(call));
    }

    #[test]
    fn no_line_breaks_the_reader(text in any::<String>(), torn in any::<prop::sample::Index>()) {
        let _ = Call::from_line(&text);
        let line = Call::new(&RawCall { tool_use_id: "a", tool: "Bash", input: &text, ..RawCall::default() }).to_line();
        let cut = (0..=torn.index(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default();
        prop_assert_eq!(Call::from_line(&line[..cut]), None);
    }
}
