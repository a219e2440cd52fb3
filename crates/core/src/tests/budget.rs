use proptest::prelude::*;

use crate::budget::cut;

#[test]
fn a_cut_says_how_much_there_was() {
    assert_eq!(cut("short", 10), "short");
    assert_eq!(cut(&"é".repeat(100), 40), format!("{} [… 100 characters in all]", "é".repeat(14)));
}

proptest! {
    #[test]
    fn no_text_exceeds_its_budget(text in ".{0,600}", chars in 0..400_usize) {
        prop_assert!(cut(&text, chars).chars().count() <= chars);
    }
}
