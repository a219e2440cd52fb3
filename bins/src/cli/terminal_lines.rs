//! Lines of spans as ratatui draws them.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Piece};

use super::paint::{Span, Tone};

/// Returns a line of ratatui, without colours if `no_color` is set.
pub(crate) fn to_line<'a>(line: &[Span], no_color: bool) -> Line<'a> {
    let piece = |span: &Span| Piece::styled(span.text.clone(), style(span.tone, no_color));
    line.iter().map(piece).collect::<Vec<_>>().into()
}

fn style(tone: Tone, no_color: bool) -> Style {
    let style = Style::default();
    match tone {
        Tone::Plain => style,
        Tone::Dim => style.add_modifier(Modifier::DIM),
        Tone::Bold => style.add_modifier(Modifier::BOLD),
        Tone::Good | Tone::Warn | Tone::Bad | Tone::Found if no_color => style,
        Tone::Good => style.fg(Color::Green),
        Tone::Warn | Tone::Found => style.fg(Color::Yellow),
        Tone::Bad => style.fg(Color::Red),
    }
}
