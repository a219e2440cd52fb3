use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::strip_json;

#[track_caller]
fn check(raw: &str, expected: &str) {
    let stripped = strip_json(raw);
    assert_eq!(stripped, expected, "{raw}");
    serde_json::from_str::<Value>(&stripped).unwrap();
}

#[test]
fn what_is_private_goes_from_every_string() {
    check(r#"{"a":"x <private>y</private> z"}"#, r#"{"a":"x  z"}"#);
    check(r#"["<private>y</private>",1,null,{"b":["é<PRIVATE a=\"b\">y</private>"]}]"#, r#"["",1,null,{"b":["é"]}]"#);
    check(r#""<system-reminder>y</system-reminder>z""#, r#""z""#);
    check(r#""<longhaul-context>y</longhaul-context><claude-mem-context>z""#, r#""""#);
}

#[test]
fn escapes_hide_no_tag() {
    check(r#""a\u003cprivate\u003ey\u003C\/private\u003eb""#, r#""ab""#);
    check(r#""a<\u0070rivate>y<\/private>b""#, r#""ab""#);
    check(r#""a\n<private>y</private>\"\\""#, r#""a\n\"\\""#);
    check(r#""\ud83d\ude00<private/>""#, "\"😀\"");
    check(r#""\ud83d<private/>""#, "\"\u{fffd}\"");
}

#[test]
fn a_passage_goes_on_in_the_following_values() {
    check(
        r#"{"lines":["+<private>","+secret","+</private>","+x"],"filePath":"a"}"#,
        r#"{"lines":["+","","","+x"],"filePath":"a"}"#,
    );
    check(r#"{"a":"<private>x","b":{"c":"y"},"d":1}"#, r#"{"a":"","b":{"c":""},"d":1}"#);
}

#[test]
fn keys_stay_but_for_what_is_private_in_them() {
    check(r#"{"a<private>x":"<private>y","b" : "z"}"#, r#"{"a":"","b" : ""}"#);
}

#[test]
fn without_tags_nothing_changes() {
    for raw in
        [r#"{"a":"x\/y\u00e9"}"#, r#"{"a":"1 \u003c 2 <b>\ud800</b>"}"#, r#"["<privateer>\/"]"#, "{", "", "nonsense"]
    {
        assert!(matches!(strip_json(raw), Cow::Borrowed(same) if same == raw), "{raw}");
    }
}

#[test]
fn what_is_no_json_becomes_nothing() {
    for raw in ["<private>x</private>", r#""<private>x"#, r#"{"a":"<private>x</private>" secret"#, "\"<b>\\\""] {
        check(raw, "\"\"");
    }
}

#[test]
fn after_a_hundred_passages_every_value_is_empty() {
    let lines: Vec<&str> = vec!["<private>x</private>y"; 120];
    let value: Value = serde_json::from_str(&strip_json(&json!({ "a": lines, "b": "c", "n": 1 }).to_string())).unwrap();
    let kept = value["a"].as_array().unwrap().iter().filter(|line| *line == "y").count();
    assert_eq!((kept, &value["a"][119], &value["b"], &value["n"]), (100, &json!(""), &json!(""), &json!(1)));
}

/// With a cost that grew with the square of the length, this would not end before the runner stops it.
#[test]
fn many_signs_cost_little() {
    let raw = json!("<p".repeat(500_000)).to_string();
    assert_eq!(strip_json(&raw), raw);
}

fn text() -> impl Strategy<Value = String> {
    "(<private>|</private>|<private|<pri|vate>|<|/|>|\\\\|\"|\n|é|😀|a| |system-reminder){0,12}"
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![text().prop_map(Value::String), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Writes every character outside ASCII, and every sign of a tag, as an escape.
fn escaped(raw: &str) -> String {
    raw.chars()
        .map(|c| match c {
            '<' | '>' | 'p' | 'é' => format!("\\u{:04x}", c as u32),
            c => c.to_string(),
        })
        .collect()
}

proptest! {
    #[test]
    fn json_stays_json_and_twice_is_once(document in document()) {
        for raw in [document.to_string(), serde_json::to_string_pretty(&document).unwrap(), escaped(&document.to_string())] {
            let once = strip_json(&raw).into_owned();
            prop_assert!(serde_json::from_str::<Value>(&once).is_ok(), "{raw} → {once}");
            prop_assert_eq!(strip_json(&once), once.clone());
        }
    }

    #[test]
    fn the_secret_never_occurs(before in document(), opens in text(), inside in prop::collection::vec("[a-z]{0,3}", 0..4), closes in text()) {
        let mut values = vec![before, json!(format!("{opens}<private>SECRET"))];
        values.extend(inside.iter().map(|line| json!(format!("{line}SECRET"))));
        values.push(json!(format!("SECRET</private>{closes}")));
        for raw in [json!(values).to_string(), escaped(&json!(values).to_string())] {
            prop_assert!(!strip_json(&raw).contains("SECRET"), "{raw}");
        }
    }

    #[test]
    fn no_text_breaks_it(raw in "(<private>|\\\\u003c|\\\\|\"|:|,|\\{|\\[|é|a|1){0,40}") {
        let _ = strip_json(&raw);
    }
}
