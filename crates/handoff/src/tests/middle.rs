use proptest::prelude::*;

use crate::cut_middle;

#[test]
fn both_ends_stay() {
    assert_eq!(cut_middle("short", 5), "short");
    let text: String = ('a'..='z').cycle().take(200).collect();
    let cut = cut_middle(&text, 80);
    assert_eq!(cut.chars().count(), 80);
    assert!(cut.starts_with("abcdefghijklmno") && cut.ends_with("pqr") && cut.contains("[… "), "{cut}");
    let missing: usize = cut.split_once("[… ").unwrap().1.split_once(' ').unwrap().0.parse().unwrap();
    assert_eq!(missing + cut.chars().count() - " [… 153 characters left out …] ".chars().count(), 200);
}

#[test]
fn marks_stay_with_their_letters() {
    for cluster in ["e\u{301}", "👩\u{200d}🚀", "👍\u{1f3fd}", "❤\u{fe0f}"] {
        let text = cluster.repeat(100);
        for chars in 40..90 {
            let cut = cut_middle(&text, chars);
            let (head, tail) = (cut.split_once(" [… ").unwrap().0, cut.rsplit_once("…] ").unwrap().1);
            assert_eq!(head.replace(cluster, ""), "", "{chars}");
            assert_eq!(tail.replace(cluster, ""), "", "{chars}");
        }
    }
}

proptest! {
    #[test]
    fn no_cut_is_too_long(text in "(\\PC|\u{200d}|\u{301}){0,200}", chars in 0..120_usize) {
        let cut = cut_middle(&text, chars);
        prop_assert!(cut.chars().count() <= chars || cut == text && text.chars().count() <= chars);
    }
}
