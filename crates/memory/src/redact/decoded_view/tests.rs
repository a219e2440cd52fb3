use super::DecodedView;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(String::from_utf8_lossy(DecodedView::of(text).bytes()), expected, "{text:?}");
}

#[test]
fn escapes_are_what_they_stand_for() {
    for (escape, expected) in [
        ("\\n", "\n"),
        ("\\t", "\t"),
        ("\\r", "\r"),
        ("\\b", ""),
        ("\\f", ""),
        ("\\/", "/"),
        ("\\\"", "\""),
        ("\\'", "'"),
        ("\\q", "\\q"),
        ("\\\\n", "\n"),
        ("\\\\\\n", ""),
        ("\\\\\\\\n", "\n"),
        ("\\\\\\r\\n", ""),
        ("\\\n", ""),
        ("\\\r\n", ""),
        ("\\\r", "\\\r"),
    ] {
        // The first one keeps the text from being decoded in place.
        check(&format!("\\u0041{escape}z"), &format!("A{expected}z"));
    }
    for (text, expected) in [("a\\nz", "a\n\nz"), ("a\\\\tz", "a\t\t\tz"), ("a\\\"z", "a\"\"z"), ("a\\qz", "a\\qz")] {
        check(text, expected);
    }
}

#[test]
fn invisible_characters_are_left_out() {
    for code in [0x00, 0x1f, 0x7f, 0x9f, 0xad, 0x200b, 0x200f, 0x202a, 0x202e, 0x2060, 0x2069, 0xfe00, 0xfe0f, 0xfeff] {
        check(&format!("a\\u{code:04x}z"), "az");
        check(&format!("a{}z", char::from_u32(code).unwrap()), "az");
    }
    for code in [0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x2029, 0x202f, 0x205f, 0x206a, 0xfdff, 0xfe10, 0xfefe] {
        check(&format!("a\\u{code:04x}z"), "a\u{fffd}z");
        let shown = format!("a{}z", char::from_u32(code).unwrap());
        check(&shown, &shown);
    }
    for (escape, expected) in [("000a", "\n"), ("000d", "\r"), ("0009", "\t"), ("0020", " "), ("007e", "~")] {
        check(&format!("\\u{escape}z"), &format!("{expected}z"));
    }
    for same in ["\\u00zz", "\\u00", "a\tb\r\nc"] {
        check(same, same);
    }
}

#[test]
fn percent_signs_encode_printable_characters() {
    for (text, expected) in [("%41z", "Az"), ("%2541z", "Az"), ("%25z", "%z"), ("%20z", " z"), ("%7ez", "~z")] {
        check(text, expected);
    }
    for same in ["%1fz", "%7fz", "%4", "%zz", "%"] {
        check(same, same);
    }
}

#[test]
fn every_place_is_known_in_the_original() {
    let view = DecodedView::of("a\\u0041\u{200b}b");
    assert_eq!(view.bytes(), b"aAb");
    assert_eq!([0, 1, 2, 3].map(|at| view.start(at)), [0, 1, 10, 11]);
    assert_eq!([1, 2, 3].map(|at| view.end(at)), [1, 7, 11]);
}
