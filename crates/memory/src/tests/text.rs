use proptest::prelude::*;

use crate::text::{clean, one_line, passage};

#[test]
fn what_a_terminal_acts_on_goes() {
    for (text, cleaned) in [
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}x", "x"),
        ("a\u{0}b\u{7f}c\u{85}", "abc"),
        ("10%\r20%\r\nx", "10%\n20%\nx"),
        ("a\u{202e}b", "ab"),
        ("a\u{fe01}\u{e0141}\u{34f}b\u{3164}\u{61c}c", "abc"),
        ("👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم", "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم"),
        ("\u{1b}", ""),
        ("\u{1b}(Bx\u{1b})0y", "xy"),
        ("tab\tand\nline", "tab\tand\nline"),
    ] {
        assert_eq!(clean(text), cleaned, "{text:?}");
    }
}

#[test]
fn a_line_is_one_line() {
    assert_eq!(one_line(" a\n\n b\t c ", 20), "a b c");
    assert_eq!(one_line("abcdef", 4), "abc…");
    assert_eq!(one_line("abcdef", 0), "");
    assert_eq!(one_line(&format!("a{}", " ".repeat(100_000)), 9), "a");
    assert_eq!(one_line(&format!("a{}b", " ".repeat(100_000)), 9), "a…");
}

proptest! {
    #[test]
    fn never_longer_and_never_controls(text in any::<String>(), chars in 0..80_usize) {
        let line = one_line(&text, chars);
        prop_assert!(line.chars().count() <= chars);
        prop_assert!(!line.contains(char::is_control));
        prop_assert!(passage(&text, chars).chars().count() <= chars);
    }
}
