//! A captured screen as rows of runs: adjacent cells of one style. Reads the sequences that set a style, and knows the
//! colours.

use std::fmt;

use unicode_width::UnicodeWidthChar;

/// A screen without the blank rows above and below its content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) rows: Vec<Row>,
}

/// One row, from left to right.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) runs: Vec<Run>,
}

/// Adjacent cells of one style.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The column of its first cell.
    pub(crate) column: usize,
    /// Its width in columns, which may differ from its number of characters.
    pub(crate) width: usize,
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Screen {
    /// Parses the output of `tmux capture-pane -p -e`, with or without `-N`.
    ///
    /// Styles carry over from row to row, as tmux writes them. Sequences other than SGR are ignored.
    pub(crate) fn parse(capture: &str) -> Self {
        let mut style = Style::default();
        let mut rows: Vec<_> = capture.lines().map(|line| Row::parse(line, &mut style)).collect();
        let end = rows.iter().rposition(|row| !row.runs.is_empty()).map_or(0, |last| last + 1);
        rows.truncate(end);
        let start = rows.iter().position(|row| !row.runs.is_empty()).unwrap_or(0);
        rows.drain(..start);
        Self { rows }
    }

    /// Returns the width of the longest row in columns.
    pub(crate) fn width(&self) -> usize {
        self.rows.iter().filter_map(|row| row.runs.last()).map(|run| run.column + run.width).max().unwrap_or(0)
    }
}

impl Row {
    fn parse(line: &str, style: &mut Style) -> Self {
        let mut row = Self::default();
        let mut column = 0;
        let mut rest = line;
        while let Some(ch) = rest.chars().next() {
            rest = &rest[ch.len_utf8()..];
            if ch == '\u{1b}' {
                rest = escape(rest, style);
            } else if let Some(width) = ch.width() {
                row.push(ch, column, width, *style);
                column += width;
            }
        }
        row.trim();
        row
    }

    /// Appends a character: to the last run if the style is the same or the character combines with the one before.
    fn push(&mut self, ch: char, column: usize, width: usize, style: Style) {
        match self.runs.last_mut() {
            Some(run) if run.style == style || width == 0 => {
                run.text.push(ch);
                run.width += width;
            }
            _ => self.runs.push(Run { column, width, text: ch.into(), style }),
        }
    }

    /// Removes invisible blanks at the end.
    fn trim(&mut self) {
        while let Some(run) = self.runs.last_mut() {
            if !run.style.shows_on_blank() {
                let blanks = run.text.len() - run.text.trim_end_matches(' ').len();
                run.text.truncate(run.text.len() - blanks);
                run.width -= blanks;
            }
            if !run.text.is_empty() {
                break;
            }
            self.runs.pop();
        }
    }
}

/// Parses an escape sequence after the escape character, and returns the rest.
fn escape<'a>(rest: &'a str, style: &mut Style) -> &'a str {
    if let Some(sequence) = rest.strip_prefix('[') {
        let Some(end) = sequence.find(|ch: char| ('@'..='~').contains(&ch)) else { return "" };
        let (parameters, after) = sequence.split_at(end);
        if let Some(after) = after.strip_prefix('m') {
            *style = style.after(parameters);
            return after;
        }
        return &after[1..];
    }
    // A link, which ends in BEL or ESC \: its text is kept, its address dropped.
    if let Some(command) = rest.strip_prefix(']') {
        let ends = ["\u{7}", "\u{1b}\\"].map(|end| command.find(end).map(|at| at + end.len()));
        return ends.into_iter().flatten().min().map_or("", |end| &command[end..]);
    }
    // A character set (`ESC ( B`) has two characters, any other sequence one.
    let length = if rest.starts_with(['(', ')']) { 2 } else { 1 };
    rest.char_indices().nth(length).map_or("", |(at, _)| &rest[at..])
}

/// The style of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    foreground: Option<Colour>,
    pub(crate) background: Option<Colour>,
    pub(crate) bold: bool,
    dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    reverse: bool,
    pub(crate) strike: bool,
}

impl Style {
    /// Returns the style after a sequence with these `parameters`, the text between `ESC [` and `m`.
    ///
    /// Unknown codes change nothing. Colours may be written with semicolons or with colons.
    pub(crate) fn after(mut self, parameters: &str) -> Self {
        let mut groups = parameters.split(';');
        while let Some(group) = groups.next() {
            let mut parts = group.split(':');
            let code = number(parts.next());
            match code {
                Some(38 | 48) => {
                    let colour = if group.contains(':') { with_colons(parts) } else { with_semicolons(&mut groups) };
                    match (code, colour) {
                        (_, None) => {}
                        (Some(38), colour) => self.foreground = colour,
                        (_, colour) => self.background = colour,
                    }
                }
                // `4:0` is no underline; `4:3`, a curly one, is drawn as a plain one.
                Some(4) => self.underline = parts.next() != Some("0"),
                Some(58) if !group.contains(':') => drop(with_semicolons(&mut groups)),
                Some(code) => self = self.after_plain(code),
                None => {}
            }
        }
        self
    }

