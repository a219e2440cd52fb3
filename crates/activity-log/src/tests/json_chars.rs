use longhaul_core::event::Event;
use proptest::prelude::*;

use crate::chars_of_json;

#[test]
fn a_string_counts_its_characters_null_nothing_and_the_rest_its_json() {
    for (json, chars) in [
        ("null", 0),
        (r#""""#, 0),
        (r#""hé\n""#, 3),
        (r#""\u00e9\ud83d\ude00x""#, 3),
        (r#""a\\u0041""#, 7),
        (r#"{"a": "é"}"#, 10),
        ("[1, 2]", 6),
        ("12.5", 4),
        ("true", 4),
    ] {
        assert_eq!(chars_of_json(json), chars, "{json}");
    }
}

#[test]
fn a_payload_is_measured_as_it_came() {
    let text = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_response":{"stdout": "hi"}}"#;
    let Ok(Event::PostToolUse(call)) = Event::parse(text) else { panic!("not a call") };
    assert_eq!(call.tool_response.map(|raw| chars_of_json(raw.get())), Some(16));
    let empty = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_response":null}"#;
    assert!(matches!(Event::parse(empty), Ok(Event::PostToolUse(call)) if call.tool_response.is_none()));
}

proptest! {
    #[test]
    fn a_string_is_as_long_as_it_is(text in any::<String>()) {
        let json: String = text.chars().map(|c| match c {
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            c if (c as u32) < 0x20 || (c as u32) > 0xffff => c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect(),
            c => c.to_string(),
        }).collect();
        prop_assert_eq!(chars_of_json(&format!("\"{json}\"")), text.chars().count() as u64);
    }

    #[test]
    fn no_text_measures_more_than_it_is(text in any::<String>(), cut in "(\"|\\\\|\\\\u|d83d|é|a){0,12}") {
        for text in [text, format!("\"{cut}\""), cut] {
            prop_assert!(chars_of_json(&text) <= text.len() as u64, "{text:?}");
        }
    }
}
