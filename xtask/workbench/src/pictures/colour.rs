//! The colours of a terminal, as RGB values.

use std::fmt;

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
    pub(crate) fn rgb(self) -> Rgb {
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
mod tests {
    use super::{Colour, Rgb};

    #[track_caller]
    fn check(index: u8, expected: &str) {
        assert_eq!(Colour::Indexed(index).rgb().to_string(), expected, "{index}");
    }

    #[test]
    fn the_cube_and_the_greys_are_those_of_every_terminal() {
        check(16, "#000000");
        check(174, "#d78787");
        check(153, "#afd7ff");
        check(231, "#ffffff");
        check(232, "#080808");
        check(246, "#949494");
        check(255, "#eeeeee");
    }

    #[test]
    fn a_mixture_lies_between() {
        assert_eq!(Rgb(200, 100, 0).mixed(50, Rgb(0, 0, 100)), Rgb(100, 50, 50));
        assert_eq!(Rgb(255, 255, 255).mixed(100, Rgb(0, 0, 0)), Rgb(255, 255, 255));
    }
}
