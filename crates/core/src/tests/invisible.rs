use std::ops::RangeInclusive;

use proptest::prelude::*;

use crate::invisible::{is_invisible, visible};

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
