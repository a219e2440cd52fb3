use proptest::prelude::*;
use serde_json::{Value, json};

use crate::json_text::{
    DuplicateName, Item, JsonFile, List, NotEditable, Object, Style, insert, remove, set, without_byte_order_mark,
};

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
    check("{\n  \"a\": {}\n}\n", &["a", "b"], json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
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
fn a_value_is_replaced_or_removed_and_every_other_byte_stays() {
    let text = "\u{feff}{ \"a\" :{\"b\":  1,\t\"c\": [1 ,2]} }\r\n";
    let changed = "\u{feff}{ \"a\" :{\"b\":  [3],\t\"c\": [1 ,2]} }\r\n";
    assert_eq!(set(text, &["a", "b"], &json!([3])).unwrap(), changed);
    assert_eq!(remove(text, &["a", "b"]).unwrap(), "\u{feff}{ \"a\" :{\t\"c\": [1 ,2]} }\r\n");
    assert_eq!(
        remove("{\n  \"a\": {\"b\": {\"c\": 1}},\n  \"z\": 2\n}\n", &["a", "b", "c"]).unwrap(),
        "{\n  \"z\": 2\n}\n"
    );
    assert_eq!(remove("{\"a\": 1}", &["a"]).unwrap(), "{}");
    for (text, path) in
        [("{}", &["a"][..]), (r#"{"a": 1}"#, &["a", "b"]), (r#"{"a": 1, "a": 2}"#, &["a"]), ("[", &["a"])]
    {
        assert_eq!(remove(text, path), None, "{text}");
    }
    assert_eq!(set(r#"{"a": 1}"#, &["a", "b"], &json!(1)), None, "an object would replace a value");
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

#[test]
fn a_file_that_is_no_object_is_not_editable() {
    for text in ["// a comment\n{}", "{", "{} {}", "nonsense"] {
        assert_eq!(JsonFile::parse(text).err(), Some(NotEditable::NotJson), "{text}");
    }
    for text in ["[1]", "1", "null", "\"{}\""] {
        assert_eq!(JsonFile::parse(text).err(), Some(NotEditable::NotObject), "{text}");
    }
    assert_eq!(JsonFile::parse("\u{feff}\n{ }\n\n").unwrap().write(), "\u{feff}\n{}\n\n");
}

#[test]
fn members_keep_their_order_and_their_text() {
    let text = "{\n    \"a\" : 1.0,\n    \"b\":[ 2 ],  \"a\": 3\n}";
    let style = Style::of(text);
    assert_eq!(style, Style::Lines("    ".to_owned()));
    let mut object = Object::parse(text).unwrap();
    assert_eq!(object.write(&style, 0), text);
    assert_eq!(object.names().collect::<Vec<_>>(), ["a", "b", "a"]);
    assert_eq!(object.get("b"), Ok(Some("[ 2 ]")));
    assert_eq!(object.get("c"), Ok(None));
    assert_eq!(object.get("a"), Err(DuplicateName("a".to_owned())));
    assert!(!object.is_empty() && Object::default().is_empty());
    object.set("b", "true".to_owned());
    object.set("c", "0".to_owned());
    object.retain(|name, value| name != "a" || value == "3");
    assert_eq!(object.write(&style, 0), "{\n    \"b\":true,  \"a\": 3,\n    \"c\": 0\n}");
    object.retain(|_, _| false);
    assert_eq!(object.write(&style, 0), "{}");
}

#[test]
fn the_first_member_has_no_comma_before_it() {
    let mut object = Object::parse("{\"a\":1 , \"b\":2}").unwrap();
    object.retain(|name, _| name == "b");
    assert_eq!(object.write(&Style::Compact, 0), "{  \"b\":2}");
}

#[test]
fn a_layout_is_found_in_the_text() {
    assert_eq!(Style::of("{\"a\":1}"), Style::Compact);
    assert_eq!(Style::of("{}"), Style::Lines("  ".to_owned()));
    assert_eq!(Style::of("{\n\"a\":1\n}"), Style::Lines("  ".to_owned()));
    assert_eq!(Style::of("\n {\n\t\"a\":1}"), Style::Lines(" ".to_owned()));
    assert_eq!(Style::Compact.write(&json!({"a": [1]}), 3), r#"{"a":[1]}"#);
    assert_eq!(Style::Lines(" ".to_owned()).write(&json!([1]), 1), "[\n  1\n ]");
}

#[test]
fn a_list_keeps_its_layout_with_other_items() {
    let list = List::parse("[ 1,\n  {\"a\" : 2} ]").unwrap();
    assert_eq!(list.items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>(), ["1", "{\"a\" : 2}"]);
    assert_eq!(list.write(&Style::Compact, 0), "[ 1,\n  {\"a\" : 2} ]");
    let mut items = list.items.clone();
    items.remove(0);
    items.push(Item::new("3".to_owned()));
    assert_eq!(list.with(items).write(&Style::Compact, 0), "[\n  {\"a\" : 2},3 ]");
    let lines = List::default().with(vec![Item::new("1".to_owned()), Item::new("2".to_owned())]);
    assert_eq!(lines.write(&Style::Lines("  ".to_owned()), 1), "[\n    1,\n    2\n  ]");
    assert_eq!(List::parse("{}"), None);
    assert_eq!(List::parse("[]").unwrap().write(&Style::Compact, 0), "[]");
}

#[test]
fn only_a_leading_byte_order_mark_goes() {
    assert_eq!(without_byte_order_mark("\u{feff}a\u{feff}"), "a\u{feff}");
    assert_eq!(without_byte_order_mark("a"), "a");
}
