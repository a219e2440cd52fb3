//! Finding Claude Code's input box on the screen: a prompt between two horizontal rules.

use crate::ansi::{Cell, Row};

/// The minimum length of a horizontal rule. Panes are wider than this.
const MIN_RULE: usize = 10;

/// The character between the prompt sign and the input. Dialogs have a plain space there.
const NO_BREAK_SPACE: char = '\u{a0}';

/// The input box, and the rows around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputBox<'a> {
    /// The rows above the upper rule.
    pub(crate) above: &'a [Row],
    /// The rows between the rules; at least one.
    pub(crate) inside: &'a [Row],
    /// The rows below the lower rule.
    pub(crate) below: &'a [Row],
    /// The prompt sign.
    pub(crate) prompt: Prompt,
}

/// The prompt sign of an input box, which shows where the input goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// `❯`: the input goes to the model.
    Model,
    /// `!`: the input goes to a shell.
    Shell,
}

impl<'a> InputBox<'a> {
    /// Returns the input box between the last two rules of the screen, or `None` where there is none.
    pub(crate) fn find(rows: &'a [Row]) -> Option<Self> {
        let lower = rows.iter().rposition(is_rule)?;
        let upper = rows[..lower].iter().rposition(is_rule)?;
        let inside = &rows[upper + 1..lower];
        let (first, more) = inside.split_first()?;
        let prompt = prompt(first)?;
        let indented = |row: &Row| row.is_blank() || row.text().starts_with("  ");
        more.iter().all(indented).then(|| Self { above: &rows[..upper], inside, below: &rows[lower + 1..], prompt })
    }

    /// Returns whether the cursor is in the box: the drawn one, or the terminal's in row `cursor_row`.
    pub(crate) fn has_cursor(&self, cursor_row: Option<usize>) -> bool {
        let first = self.above.len() + 1;
        let terminal = cursor_row.is_some_and(|row| (first..first + self.inside.len()).contains(&row));
        terminal || self.inside.iter().any(Row::has_cursor)
    }

    /// Returns the text in the box, or `None` where it is empty. Rows are joined by line breaks.
    ///
    /// A line that is wrapped cannot be distinguished from two lines.
    pub(crate) fn draft(&self) -> Option<String> {
        let lines: Vec<_> = self.inside.iter().map(|row| typed(row.cells.get(2..).unwrap_or_default())).collect();
        Some(lines.join("\n").trim_end().to_owned()).filter(|draft| !draft.is_empty())
    }
}

/// Returns the text of `cells` without a suggestion, which is dim text whose first letter may have the cursor.
fn typed(cells: &[Cell]) -> String {
    let suggested = |at: usize, cell: &Cell| {
        cell.style.dim || (cell.style.reverse && cells.get(at + 1).is_some_and(|next| next.style.dim))
    };
    let kept = cells.iter().enumerate().filter(|(at, cell)| !suggested(*at, cell));
    kept.map(|(_, cell)| cell.ch).collect::<String>().trim_end().to_owned()
}

/// Returns whether `row` is a horizontal rule that begins in the first column; it may contain a label.
fn is_rule(row: &Row) -> bool {
    let text = row.text();
    let label =
        text.trim_end().strip_prefix('─').and_then(|rest| rest.strip_suffix('─')).map(|rest| rest.trim_matches('─'));
    let dashes = text.chars().filter(|ch| *ch == '─').count();
    let framed = |label: &str| label.is_empty() || (label.starts_with(' ') && label.ends_with(' '));
    dashes >= MIN_RULE && label.is_some_and(framed)
}

fn prompt(row: &Row) -> Option<Prompt> {
    let prompt = match row.cells.first()?.ch {
        '❯' => Prompt::Model,
        '!' => Prompt::Shell,
        _ => return None,
    };
    let spaced = row.cells.get(1).is_none_or(|cell| matches!(cell.ch, ' ' | NO_BREAK_SPACE));
    (spaced && !is_option(row)).then_some(prompt)
}

/// Returns whether `row` is the selected one of numbered options: `❯ 1. Yes`.
///
/// A draft that begins with a number has a no-break space before it, and an earlier prompt has a background colour.
pub(crate) fn is_option(row: &Row) -> bool {
    let [pointer, space, rest @ ..] = row.content() else { return false };
    let label: String = rest.iter().map(|cell| cell.ch).collect();
    let after_number = label.trim_start().trim_start_matches(|ch: char| ch.is_ascii_digit());
    let numbered = after_number.len() < label.trim_start().len() && after_number.starts_with(['.', ')']);
    pointer.ch == '❯' && !pointer.style.background && space.ch == ' ' && numbered
}
