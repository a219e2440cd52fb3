use longhaul_core::Millis;

use crate::{LogLine, TailStart, bookmarks_since_prompt, may_be_of_newest_turn};

#[track_caller]
fn check(log: &str, expected: u64) {
    assert_eq!(bookmarks_since_prompt(log.as_bytes(), TailStart::LogStart), expected, "{log:?}");
}

#[test]
fn bookmarks_count_back_to_the_last_prompt() {
    check("", 0);
    check("B 1\nP 2\nT 3 9\n", 0);
    check("P 1\nT 2 9\nI 3\nB 3\nT 4 9\nB 5\nS 6 completed\n", 2);
    check("B 1\nB 2\n", 2);
    check("P 1\nB 2\nnonsense\nB 3", 1);
}

#[test]
fn a_compactions_mark_is_no_bookmark() {
    check("P 1\nB 2\nC 3\nB 3\nT 4 9\nB 5\n", 2);
    check("P 1\nC 3\nB 4\n", 1);
    check("P 1\nB 2\nC 2\nT 3 9\n", 1);
    // The same where nothing could be typed.
    check("P 1\nI 3\nG 3\nB 3\nT 4 9\n", 0);
    check("P 1\nI 2\nG 2\nT 3 9\nI 4\nB 5\n", 1);
}

#[test]
fn only_the_newest_turn_counts() {
    let turn = |id: &str| format!("{}\n", LogLine::turn(Millis(1), id));
    let may_be = |log: &str| may_be_of_newest_turn(log.as_bytes(), TailStart::LogStart, "p1");
    assert!(may_be("") && may_be("P 1\nT 2 9\n"), "no turn is known");
    assert!(may_be(&format!("P 1\n{}T 2 9\nB 3\n", turn("p1"))));
    assert!(may_be(&format!("{}P 1\n{}", turn("p2"), turn("p1"))));
    assert!(!may_be(&format!("{}P 1\n{}", turn("p1"), turn("p2"))));
    assert!(!may_be(&format!("P 1\n{}T 2 9\n", turn("p2"))));
}
