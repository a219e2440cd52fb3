//! Block elements (`▛`, `█`, `▔`…), drawn as rectangles: as text, they leave gaps between rows in every font.

/// A part of a cell, in eighths of its width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

const UPPER_LEFT: Part = part(0, 0, 4, 4);
const UPPER_RIGHT: Part = part(4, 0, 4, 4);
const LOWER_LEFT: Part = part(0, 4, 4, 4);
const LOWER_RIGHT: Part = part(4, 4, 4, 4);
const UPPER: Part = part(0, 0, 8, 4);
const LOWER: Part = part(0, 4, 8, 4);

/// Returns the parts of a cell that `ch` fills, or `None` for text; the shades (`░▒▓`) count as text.
pub(crate) fn parts(ch: char) -> Option<Vec<Part>> {
    // These fill one eighth more with each code point: first from below, then from the left.
    let eighths = |first: char| (ch as usize).abs_diff(first as usize) + 1;
    let parts = match ch {
        '▀' => vec![UPPER],
        '▁'..='█' => vec![part(0, 8 - eighths('▁'), 8, eighths('▁'))],
        '▉'..='▏' => vec![part(0, 0, 8 - eighths('▉'), 8)],
        '▐' => vec![part(4, 0, 4, 8)],
        '▔' => vec![part(0, 0, 8, 1)],
        '▕' => vec![part(7, 0, 1, 8)],
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
    };
    Some(parts)
}

const fn part(x: usize, y: usize, width: usize, height: usize) -> Part {
    Part { x, y, width, height }
}

#[cfg(test)]
mod tests {
    use super::parts;

    /// Compares what is filled of a cell, as `x,y wxh` of each part.
    #[track_caller]
    fn check(ch: char, expected: &str) {
        let parts = parts(ch).unwrap_or_default();
        let found: Vec<_> =
            parts.iter().map(|part| format!("{},{} {}x{}", part.x, part.y, part.width, part.height)).collect();
        assert_eq!(found.join(" + "), expected, "{ch}");
    }

    #[test]
    fn eighths_grow_from_below_and_from_the_left() {
        check('▁', "0,7 8x1");
        check('▄', "0,4 8x4");
        check('█', "0,0 8x8");
        check('▉', "0,0 7x8");
        check('▌', "0,0 4x8");
        check('▏', "0,0 1x8");
    }

    #[test]
    fn quadrants_fill_what_they_show() {
        check('▛', "0,0 8x4 + 0,4 4x4");
        check('▞', "4,0 4x4 + 0,4 4x4");
    }

    #[test]
    fn letters_lines_and_shades_are_text() {
        for ch in ['a', ' ', '─', '░', '▓', '■'] {
            assert_eq!(parts(ch), None, "{ch}");
        }
    }
}
