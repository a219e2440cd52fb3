//! Text for a terminal: measures, cuts and colours it, and removes control characters. Also from which percentage on a use
//! of the context or of a rate limit is yellow or red (`level`), in the status line, the monitor and the view.

pub(crate) use longhaul_core::text::round_tokens as tokens;

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

    /// Returns the number of columns that it takes.
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

/// Whether a line is coloured.
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
mod tests {
    use super::{Colours, Span, Tone, bar, columns, fit, fit_line, harmless, render, tokens, width, wrap};

    #[test]
    fn escape_codes_and_bidi_marks_are_left_out() {
        assert_eq!(harmless("a\u{1b}[31m\u{9b}31m\r\nb\u{202e}c\u{200d}\u{fe0f}\u{7}"), "a[31m31mbc");
    }

    #[test]
    fn text_is_cut_by_columns_not_by_characters() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…", "half of a character is none");
        assert_eq!(fit("abc", 1), "…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(fit("e\u{301}tude", 5), "e\u{301}tude");
        assert_eq!(wrap("日本語abc", 4), ["日本", "語ab", "c"]);
        assert_eq!(wrap("日本", 3), ["日", "本"]);
        assert_eq!(wrap("", 4), [""]);
        let line = [Span::new("ab", Tone::Bold), Span::new("語語", Tone::Plain), Span::new("x", Tone::Plain)];
        assert_eq!(render(&fit_line(&line, 5), Colours::No), "ab語…");
        assert_eq!(render(&fit_line(&line, 7), Colours::Yes), "\u{1b}[1mab\u{1b}[0m語語x");
    }

    #[test]
    fn a_table_is_laid_out_by_columns_not_by_characters() {
        let rows = [["NAME", "AGE", "LAST"], ["日本", "5s", ""], ["e\u{301}", "12m", "語"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows, &[1]), ["NAME  AGE  LAST", "日本   5s", "e\u{301}     12m  語"]);
        assert!(columns::<2>(&[], &[]).is_empty());
    }

    #[test]
    fn a_bar_is_as_long_as_it_is_and_changes_its_tone() {
        for (percent, filled, tone) in [
            (0.0, 0, Tone::Good),
            (0.1, 1, Tone::Good),
            (50.0, 10, Tone::Good),
            (69.9, 14, Tone::Good),
            (70.0, 14, Tone::Warn),
            (90.0, 18, Tone::Bad),
            (250.0, 20, Tone::Bad),
        ] {
            let [used, left] = bar(percent, 20);
            assert_eq!((used.width(), left.width(), used.tone), (filled, 20 - filled, tone), "{percent}");
        }
    }

    #[test]
    fn tokens_are_rounded() {
        let shown: Vec<String> = [0, 999, 1_000, 142_499, 999_499, 999_500, 1_250_000].map(tokens).into();
        assert_eq!(shown, ["0", "999", "1k", "142k", "999k", "1M", "1.2M"]);
        assert_eq!(width("█░…"), 3);
    }
}
