use proptest::prelude::*;

use crate::budget::{Budget, cut, tokens, tokens_of_bytes};

#[test]
fn what_does_not_fit_is_counted() {
    let mut budget = Budget::new(100);
    assert!(budget.push("0123456789"));
    assert!(!budget.push("a line that is far too long"));
    assert!(budget.push("short"));
    assert_eq!(budget.finish("lines"), "0123456789\nshort\n[1 lines left out for space]\n");
}

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
    fn no_text_exceeds_its_budget(lines in proptest::collection::vec(".{0,60}", 0..40), chars in 0..400_usize) {
        let mut budget = Budget::new(chars);
        for line in &lines {
            budget.push(line);
        }
        prop_assert!(budget.finish("lines").chars().count() <= chars.max(80));
        prop_assert!(cut(&lines.concat(), chars).chars().count() <= chars);
    }
}
