//! A captured screen as rows of runs: adjacent cells of one style. Reads the styles and colours that the captures have.

use std::fmt;

use unicode_width::UnicodeWidthChar;

/// One row, from left to right.
pub(crate) type Row = Vec<Run>;

/// Adjacent cells of one style.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) column: usize,
    /// Its width in columns, which may differ from its number of characters.
    pub(crate) width: usize,
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Parses the output of `tmux capture-pane -p -e`, with or without `-N`, without blank rows above and below the content.
///
/// Styles carry over from row to row, as tmux writes them. Other sequences are ignored.
pub(crate) fn parse(capture: &str) -> Vec<Row> {
    let mut style = Style::default();
    let mut rows: Vec<Row> = capture.lines().map(|line| parse_row(line, &mut style)).collect();
    let end = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    rows.truncate(end);
    let start = rows.iter().position(|row| !row.is_empty()).unwrap_or(0);
    rows.split_off(start)
}

fn parse_row(line: &str, style: &mut Style) -> Row {
    let (mut row, mut column) = (Row::new(), 0);
    let mut rest = line;
    while let Some(ch) = rest.chars().next() {
        rest = &rest[ch.len_utf8()..];
        if ch == '\u{1b}' {
            rest = escape(rest, style);
        } else if let Some(width) = ch.width() {
            match row.last_mut() {
                // A character of no width combines with the one before.
                Some(run) if run.style == *style || width == 0 => {
                    run.text.push(ch);
                    run.width += width;
                }
                _ => row.push(Run { column, width, text: ch.into(), style: *style }),
            }
            column += width;
        }
    }
    trim(&mut row);
    row
}

/// Removes invisible blanks at the end.
fn trim(row: &mut Row) {
    while let Some(run) = row.last_mut() {
        if run.style.paper().is_none() {
            let blanks = run.text.len() - run.text.trim_end_matches(' ').len();
            run.text.truncate(run.text.len() - blanks);
            run.width -= blanks;
        }
        if !run.text.is_empty() {
            break;
        }
        row.pop();
    }
}

/// Applies the sequence after an escape character, and returns the rest.
fn escape<'a>(rest: &'a str, style: &mut Style) -> &'a str {
    let Some(sequence) = rest.strip_prefix('[') else { return rest };
    let Some(end) = sequence.find(|ch: char| ('@'..='~').contains(&ch)) else { return "" };
    if sequence[end..].starts_with('m') {
        *style = style.after(&sequence[..end]);
    }
    &sequence[end + 1..]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    foreground: Option<Rgb>,
    background: Option<Rgb>,
    pub(crate) bold: bool,
    dim: bool,
    pub(crate) italic: bool,
    reverse: bool,
}

impl Style {
    /// Returns the style after a sequence with these `parameters`, the text between `ESC [` and `m`. Unknown codes change
    /// nothing.
    fn after(mut self, parameters: &str) -> Self {
        let mut codes =
            parameters.split(';').map(|code| if code.is_empty() { Some(0) } else { code.parse::<u8>().ok() });
        while let Some(code) = codes.next() {
            match code {
                Some(0) => self = Self::default(),
                Some(1) => self.bold = true,
                Some(2) => self.dim = true,
                Some(3) => self.italic = true,
                Some(7) => self.reverse = true,
                Some(22) => (self.bold, self.dim) = (false, false),
                Some(23) => self.italic = false,
                Some(27) => self.reverse = false,
                Some(code @ 30..=37) => self.foreground = Some(indexed(code - 30)),
                Some(38) => self.foreground = colour(&mut codes).or(self.foreground),
                Some(39) => self.foreground = None,
                Some(code @ 40..=47) => self.background = Some(indexed(code - 40)),
                Some(48) => self.background = colour(&mut codes).or(self.background),
                Some(49) => self.background = None,
                Some(code @ 90..=97) => self.foreground = Some(indexed(code - 90 + 8)),
                Some(code @ 100..=107) => self.background = Some(indexed(code - 100 + 8)),
                Some(_) | None => {}
            }
        }
        self
    }

    /// Returns the colour of the text, after applying reverse and dim.
    pub(crate) fn ink(self) -> Rgb {
        let (text, paper) = self.colours();
        if self.dim { text.mixed(60, paper) } else { text }
    }

    /// Returns the colour behind the text, or `None` if it is the window's.
    pub(crate) fn paper(self) -> Option<Rgb> {
        Some(self.colours().1).filter(|paper| *paper != BACKGROUND)
    }

    fn colours(self) -> (Rgb, Rgb) {
        let (text, paper) = (self.foreground.unwrap_or(FOREGROUND), self.background.unwrap_or(BACKGROUND));
        if self.reverse { (paper, text) } else { (text, paper) }
    }
}

/// Parses `5;INDEX` or `2;R;G;B`.
fn colour(codes: &mut impl Iterator<Item = Option<u8>>) -> Option<Rgb> {
    let mut next = || codes.next().flatten();
    match next()? {
        5 => next().map(indexed),
        2 => {
            // All three are consumed before any is checked; otherwise the rest would be read as codes.
            let (red, green, blue) = (next(), next(), next());
            Some(Rgb(red?, green?, blue?))
        }
        _ => None,
    }
}

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

/// The default colour of text.
pub(crate) const FOREGROUND: Rgb = Rgb(0xd4, 0xd7, 0xdd);

pub(crate) const BACKGROUND: Rgb = Rgb(0x16, 0x18, 0x1d);

/// The sixteen colours that a terminal defines itself: muted for a dark window, all readable on it except black.
const OWN: [u32; 16] = [
    0x16181d, 0xe06c75, 0x8cc265, 0xd8b05f, 0x61a5f0, 0xc684e0, 0x4fb8c4, 0xc8ccd4, 0x7f8694, 0xff858d, 0xa8dc82,
    0xf0cb7c, 0x84bdff, 0xdca3f2, 0x73d4df, 0xffffff,
];

/// The six levels of each axis of the colour cube.
const STEPS: [u8; 6] = [0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff];

/// Returns one of the 256 colours: 0–15 are the terminal's own, then a cube, then greys.
fn indexed(index: u8) -> Rgb {
    let cube = usize::from(index.saturating_sub(16));
    match index {
        0..=15 => {
            let [_, red, green, blue] = OWN[usize::from(index)].to_be_bytes();
            Rgb(red, green, blue)
        }
        16..=231 => Rgb(STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6]),
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

impl Rgb {
    /// Returns a mixture: `percent` of this colour, the rest of `other`.
    fn mixed(self, percent: u16, other: Self) -> Self {
        let mix = |a: u8, b: u8| ((u16::from(a) * percent + u16::from(b) * (100 - percent)) / 100) as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests;
