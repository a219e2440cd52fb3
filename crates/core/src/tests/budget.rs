use crate::budget::{CHARS_PER_TOKEN, chars_of_tokens, round_tokens, tokens, tokens_of_chars};

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
