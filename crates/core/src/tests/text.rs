use std::ops::RangeInclusive;

use proptest::prelude::*;

use crate::text::{
    CHARS_PER_TOKEN, chars_of_tokens, cut_middle, is_invisible, join_ends, round_tokens, tokens, tokens_of_chars,
    visible,
};

/// Returns what stands before and after the note of a cut text, and the number in the note.
fn parts(cut: &str) -> (&str, &str, usize) {
    let (head, rest) = cut.split_once(" [… ").unwrap();
    let (missing, tail) = rest.split_once(" characters left out …] ").unwrap();
    (head, tail, missing.replace(',', "").parse().unwrap())
}

#[test]
fn a_text_that_fits_stays_as_it_is() {
    for (text, chars) in [("", 0), ("abc", 3), ("éé", 2), ("a", 100)] {
        assert_eq!(cut_middle(text, chars), text);
    }
}

#[test]
fn where_the_note_does_not_fit_the_beginning_stays() {
    assert_eq!(cut_middle("abcdef", 3), "abc");
    let text = "é".repeat(100);
    assert_eq!(cut_middle(&text, 30), "é".repeat(30));
    assert_eq!(cut_middle(&text, 31), " [… 100 characters left out …] ");
    assert_eq!(cut_middle(&text, 34), "éé [… 97 characters left out …] é");
}

#[test]
fn two_thirds_are_the_beginning_and_the_note_counts_what_is_missing() {
    let text: String = ('a'..='z').cycle().take(20_000).collect();
    for chars in [100, 4_096, 19_999] {
        let cut = cut_middle(&text, chars);
        let (head, tail, missing) = parts(&cut);
        assert_eq!(missing + head.len() + tail.len(), 20_000);
        assert!(text.starts_with(head) && text.ends_with(tail));
        assert_eq!(tail.len(), (head.len() + tail.len()) / 3);
        assert!(cut.chars().count() <= chars && cut.chars().count() + 4 >= chars, "{chars}");
    }
    assert!(cut_middle(&text, 4_096).contains(" [… 15,938 characters left out …] "));
}

#[test]
fn what_was_left_out_before_counts_as_missing() {
    assert_eq!(join_ends("abcdef", "uvwxyz", 1_000, 40), "abcde [… 1,005 characters left out …] yz");
    assert_eq!(join_ends("ab", "z", 1_000, 40), "ab [… 1,000 characters left out …] z");
    assert_eq!(join_ends("abcdef", "z", 10, 3), "abc");
}

#[test]
fn marks_stay_with_their_letters() {
    for cluster in ["e\u{301}", "👩\u{200d}🚀", "👍\u{1f3fd}", "❤\u{fe0f}", "a\u{20dd}"] {
        let text = cluster.repeat(100);
        for chars in 40..90 {
            let cut = cut_middle(&text, chars);
            let (head, tail, _) = parts(&cut);
            assert_eq!(head.replace(cluster, ""), "", "{chars}");
            assert_eq!(tail.replace(cluster, ""), "", "{chars}");
        }
    }
}

#[test]
fn an_escape_is_not_parted() {
    for unit in ["\\u00e9", "\\n", "\\\\", "\\\"", "\\n\u{301}", "\\é"] {
        for pad in 0..8 {
            let text = format!("{}{}", "x".repeat(pad), unit.repeat(100));
            for chars in 60..70 {
                let cut = cut_middle(&text, chars);
                let (head, tail, _) = parts(&cut);
                assert_eq!(head.trim_start_matches('x').replace(unit, ""), "", "{unit} {pad} {chars}: {cut}");
                assert_eq!(tail.replace(unit, ""), "", "{unit} {pad} {chars}: {cut}");
            }
        }
    }
}

#[test]
fn letters_that_only_look_like_an_escape_are_counted_one_by_one() {
    // `\u` without four digits is an escape of two characters.
    let text = "\\uxyz12".repeat(100);
    let lengths: Vec<usize> = (60..74).map(|chars| parts(&cut_middle(&text, chars)).0.len()).collect();
    assert!(lengths.windows(2).all(|pair| pair[1] - pair[0] <= 2), "{lengths:?}");
}

