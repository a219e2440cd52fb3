use proptest::prelude::*;

use crate::{applescript_string, printable, shell_single_quote};

/// What a POSIX shell makes of `source`, if it is one word in which nothing is left for the shell to interpret.
fn shell_word(source: &str) -> Option<String> {
    let mut word = String::new();
    let mut chars = source.chars();
    let mut quoted = false;
    while let Some(ch) = chars.next() {
        match (quoted, ch) {
            (_, '\'') => quoted = !quoted,
            (true, inside) => word.push(inside),
            (false, '\\') => word.push(chars.next().filter(|escaped| *escaped != '\n')?),
            (false, _) => return None,
        }
    }
    (!quoted).then_some(word)
}

/// What AppleScript makes of `source`, if it is one string literal and nothing else.
fn applescript_literal(source: &str) -> Option<String> {
    let mut chars = source.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return chars.next().is_none().then_some(text),
            '\\' => text.push(match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                same @ ('"' | '\\') => same,
                _ => return None,
            }),
            other => text.push(other),
        }
    }
}

/// Any text, with more than its share of what quoting is about.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec!['\'', '"', '\\', '$', '`', '\n', '\r', '\t', ';', '&', 'n', ' ']);
    prop::collection::vec(prop_oneof![special, any::<char>()], 0..40).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn a_shell_gets_the_text_back(text in text()) {
        prop_assert_eq!(shell_word(&shell_single_quote(&text)), Some(text.replace('\0', "")));
    }

    #[test]
    fn applescript_gets_the_text_back(text in text()) {
        prop_assert_eq!(applescript_literal(&applescript_string(&text)), Some(text));
    }

    #[test]
    fn printable_text_has_no_keys_in_it(text in text()) {
        let kept = printable(&text);
        prop_assert!(!kept.chars().any(char::is_control));
        prop_assert_eq!(printable(&kept), kept);
    }
}

#[test]
fn quoting_looks_as_people_write_it() {
    assert_eq!(shell_single_quote("it's"), r"'it'\''s'");
    assert_eq!(shell_single_quote(""), "''");
    assert_eq!(applescript_string("say \"hi\" \\ \n"), r#""say \"hi\" \\ \n""#);
    assert_eq!(printable("a\u{202e}b\u{2066}c\u{2028}d\u{200d}e"), "abcd\u{200d}e");
    assert_eq!(printable("a\x1b[31m\u{9b}b\x7f\r\n\u{a0}é"), "a[31mb\u{a0}é");
}
