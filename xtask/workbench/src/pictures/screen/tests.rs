use super::Screen;

/// Compares the runs of `capture`, each written as `column+width text`, one row a line.
#[track_caller]
fn check(capture: &str, expected: &[&[&str]]) {
    let screen = Screen::parse(capture);
    let rows = screen.rows.iter();
    let found: Vec<Vec<_>> = rows
        .map(|row| row.runs.iter().map(|run| format!("{}+{} {}", run.column, run.width, run.text)).collect())
        .collect();
    assert_eq!(found, expected, "{capture:?}");
}

#[test]
fn cells_of_one_style_are_one_run() {
    check("a\u{1b}[1mb\u{1b}[1mc\u{1b}[0md", &[&["0+1 a", "1+2 bc", "3+1 d"]]);
}

#[test]
fn a_style_carries_over_to_the_next_row() {
    let screen = Screen::parse("\u{1b}[1ma\nb\u{1b}[0m");
    assert!(screen.rows.iter().all(|row| row.runs[0].style.bold));
}

#[test]
fn blanks_around_the_content_are_gone() {
    check("  \n\n a  \n\nb\u{1b}[1m  \u{1b}[0m \n   \n\n", &[&["0+2  a"], &[], &["0+1 b"]]);
    check("", &[]);
    check(" \n \n", &[]);
}

#[test]
fn blanks_that_show_are_kept() {
    check("a\u{1b}[44m  \u{1b}[0m  ", &[&["0+1 a", "1+2   "]]);
}

#[test]
fn a_wide_character_takes_two_columns_and_an_accent_none() {
    check("日e\u{301}\u{1b}[1mx", &[&["0+3 日e\u{301}", "3+1 x"]]);
    assert_eq!(Screen::parse("ab\n日本\n").width(), 4);
}

#[test]
fn other_sequences_and_controls_leave_no_trace() {
    check("a\u{1b}[2Kb\u{1b}(Bc\u{7}d", &[&["0+4 abcd"]]);
    check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}!", &[&["0+5 link!"]]);
    for cut in ["a\u{1b}", "a\u{1b}[1", "a\u{1b}]8;;", "a\u{1b}("] {
        check(cut, &[&["0+1 a"]]);
    }
}