#[test]
fn a_letter_after_an_escaped_backslash_is_no_escape() {
    let text = "\\\\n".repeat(100);
    let lengths: Vec<usize> = (60..74).map(|chars| parts(&cut_middle(&text, chars)).0.len()).collect();
    assert!(lengths.windows(2).all(|pair| pair[1] - pair[0] <= 2), "{lengths:?}");
}

proptest! {
    #[test]
    fn no_cut_is_too_long(text in "(a|é|😀|\\\\|u|0|\"|\u{200d}|\u{301}|\\PC){0,200}", chars in 0..120_usize) {
        let cut = cut_middle(&text, chars);
        prop_assert!(cut.chars().count() <= chars);
        let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
        prop_assert!(join_ends(head, tail, 7, chars).chars().count() <= chars);
    }
}

/// `Default_Ignorable_Code_Point` of Unicode 16, and the marks of annotations after it.
const RANGES: [RangeInclusive<char>; 18] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fff8}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
    '\u{fff9}'..='\u{fffb}',
];

pub(super) fn any_invisible() -> impl Strategy<Value = char> {
    (0..RANGES.len()).prop_flat_map(|range| proptest::char::range(*RANGES[range].start(), *RANGES[range].end()))
}

#[test]
fn the_table_is_that_of_unicode() {
    for c in '\0'..=char::MAX {
        assert_eq!(is_invisible(c), RANGES.iter().any(|range| range.contains(&c)), "{:x}", u32::from(c));
    }
}

#[test]
fn what_letters_and_emoji_need_stays() {
    for text in [
        "plain, Grüße, 日本語",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "👩\u{200d}💻 🧑🏽\u{200d}🚀",
        "🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f} ☎\u{fe0e} ©\u{fe0f} ℹ\u{fe0f} 1\u{fe0f}\u{20e3}",
    ] {
        assert_eq!(visible(text), text);
    }
}

#[test]
fn hidden_text_goes() {
    for (text, shown) in [
        ("long\u{200d}haul \u{200c}x", "longhaul x"),
        ("a\u{fe0f}b 1\u{fe0f}2", "ab 12"),
        ("❤\u{fe0f}\u{fe0f}\u{e0101}\u{e01ef}!", "❤\u{fe0f}!"),
        ("م\u{200c}\u{200d}\u{200c}ن", "م\u{200c}ن"),
        ("م\u{200d}", "م"),
        ("\u{feff}a\u{ad}b\u{61c}c\u{202e}d\u{e0069}e\u{3164}f\u{115f}g\u{180b}", "abcdefg"),
    ] {
        assert_eq!(visible(text), shown, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_row_of_invisible_characters_stays(
        before in any::<char>(), hidden in prop::collection::vec(any_invisible(), 2..20), after in any::<char>(),
    ) {
        let text: String = [before].into_iter().chain(hidden).chain([after]).collect();
        let shown = visible(&text);
        let kept = shown.chars().filter(|c| is_invisible(*c)).count();
        // A selector and a joiner, as in the flag of the rainbow, and what stands beside them.
        prop_assert!(kept <= 2, "{:?}", shown);
        prop_assert_eq!(visible(&shown), shown.as_ref());
    }
}

#[test]
fn four_characters_are_a_token() {
    for (text, cost) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1)] {
        assert_eq!(tokens(text), cost);
    }
    assert_eq!([0, 1, 4, 5].map(tokens_of_chars), [0, 1, 1, 2]);
    assert_eq!(chars_of_tokens(3), 3 * CHARS_PER_TOKEN as u64);
    assert_eq!(chars_of_tokens(u64::MAX), u64::MAX);
}

#[test]
fn token_counts_are_short() {
    for (count, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (1_499, "1k"),
        (1_500, "2k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_540_000, "1.5M"),
        (20_000_000, "20M"),
    ] {
        assert_eq!(round_tokens(count), text);
    }
}
