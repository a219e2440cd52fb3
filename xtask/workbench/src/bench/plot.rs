//! A small plot: one line over a logarithmic axis, as SVG that is readable on light and dark pages.

use std::fmt::Write as _;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;

/// Draws `points`: an amount, and the cost as a multiple of the empty program.
pub(crate) fn draw(title: &str, along: &str, points: &[(f64, f64)]) -> String {
    let (least, most) = range(points.iter().map(|(x, _)| x.ln()));
    let top = points.iter().map(|(_, y)| *y).fold(1.0, f64::max).ceil();
    let x = |value: f64| LEFT + (value.ln() - least) / (most - least).max(1e-9) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">
<style>text{{font:12px sans-serif;fill:#777}} .t{{font-weight:bold}} .g{{stroke:#8884}} .l{{fill:none;stroke:#2a7ae2;stroke-width:2}} circle{{fill:#2a7ae2}}</style>
<text class="t" x="{LEFT}" y="16">{title}</text>
"##
    );
    for line in ticks(top) {
        let at = y(line);
        let _ = writeln!(svg, r#"<line class="g" x1="{LEFT}" x2="{}" y1="{at:.1}" y2="{at:.1}"/>"#, WIDTH - RIGHT);
        let _ = writeln!(svg, r#"<text x="{}" y="{:.1}" text-anchor="end">{line}×</text>"#, LEFT - 6.0, at + 4.0);
    }
    let path: Vec<String> = points.iter().map(|(at, cost)| format!("{:.1},{:.1}", x(*at), y(*cost))).collect();
    let _ = writeln!(svg, r#"<polyline class="l" points="{}"/>"#, path.join(" "));
    for (at, cost) in points {
        let (left, height) = (x(*at), y(*cost));
        let _ = writeln!(svg, r#"<circle cx="{left:.1}" cy="{height:.1}" r="3"/>"#);
        let _ = writeln!(svg, r#"<text x="{left:.1}" y="{:.1}" text-anchor="middle">{cost:.1}</text>"#, height - 8.0);
        let _ = writeln!(
            svg,
            r#"<text x="{left:.1}" y="{}" text-anchor="middle">{}</text>"#,
            HEIGHT - BOTTOM + 16.0,
            grouped(*at)
        );
    }
    let _ = writeln!(svg, r#"<text x="{}" y="{}" text-anchor="end">{along}</text>"#, WIDTH - RIGHT, HEIGHT - 6.0);
    svg.push_str("</svg>\n");
    svg
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

/// Returns up to six round numbers from 0 to `top`.
fn ticks(top: f64) -> Vec<f64> {
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|step| top / step <= 5.0).unwrap_or(100.0);
    (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= top).collect()
}

fn grouped(number: f64) -> String {
    match number {
        number if number >= 1_000_000.0 => format!("{:.0}M", number / 1e6),
        number if number >= 1_000.0 => format!("{:.0}k", number / 1e3),
        number => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{draw, ticks};

    #[test]
    fn every_point_is_on_the_picture() {
        let svg = draw("Cost", "lines", &[(1.0, 1.2), (1000.0, 7.5)]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains(">7.5<") && svg.contains(">1k<") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!draw("One", "x", &[(5.0, 0.5)]).contains("NaN"));
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
    }
}
