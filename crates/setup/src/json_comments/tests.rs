use super::Commented;

#[test]
fn a_text_with_comments_becomes_json_and_back() {
    let text = "// first\r\n{ \"a\": 1, /* , \" */ \"b\": \"// none \\\" /* */\" // last\n}//";
    let commented = Commented::parse(text).unwrap();
    let value: serde_json::Value = serde_json::from_str(&commented.json).unwrap();
    assert_eq!(value, serde_json::json!({ "a": 1, "b": "// none \" /* */" }));
    assert_eq!(commented.comments.len(), 4);
    assert_eq!(commented.restore(&commented.json), text);
    assert_eq!(commented.restore("{}"), "{}\n// first\n/* , \" */\n// last\n//\n", "nothing is lost");
}

#[test]
fn every_comment_has_its_own_number() {
    let text: String = (0..300).map(|number| format!("/*{number}*/\n")).collect();
    let commented = Commented::parse(&text).unwrap();
    assert_eq!(commented.json.trim(), "");
    assert_eq!(commented.restore(&commented.json), text);
}

#[test]
fn what_has_no_comments_or_cannot_be_encoded_is_left_alone() {
    for text in ["{\"a\": \"//\"}", "{} / /", "/* open", "{}\r// x", "\"open // "] {
        assert!(Commented::parse(text).is_none(), "{text:?}");
    }
}
