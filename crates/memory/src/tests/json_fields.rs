use longhaul_core::text::cut_middle;
use proptest::prelude::*;
use serde_json::json;

use crate::json::Fields;

#[test]
fn fields_are_found_at_the_top_only() {
    let json = r#"{"a":{"b":"inner"},"b":"outer \"q\"","n":12,"yes":true,"list":["x","y"],"after":"z"}"#;
    let fields = Fields(json);
    assert_eq!(fields.text("b").as_deref(), Some("outer \"q\""));
    assert_eq!(fields.object("a").text("b").as_deref(), Some("inner"));
    assert_eq!((fields.number("n"), fields.number("b")), (Some(12), None));
    assert_eq!((fields.flag("yes"), fields.flag("n")), (true, false));
    assert_eq!(fields.list("list"), ["x", "y"]);
    assert_eq!(fields.every("b"), ["inner", "outer \"q\""]);
    assert_eq!((fields.text("missing"), fields.text("x")), (None, None));
}

#[test]
fn what_was_cut_is_read_as_far_as_it_goes() {
    let whole = json!({ "file_path": "/a/b", "content": "\"x\":\n".repeat(5_000), "totalLines": 7 }).to_string();
    let cut = cut_middle(&whole, 500);
    let fields = Fields(&cut);
    assert_eq!(fields.text("file_path").as_deref(), Some("/a/b"));
    assert!(fields.text("content").unwrap().contains("characters left out"));
    assert_eq!(fields.number("totalLines"), Some(7));
    assert_eq!(fields.text("x"), None);
}

#[test]
fn a_field_after_a_cut_is_found_at_any_depth() {
    let long = "x".repeat(3_000);
    let whole = json!({ "deep": { "er": { "text": long } }, "flat": [long], "total": 7 }).to_string();
    assert_eq!(Fields(&cut_middle(&whole, 500)).number("total"), Some(7));
}

#[test]
fn every_shape_of_a_response_says_something() {
    for (json, said) in [
        (r#""text""#, "text"),
        (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "a\nb"),
        (r#"{"content":[{"type":"text","text":"a"}]}"#, "a"),
        (r#"{"result":"r","content":"c"}"#, "r"),
        ("{\"n\":1}", "{\"n\":1}"),
        ("{}", ""),
        ("", ""),
        ("null", ""),
    ] {
        assert_eq!(Fields(json).said(), said, "{json}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_it(json in "(\"|\\\\|:|,|\\{|\\}|\\[|\\]|key|é| |1|\\[… ){0,40}") {
        let fields = Fields(&json);
        let _ = (fields.text("key"), fields.number("key"), fields.list("key"), fields.every("key"), fields.said());
    }
}
