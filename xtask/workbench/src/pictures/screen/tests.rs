use super::{BACKGROUND, FOREGROUND, Rgb, Style, indexed, parse};

/// Compares the runs of `capture`, each written as `column+width text`, one row a line.
#[track_caller]
fn check(capture: &str, expected: &[&[&str]]) {
    let rows = parse(capture);
    let runs = |row: &super::Row| row.iter().map(|run| format!("{}+{} {}", run.column, run.width, run.text)).collect();
    let found: Vec<Vec<String>> = rows.iter().map(runs).collect();
    assert_eq!(found, expected, "{capture:?}");
}

#[test]
fn cells_of_one_style_are_one_run() {
    check("a\u{1b}[1mb\u{1b}[1mc\u{1b}[0md", &[&["0+1 a", "1+2 bc", "3+1 d"]]);
}

#[test]
fn a_style_carries_over_to_the_next_row() {
    assert!(parse("\u{1b}[1ma\nb\u{1b}[0m").iter().all(|row| row[0].style.bold));
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
}

#[test]
fn other_sequences_and_controls_leave_no_trace() {
    check("a\u{1b}[2Kb\u{7}c", &[&["0+3 abc"]]);
    for cut in ["a\u{1b}", "a\u{1b}[1"] {
        check(cut, &[&["0+1 a"]]);
    }
}

const PLAIN: Style =
    Style { foreground: None, background: None, bold: false, dim: false, italic: false, reverse: false };

#[track_caller]
fn check_style(parameters: &str, expected: Style) {
    assert_eq!(PLAIN.after(parameters), expected, "{parameters:?}");
}

#[track_caller]
fn check_foreground(parameters: &str, colour: Rgb) {
    check_style(parameters, Style { foreground: Some(colour), ..PLAIN });
}

#[test]
fn each_attribute_is_switched_on_and_off() {
    check_style("1;2;3", Style { bold: true, dim: true, italic: true, ..PLAIN });
    check_style("7", Style { reverse: true, ..PLAIN });
    for off in ["1;2;22", "3;23", "7;27", "1;31;44;0", "1;31;44;", "1;", "31;39", "41;49"] {
        check_style(off, PLAIN);
    }
}

#[test]
fn colours_come_from_sixteen_or_256_or_all() {
    check_foreground("31", indexed(1));
    check_foreground("97", indexed(15));
    check_foreground("38;5;174", indexed(174));
    check_foreground("38;2;1;2;3", Rgb(1, 2, 3));
    check_style("48;5;237", Style { background: Some(indexed(237)), ..PLAIN });
    check_style("102", Style { background: Some(indexed(10)), ..PLAIN });
}

#[test]
fn what_follows_a_colour_is_not_swallowed() {
    check_style("38;5;7;1", Style { foreground: Some(indexed(7)), bold: true, ..PLAIN });
}

#[test]
fn nonsense_changes_nothing() {
    for nonsense in ["99", "300", "x", "38", "38;5", "38;5;300", "38;2;1;2", "38;2;999;4;7", "38:9:1"] {
        check_style(nonsense, PLAIN);
    }
}

#[test]
fn reverse_swaps_and_dim_fades_towards_the_paper() {
    let reverse = PLAIN.after("7");
    assert_eq!((reverse.ink(), reverse.paper()), (BACKGROUND, Some(FOREGROUND)));
    assert_eq!(PLAIN.after("2").ink(), FOREGROUND.mixed(60, BACKGROUND));
    assert_eq!(PLAIN.paper(), None);
}

#[track_caller]
fn check_colour(index: u8, expected: &str) {
    assert_eq!(indexed(index).to_string(), expected, "{index}");
}

#[test]
fn the_cube_and_the_greys_are_those_of_every_terminal() {
    check_colour(16, "#000000");
    check_colour(174, "#d78787");
    check_colour(153, "#afd7ff");
    check_colour(231, "#ffffff");
    check_colour(232, "#080808");
    check_colour(246, "#949494");
    check_colour(255, "#eeeeee");
}

#[test]
fn a_mixture_lies_between() {
    assert_eq!(Rgb(200, 100, 0).mixed(50, Rgb(0, 0, 100)), Rgb(100, 50, 50));
    assert_eq!(Rgb(255, 255, 255).mixed(100, Rgb(0, 0, 0)), Rgb(255, 255, 255));
}
