use proptest::prelude::*;

use crate::budget::{cut, tokens, tokens_of_bytes};

#[test]
fn a_cut_says_how_much_there_was() {
    assert_eq!(cut("short", 10), "short");
    assert_eq!(cut(&"é".repeat(100), 40), format!("{} [… 100 characters in all]", "é".repeat(14)));
}

#[test]
fn four_characters_are_a_token() {
    for (text, cost) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1)] {
        assert_eq!(tokens(text), cost);
    }
    assert_eq!([0, 1, 4, 5].map(tokens_of_bytes), [0, 1, 1, 2]);
}

proptest! {
    #[test]
    fn no_text_exceeds_its_budget(text in ".{0,600}", chars in 0..400_usize) {
        prop_assert!(cut(&text, chars).chars().count() <= chars);
    }
}
