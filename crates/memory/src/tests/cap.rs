use proptest::prelude::*;

use crate::cap;
use crate::cap::grouped;
use crate::json::unescape;

#[test]
fn head_and_tail_stay_and_the_cut_is_said() {
    let text = format!("{}{}", "a".repeat(10_000), "z".repeat(10_000));
    let capped = cap(&text, 4_096);
    assert_eq!(capped.chars().count(), 4_096);
    assert!(capped.starts_with("aaa") && capped.ends_with("zzz"));
    assert!(capped.contains(" [… 15,938 characters left out …] "));
}

#[test]
fn what_fits_stays_as_it_is() {
    for (text, max) in [("", 0), ("abc", 3), ("éé", 2), ("a", 100)] {
        assert_eq!(cap(text, max), text);
    }
    assert_eq!(cap("abcdef", 3), "abc");
}

#[test]
fn an_escape_is_not_cut() {
    for pad in 0..14 {
        let text = format!("{}{}", "x".repeat(pad), "\\u00e9\\n\\\\\\\"".repeat(100));
        let capped = cap(&text, 100);
        let (head, tail) = capped.split_once(" [… ").unwrap();
        let tail = tail.split_once("…] ").unwrap().1;
        for part in [head, tail] {
            let whole = unescape(part).replace('x', "");
            assert!(whole.chars().all(|c| "é\n\\\"".contains(c)), "{pad}: {part}");
        }
    }
}

#[test]
fn numbers_have_commas() {
    for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")] {
        assert_eq!(grouped(number), text);
    }
}

proptest! {
    #[test]
    fn never_longer_than_allowed(text in "(a|é|😀|\\\\|u|0|\"){0,120}", max in 0..90_usize) {
        prop_assert!(cap(&text, max).chars().count() <= max);
    }
}