    fn after_plain(mut self, code: u8) -> Self {
        match code {
            0 => self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            7 => self.reverse = true,
            9 => self.strike = true,
            22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = false,
            27 => self.reverse = false,
            29 => self.strike = false,
            30..=37 => self.foreground = Some(Colour::Indexed(code - 30)),
            39 => self.foreground = None,
            40..=47 => self.background = Some(Colour::Indexed(code - 40)),
            49 => self.background = None,
            90..=97 => self.foreground = Some(Colour::Indexed(code - 90 + 8)),
            100..=107 => self.background = Some(Colour::Indexed(code - 100 + 8)),
            _ => {}
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
        let text = self.foreground.map_or(FOREGROUND, Colour::rgb);
        let paper = self.background.map_or(BACKGROUND, Colour::rgb);
        if self.reverse { (paper, text) } else { (text, paper) }
    }

    /// Returns whether a blank in this style is visible.
    fn shows_on_blank(self) -> bool {
        self.paper().is_some() || self.underline || self.strike
    }
}

/// Parses a number; an empty one is 0, as in terminals.
fn number(text: Option<&str>) -> Option<u8> {
    text.and_then(|text| if text.is_empty() { Some(0) } else { text.parse().ok() })
}

/// Parses `5;INDEX` or `2;R;G;B`.
fn with_semicolons<'a>(groups: &mut impl Iterator<Item = &'a str>) -> Option<Colour> {
    match number(groups.next())? {
        5 => number(groups.next()).map(Colour::Indexed),
        2 => {
            // All three are consumed before any is checked; otherwise the rest would be read as codes.
            let (red, green, blue) = (number(groups.next()), number(groups.next()), number(groups.next()));
            Some(Colour::Exact(Rgb(red?, green?, blue?)))
        }
        _ => None,
    }
}

/// Parses `5:INDEX`, `2:R:G:B` or `2:SPACE:R:G:B`.
fn with_colons<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Colour> {
    let parts: Vec<_> = parts.collect();
    let byte = |text: &str| number(Some(text));
    match parts.as_slice() {
        ["5", index] => byte(index).map(Colour::Indexed),
        ["2", red, green, blue] | ["2", _, red, green, blue] => {
            Some(Colour::Exact(Rgb(byte(red)?, byte(green)?, byte(blue)?)))
        }
        _ => None,
    }
}

/// A colour as an escape sequence names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// One of the 256: 0–15 are the terminal's own, then a cube, then greys.
    Indexed(u8),
    /// An exact colour.
    Exact(Rgb),
}

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

/// The default colour of text.
pub(crate) const FOREGROUND: Rgb = Rgb(0xd4, 0xd7, 0xdd);

/// The background of the window.
pub(crate) const BACKGROUND: Rgb = Rgb(0x16, 0x18, 0x1d);

/// The sixteen colours that a terminal defines itself: muted for a dark window, all readable on it except black.
const OWN: [Rgb; 16] = [
    Rgb(0x16, 0x18, 0x1d),
    Rgb(0xe0, 0x6c, 0x75),
    Rgb(0x8c, 0xc2, 0x65),
    Rgb(0xd8, 0xb0, 0x5f),
    Rgb(0x61, 0xa5, 0xf0),
    Rgb(0xc6, 0x84, 0xe0),
    Rgb(0x4f, 0xb8, 0xc4),
    Rgb(0xc8, 0xcc, 0xd4),
    Rgb(0x7f, 0x86, 0x94),
    Rgb(0xff, 0x85, 0x8d),
    Rgb(0xa8, 0xdc, 0x82),
    Rgb(0xf0, 0xcb, 0x7c),
    Rgb(0x84, 0xbd, 0xff),
    Rgb(0xdc, 0xa3, 0xf2),
    Rgb(0x73, 0xd4, 0xdf),
    Rgb(0xff, 0xff, 0xff),
];

/// The six levels of each axis of the colour cube.
const STEPS: [u8; 6] = [0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff];

impl Colour {
    /// Returns the colour's RGB value.
    fn rgb(self) -> Rgb {
        match self {
            Self::Exact(rgb) => rgb,
            Self::Indexed(index @ 0..=15) => OWN[usize::from(index)],
            Self::Indexed(index @ 16..=231) => {
                let cube = usize::from(index - 16);
                Rgb(STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6])
            }
            Self::Indexed(index @ 232..=255) => {
                let grey = 8 + 10 * (index - 232);
                Rgb(grey, grey, grey)
            }
        }
    }
}

impl Rgb {
    /// Returns a mixture: `percent` of this colour, the rest of `other`.
    pub(crate) fn mixed(self, percent: u16, other: Self) -> Self {
        let mix = |a: u8, b: u8| {
            let sum = u16::from(a) * percent + u16::from(b) * (100 - percent);
            u8::try_from(sum / 100).expect("a mean of two bytes is a byte")
        };
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
