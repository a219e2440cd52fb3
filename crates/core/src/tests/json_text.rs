use proptest::prelude::*;
use serde_json::{Value, json};

use crate::json_text::insert;

#[track_caller]
fn check(text: &str, path: &[&str], value: Value, expected: &str) {
    let changed = insert(text, path, &value).unwrap();
    assert_eq!(changed, expected);
    assert_eq!(serde_json::from_str::<Value>(&changed).unwrap().pointer(&format!("/{}", path.join("/"))), Some(&value));
    assert_eq!(insert(&changed, path, &value), None, "it is there now");
}

#[test]
fn what_is_added_leaves_every_other_byte_as_it_was() {
    check("", &["a", "b"], json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    check("{}", &["a"], json!("x"), "{\n  \"a\": \"x\"\n}");
    check("{ \"a\" :1.50e3 }\n", &["b"], json!([2]), "{ \"a\" :1.50e3,\"b\":[2] }\n");
    check("\n{\n \"a\": 1\n}", &["b"], json!(2), "\n{\n \"a\": 1,\n \"b\": 2\n}");
    check(
        "{\n\t\"a\": {\"\\u0062\":  1}, \"z\": 3\n}\n",
        &["a", "c"],
        json!(true),
        "{\n\t\"a\": {\"\\u0062\":  1,\n\t\t\"c\": true}, \"z\": 3\n}\n",
    );
}

#[test]
fn what_is_there_is_not_touched() {
    for (text, path) in [
        (r#"{"a": 1}"#, &["a"][..]),
        (r#"{"a": null}"#, &["a"]),
        (r#"{"a": 1}"#, &["a", "b"]),
        (r#"{"a": {"b": false}}"#, &["a", "b"]),
        ("[1]", &["a"]),
        ("// a comment\n{}", &["a"]),
        ("nonsense", &["a"]),
        ("{", &["a"]),
        ("{} {}", &["a"]),
    ] {
        assert_eq!(insert(text, path, &json!(2)), None, "{text}");
    }
}

/// JSON as people write it, and what is almost JSON.
fn filelike() -> impl Strategy<Value = String> {
    let value =
        prop::sample::select(vec!["1.50e3", "null", "[ 2,{} ]", "\"x\\\"}\"", "{}", "{\"enabled\" : 1}", "{\"a\":2}"]);
    let key = prop::sample::select(vec!["memory", "enabled", "m\\u0065mory", "a", "é"]);
    let space = prop::sample::select(vec!["", " ", "\n\t", "\r\n"]);
    let member = (key, space.clone(), value).prop_map(|(key, space, value)| format!("{space}\"{key}\"{space}:{value}"));
    let object = (prop::collection::vec(member, 0..5), space)
        .prop_map(|(members, space)| format!("{space}{{{}{space}}}{space}", members.join(",")));
    prop_oneof![4 => object, 1 => "[{}\\[\\]\":, a0/]{0,20}"]
}

proptest! {
    #[test]
    fn a_key_that_is_added_is_all_that_is_new(text in filelike()) {
        if let Some(changed) = insert(&text, &["memory", "enabled"], &json!(true)) {
            let mut before = if text.trim().is_empty() { json!({}) } else { serde_json::from_str(&text).unwrap() };
            before["memory"]["enabled"] = json!(true);
            prop_assert_eq!(serde_json::from_str::<Value>(&changed).ok(), Some(before), "{}", changed);
        }
    }
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let changed = insert("\u{feff}{\"a\":1}", &["b"], &json!(2));
    assert_eq!(changed.as_deref(), Some("\u{feff}{\"a\":1,\"b\":2}"));
    assert_eq!(crate::json_text::from_file::<Value>(b"\xef\xbb\xbf{}").unwrap(), json!({}));
}
