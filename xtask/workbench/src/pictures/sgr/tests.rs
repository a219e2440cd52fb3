use super::Style;
use crate::pictures::colour::{BACKGROUND, Colour, FOREGROUND, Rgb};

const PLAIN: Style = Style {
    foreground: None,
    background: None,
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    reverse: false,
    strike: false,
};

#[track_caller]
fn check(parameters: &str, expected: Style) {
    assert_eq!(PLAIN.after(parameters), expected, "{parameters:?}");
}

#[track_caller]
fn check_foreground(parameters: &str, colour: Colour) {
    check(parameters, Style { foreground: Some(colour), ..PLAIN });
}

#[test]
fn each_attribute_is_switched_on_and_off() {
    check("1;2;3", Style { bold: true, dim: true, italic: true, ..PLAIN });
    check("4;7;9", Style { underline: true, reverse: true, strike: true, ..PLAIN });
    check("4:3", Style { underline: true, ..PLAIN });
    for off in ["1;2;22", "3;23", "4;24", "4;4:0", "7;27", "9;29", "1;31;44;0", "1;31;44;", "1;", "31;39", "41;49"] {
        check(off, PLAIN);
    }
}

#[test]
fn colours_come_from_sixteen_or_256_or_all() {
    check_foreground("31", Colour::Indexed(1));
    check_foreground("97", Colour::Indexed(15));
    check_foreground("38;5;174", Colour::Indexed(174));
    check_foreground("38:5:174", Colour::Indexed(174));
    check_foreground("38;2;1;2;3", Colour::Exact(Rgb(1, 2, 3)));
    check_foreground("38:2:1:2:3", Colour::Exact(Rgb(1, 2, 3)));
    check_foreground("38:2::1:2:3", Colour::Exact(Rgb(1, 2, 3)));
    check("48;5;237", Style { background: Some(Colour::Indexed(237)), ..PLAIN });
    check("102", Style { background: Some(Colour::Indexed(10)), ..PLAIN });
}

#[test]
fn what_follows_a_colour_is_not_swallowed() {
    check("38;5;7;1", Style { foreground: Some(Colour::Indexed(7)), bold: true, ..PLAIN });
    check("58;5;3;1", Style { bold: true, ..PLAIN });
}

#[test]
fn nonsense_changes_nothing() {
    for nonsense in ["99", "300", "x", "38", "38;5", "38;5;300", "38;2;1;2", "38;2;999;4;7", "38:9:1"] {
        check(nonsense, PLAIN);
    }
}

#[test]
fn reverse_swaps_and_dim_fades_towards_the_paper() {
    let reverse = PLAIN.after("7");
    assert_eq!((reverse.ink(), reverse.paper()), (BACKGROUND, Some(FOREGROUND)));
    assert_eq!(PLAIN.after("2").ink(), FOREGROUND.mixed(60, BACKGROUND));
    assert_eq!(PLAIN.paper(), None);
    assert!(reverse.shows_on_blank() && PLAIN.after("4").shows_on_blank() && !PLAIN.after("1;31").shows_on_blank());
}
