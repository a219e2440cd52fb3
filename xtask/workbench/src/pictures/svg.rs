//! Draws a screen as SVG: a dark window with rounded corners that looks the same on light and dark pages.
//!
//! The picture loads nothing, and only the shapes of letters depend on the font: every run states its position and
//! width.

use unicode_width::UnicodeWidthChar;

use super::screen::{BACKGROUND, FOREGROUND, Rgb, Row, Run};

/// A length in tenths of a pixel, so that sums are exact and are written the same everywhere.
type Tenths = usize;

const FONT_SIZE: Tenths = 140;
/// The width of a cell, which is that of the usual monospace fonts at this size.
const CELL: Tenths = 84;
const LINE: Tenths = 190;
/// Distance from the top of a line to the baseline.
const BASE: Tenths = 140;
const MARGIN: Tenths = 180;
const BAR: Tenths = 360;
/// Minimum width of a window, so that its dots fit.
const LEAST_COLUMNS: usize = 20;

const FONTS: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";
const EDGE: Rgb = Rgb(0x3a, 0x3f, 0x4a);
const DOTS: [Rgb; 3] = [Rgb(0xff, 0x5f, 0x57), Rgb(0xfe, 0xbc, 0x2e), Rgb(0x28, 0xc8, 0x40)];

/// Draws a screen; `title` is its text for screen readers.
pub(crate) fn draw(rows: &[Row], title: &str) -> String {
    let longest = rows.iter().filter_map(|row| row.last()).map(|run| run.column + run.width).max().unwrap_or(0);
    let width = longest.max(LEAST_COLUMNS) * CELL + 2 * MARGIN;
    let height = BAR + rows.len() * LINE + MARGIN;
    let mut svg = window(width, height, title);
    for (index, row) in rows.iter().enumerate() {
        papers(&mut svg, row, BAR + index * LINE);
        blocks(&mut svg, row, BAR + index * LINE);
    }
    let size = px(FONT_SIZE);
    line(&mut svg, &format!(r#"<g font-family="{FONTS}" font-size="{size}" fill="{FOREGROUND}">"#));
    for (index, row) in rows.iter().enumerate() {
        words(&mut svg, row, BAR + index * LINE + BASE);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn window(width: Tenths, height: Tenths, title: &str) -> String {
    let (w, h) = (px(width), px(height));
    let mut svg = String::new();
    line(
        &mut svg,
        &format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-labelledby="title">"#
        ),
    );
    line(&mut svg, &format!(r#"<title id="title">{}</title>"#, escaped(title)));
    // The border is drawn half its width inside the window, so that it is not clipped.
    let (inner_w, inner_h) = (px(width - 10), px(height - 10));
    line(
        &mut svg,
        &format!(
            r#"<rect x="0.5" y="0.5" width="{inner_w}" height="{inner_h}" rx="10" fill="{BACKGROUND}" stroke="{EDGE}"/>"#
        ),
    );
    for (index, dot) in DOTS.iter().enumerate() {
        let x = px(MARGIN + 40 + index * 200);
        line(&mut svg, &format!(r#"<circle cx="{x}" cy="18" r="6" fill="{dot}"/>"#));
    }
    svg
}

/// Draws the backgrounds of a row whose top is at `top`.
fn papers(svg: &mut String, row: &Row, top: Tenths) {
    for run in row {
        if let Some(paper) = run.style.paper() {
            rectangle(svg, [left(run.column), top, run.width * CELL, LINE], paper);
        }
    }
}

/// Draws the block elements of a row whose top is at `top`, equal neighbours as one rectangle.
fn blocks(svg: &mut String, row: &Row, top: Tenths) {
    for run in row {
        let mut column = run.column;
        for same in run.text.chars().collect::<Vec<_>>().chunk_by(|a, b| a == b) {
            let width = same.len() * same[0].width().unwrap_or(0);
            for [left_part, top_part, part_width, part_height] in parts(same[0]).iter().flatten() {
                // Only a part of full width can be drawn as one rectangle with its neighbours.
                let (count, each) = if *part_width == 8 { (1, width) } else { (width, 1) };
                for at in 0..count {
                    let x = left(column + at) + left_part * CELL / 8;
                    let (y, bottom) = (top + top_part * LINE / 8, top + (top_part + part_height) * LINE / 8);
                    rectangle(svg, [x, y, part_width * CELL * each / 8, bottom - y], run.style.ink());
                }
            }
            column += width;
        }
    }
}

fn rectangle(svg: &mut String, place: [Tenths; 4], fill: Rgb) {
    let [x, y, w, h] = place.map(px);
    // Crisp edges, so that the background is not visible between adjacent rectangles.
    let shape = r#"shape-rendering="crispEdges""#;
    line(svg, &format!(r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}" {shape}/>"#));
}

/// Draws the text of a row whose baseline is at `base`.
fn words(svg: &mut String, row: &Row, base: Tenths) {
    let spans: String = row.iter().filter_map(span).collect();
    if !spans.is_empty() {
        line(svg, &format!(r#"<text y="{}">{spans}</text>"#, px(base)));
    }
}

/// Returns a run as an element, or `None` if it has no visible text.
fn span(run: &Run) -> Option<String> {
    let style = run.style;
    // Block elements are drawn as shapes; blanks keep the positions of the rest.
    let text = run.text.replace(|ch| parts(ch).is_some(), " ");
    // Renderers treat surrounding blanks differently.
    let rest = text.trim_start_matches(' ');
    let column = run.column + text.len() - rest.len();
    let bare = rest.trim_end_matches(' ');
    let width = run.width - (text.len() - bare.len());
    if bare.is_empty() {
        return None;
    }
    let mut attributes =
        format!(r#"x="{}" textLength="{}" lengthAdjust="spacingAndGlyphs""#, px(left(column)), px(width * CELL));
    if style.ink() != FOREGROUND {
        attributes += &format!(r#" fill="{}""#, style.ink());
    }
    attributes += if style.bold { r#" font-weight="bold""# } else { "" };
    attributes += if style.italic { r#" font-style="italic""# } else { "" };
    // No-break spaces, because some renderers collapse or drop ordinary ones.
    Some(format!("<tspan {attributes}>{}</tspan>", escaped(bare).replace(' ', "\u{a0}")))
}

fn left(column: usize) -> Tenths {
    MARGIN + column * CELL
}

fn px(tenths: Tenths) -> String {
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}.{rest}", tenths / 10),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn line(svg: &mut String, text: &str) {
    svg.push_str(text);
    svg.push('\n');
}

/// A part of a cell, in eighths of its width and height: left, top, width and height.
type Part = [usize; 4];

const UPPER_LEFT: Part = [0, 0, 4, 4];
const UPPER_RIGHT: Part = [4, 0, 4, 4];
const LOWER_LEFT: Part = [0, 4, 4, 4];
const LOWER_RIGHT: Part = [4, 4, 4, 4];
const UPPER: Part = [0, 0, 8, 4];
const LOWER: Part = [0, 4, 8, 4];

/// Returns the parts of a cell that `ch` fills, or `None` for text; the shades (`░▒▓`) count as text.
fn parts(ch: char) -> Option<Vec<Part>> {
    Some(match ch {
        '▀' => vec![UPPER],
        '▄' => vec![LOWER],
        '█' => vec![[0, 0, 8, 8]],
        '▌' => vec![[0, 0, 4, 8]],
        '▐' => vec![[4, 0, 4, 8]],
        '▔' => vec![[0, 0, 8, 1]],
        '▖' => vec![LOWER_LEFT],
        '▗' => vec![LOWER_RIGHT],
        '▘' => vec![UPPER_LEFT],
        '▙' => vec![UPPER_LEFT, LOWER],
        '▚' => vec![UPPER_LEFT, LOWER_RIGHT],
        '▛' => vec![UPPER, LOWER_LEFT],
        '▜' => vec![UPPER, LOWER_RIGHT],
        '▝' => vec![UPPER_RIGHT],
        '▞' => vec![UPPER_RIGHT, LOWER_LEFT],
        '▟' => vec![UPPER_RIGHT, LOWER],
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
