use proptest::prelude::*;

use crate::json::{string_end, unescape};

#[test]
fn escapes_become_text() {
    for (raw, text) in [
        ("a\\nb\\t\\\"\\\\\\/", "a\nb\t\"\\/"),
        ("\\u00e9\\u003c", "é<"),
        ("\\ud83d\\ude00", "😀"),
        ("\\ud83dx", "\u{fffd}x"),
        ("\\ude00\\ud83d", "\u{fffd}\u{fffd}"),
        ("\\ud83d\\u0041", "\u{fffd}A"),
        ("\\u00", "00"),
        ("\\", ""),
    ] {
        assert_eq!(unescape(raw), text, "{raw}");
    }
}

#[test]
fn a_string_ends_at_a_quote_that_is_not_escaped() {
    assert_eq!(string_end("ab\"c", 0), Some(2));
    assert_eq!(string_end("a\\\"b\"", 0), Some(4));
    assert_eq!(string_end("a\\\\\"b\"", 0), Some(3));
    assert_eq!(string_end("ab", 0), None);
}

proptest! {
    #[test]
    fn what_was_written_is_read(text in any::<String>()) {
        let raw = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(string_end(&raw, 1), Some(raw.len() - 1));
        prop_assert_eq!(unescape(&raw[1..raw.len() - 1]), text);
    }

    #[test]
    fn no_text_breaks_it(raw in "(\\\\|u|d83d|de00|\"|n|é|0){0,30}") {
        let _ = unescape(&raw);
    }
}
