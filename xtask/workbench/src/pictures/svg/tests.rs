use super::{draw, parts, px};
use crate::pictures::screen::parse;

/// Returns the picture's lines that begin with `start`, but for those of the window.
fn lines(capture: &str, start: &str) -> Vec<String> {
    let svg = draw(&parse(capture), "title");
    svg.lines().filter(|line| line.starts_with(start) && !line.contains(" rx=")).map(str::to_owned).collect()
}

#[track_caller]
fn check_text(capture: &str, expected: &[&str]) {
    assert_eq!(lines(capture, "<text"), expected, "{capture:?}");
}

#[track_caller]
fn check_attribute(capture: &str, expected: &str) {
    let text = lines(capture, "<text").concat();
    assert!(text.contains(expected), "{capture:?} became {text}");
}

#[test]
fn each_run_says_where_it_begins_and_how_wide_it_is() {
    check_text(
        "ab\u{1b}[1mc\n\n  日",
        &[
            "<text y=\"50\"><tspan x=\"18\" textLength=\"16.8\" lengthAdjust=\"spacingAndGlyphs\">ab</tspan>\
             <tspan x=\"34.8\" textLength=\"8.4\" lengthAdjust=\"spacingAndGlyphs\" font-weight=\"bold\">c</tspan></text>",
            "<text y=\"88\"><tspan x=\"34.8\" textLength=\"16.8\" lengthAdjust=\"spacingAndGlyphs\" \
             font-weight=\"bold\">日</tspan></text>",
        ],
    );
}

#[test]
fn styles_become_attributes() {
    check_attribute("\u{1b}[38;2;1;2;3mx", " fill=\"#010203\"");
    check_attribute("\u{1b}[3mx", " font-style=\"italic\"");
}

#[test]
fn text_is_escaped() {
    check_attribute("a<b> & \"c\"", ">a&lt;b&gt;\u{a0}&amp;\u{a0}&quot;c&quot;</tspan>");
    assert!(draw(&parse(""), "a & b").contains("<title id=\"title\">a &amp; b</title>"));
}

#[test]
fn coloured_cells_lie_on_a_rectangle_and_others_do_not() {
    let expected =
        "<rect x=\"26.4\" y=\"36\" width=\"16.8\" height=\"19\" fill=\"#3a3a3a\" shape-rendering=\"crispEdges\"/>";
    assert_eq!(lines("a\u{1b}[48;5;237m  \u{1b}[0mb", "<rect"), [expected]);
}

#[test]
fn blocks_are_shapes_and_the_text_beside_them_stays_in_place() {
    let shapes = lines("██▐ab", "<rect");
    let places = [
        "<rect x=\"18\" y=\"36\" width=\"16.8\" height=\"19\" ",
        "<rect x=\"39\" y=\"36\" width=\"4.2\" height=\"19\" ",
    ];
    assert_eq!(shapes.len(), 2);
    assert!(shapes.iter().zip(places).all(|(shape, place)| shape.starts_with(place)), "{shapes:?}");
    check_attribute("██▐ab", "<text y=\"50\"><tspan x=\"43.2\" textLength=\"16.8\"");
    check_text("████", &[]);
}

#[test]
fn the_window_fits_the_longest_line() {
    let svg = draw(&parse(&format!("{}\nshort\n\n", "x".repeat(90))), "title");
    assert!(svg.contains("viewBox=\"0 0 792 92\" role=\"img\""), "{svg}");
}

#[test]
fn lengths_are_written_as_short_as_they_can_be() {
    assert_eq!([px(0), px(5), px(84), px(840)], ["0", "0.5", "8.4", "84"]);
}

/// Compares what is filled of a cell, as `x,y wxh` of each part.
#[track_caller]
fn check(ch: char, expected: &str) {
    let parts = parts(ch).unwrap_or_default();
    let found: Vec<_> = parts.iter().map(|[x, y, width, height]| format!("{x},{y} {width}x{height}")).collect();
    assert_eq!(found.join(" + "), expected, "{ch}");
}

#[test]
fn quadrants_fill_what_they_show() {
    check('▄', "0,4 8x4");
    check('█', "0,0 8x8");
    check('▌', "0,0 4x8");
    check('▛', "0,0 8x4 + 0,4 4x4");
    check('▞', "4,0 4x4 + 0,4 4x4");
}

#[test]
fn letters_lines_and_shades_are_text() {
    for ch in ['a', ' ', '─', '░', '▓', '■'] {
        assert_eq!(parts(ch), None, "{ch}");
    }
}
