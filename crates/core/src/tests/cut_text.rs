use proptest::prelude::*;

use crate::cut_text::{cut_middle, join_ends};

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
