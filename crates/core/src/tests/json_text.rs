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
