//! Text for a terminal: measures, cuts and colours it, lays tables out, and removes control characters. Also from which percentage on a use
//! of the context or of a rate limit is yellow or red (`level`), in the status line, the monitor and the view.

pub(crate) use longhaul_core::text::round_tokens as tokens;

use jiff::Timestamp;
use longhaul_core::Millis;
use longhaul_core::clock::{date_of, time_of};
use longhaul_runtime::utc_offset_seconds;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Piece};
use unicode_width::UnicodeWidthChar;

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Bold,
    Good,
    Warn,
    Bad,
    /// A word that was searched for.
    Found,
}

/// A piece of text in one tone, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Span {
    /// Returns a span of `text` without control characters.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: harmless(text.as_ref()), tone }
    }

    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }
}

/// Returns `text` without control characters, and without characters that reorder, hide or join their neighbours.
///
/// Terminals disagree about the width of joined emoji, but not about that of their parts.
pub(crate) fn harmless(text: &str) -> String {
    let joins = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    text.chars().filter(|c| !c.is_control() && !joins(*c)).collect()
}

/// Returns the number of columns that `text` takes, counted by character as terminals do.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Lays rows out in columns that are as wide as their content. The columns in `right` are aligned to the right.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]], right: &[usize]) -> Vec<String> {
    let widths: [usize; N] =
        std::array::from_fn(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or_default());
    let cell = |(column, text): (usize, &String)| {
        let space = " ".repeat(widths[column] - width(text));
        if right.contains(&column) { space + text } else { format!("{text}{space}") }
    };
    let line = |row: &[String; N]| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

/// Lays rows out below the names of the columns.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    right: &[usize],
) -> Vec<String> {
    let rows: Vec<[String; N]> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    columns(&rows, right)
}

/// Formats a time span: `42s`, `3m`, `2h`.
pub(crate) fn age(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds}s") } else { longhaul_tracker::age(seconds) }
}

/// Returns a local date and time, to the second.
pub(crate) fn local_time(at: Millis) -> String {
    let offset = utc_offset_seconds(at);
    format!("{} {}", date_of(at, offset), time_of(at, offset))
}

/// Returns a time in UTC, as JSON has it.
pub(crate) fn utc_time(at: Millis) -> String {
    let time = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().to_string()
}

/// Cuts `text` to at most `columns`, with `…` where something is missing.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let Some(rest) = left.checked_sub(char_width(c)) else { break };
        left = rest;
        fitted.push(c);
    }
    if columns > 0 {
        fitted.push('…');
    }
    fitted
}

/// Breaks `text` into lines of at most `columns`. Nothing of it is left out.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut left = columns;
    for c in text.chars() {
        if char_width(c) > left && left < columns {
            lines.push(String::new());
            left = columns;
        }
        left = left.saturating_sub(char_width(c));
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    lines
}

/// Cuts a line to at most `columns`.
pub(crate) fn fit_line(line: &[Span], columns: usize) -> Vec<Span> {
    let mut left = columns;
    let mut fitted = Vec::new();
    for span in line {
        let text = fit(&span.text, left);
        let is_cut = text != span.text;
        left -= width(&text);
        fitted.push(Span { text, tone: span.tone });
        if is_cut {
            break;
        }
    }
    fitted
}

/// Returns the tone for a percentage of use.
pub(crate) fn level(percent: f64) -> Tone {
    match percent {
        90.0.. => Tone::Bad,
        70.0.. => Tone::Warn,
        _ => Tone::Good,
    }
}

/// Returns a bar of `cells`. A use above 0 fills at least one cell.
pub(crate) fn bar(percent: f64, cells: usize) -> [Span; 2] {
    let filled = (percent / 100.0 * cells as f64).round().clamp(0.0, cells as f64) as usize;
    let filled = if percent > 0.0 { filled.max(1).min(cells) } else { filled };
    [Span::new("█".repeat(filled), level(percent)), Span::new("░".repeat(cells - filled), Tone::Dim)]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    Yes,
    No,
}

/// Returns a line as text, with colours if they are wanted.
pub(crate) fn render(line: &[Span], colours: Colours) -> String {
    let text = |span: &Span| match (colours, code(span.tone)) {
        (Colours::Yes, Some(code)) if !span.text.is_empty() => format!("\u{1b}[{code}m{}\u{1b}[0m", span.text),
        (Colours::Yes | Colours::No, _) => span.text.clone(),
    };
    line.iter().map(text).collect()
}

fn code(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Dim => Some("2"),
        Tone::Bold => Some("1"),
        Tone::Good => Some("32"),
        Tone::Warn => Some("33"),
        Tone::Bad => Some("31"),
        Tone::Found => Some("1;33"),
    }
}

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

#[cfg(test)]
mod tests;
