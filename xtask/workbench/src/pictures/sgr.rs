//! SGR: the escape sequences ending in `m`, which set the style of text.

use super::colour::{BACKGROUND, Colour, FOREGROUND, Rgb};

/// The style of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub(crate) foreground: Option<Colour>,
    pub(crate) background: Option<Colour>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) reverse: bool,
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
    pub(crate) fn shows_on_blank(self) -> bool {
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

#[cfg(test)]
mod tests;
