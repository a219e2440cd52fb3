//! The client's input: a prompt between two horizontal rules.

use crate::ansi::{Cell, Row};

/// The shortest rule that counts as one; panes are wider.
const MIN_RULE: usize = 10;

/// What the client puts between the prompt sign and the input, where its dialogs put a plain space.
const NO_BREAK_SPACE: char = '\u{a0}';

/// The input box, as a part of the screen's rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputBox<'a> {
    /// The rows above its upper rule.
    pub(crate) above: &'a [Row],
    /// The rows between its rules, of which there is at least one.
    pub(crate) inside: &'a [Row],
    /// The rows below its lower rule.
    pub(crate) below: &'a [Row],
    /// What its prompt sign says.
    pub(crate) prompt: Prompt,
}

/// What is done with the input when it is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// `❯`: it goes to the model.
    Model,
    /// `!`: it goes to a shell.
    Shell,
}

impl<'a> InputBox<'a> {
    /// Returns the box between the last two rules of the screen, or `None` where there is none or it is something else.
    pub(crate) fn find(rows: &'a [Row]) -> Option<Self> {
        let lower = rows.iter().rposition(is_rule)?;
        let upper = rows[..lower].iter().rposition(is_rule)?;
        let inside = &rows[upper + 1..lower];
        let (first, more) = inside.split_first()?;
        let prompt = prompt(first)?;
        let indented = |row: &Row| row.is_blank() || row.text().starts_with("  ");
        more.iter().all(indented).then(|| Self { above: &rows[..upper], inside, below: &rows[lower + 1..], prompt })
    }

    /// Returns whether the box has the cursor: its own, or the terminal's at row `cursor_row`.
    pub(crate) fn has_cursor(&self, cursor_row: Option<usize>) -> bool {
        let first = self.above.len() + 1;
        let terminal = cursor_row.is_some_and(|row| (first..first + self.inside.len()).contains(&row));
        terminal || self.inside.iter().any(Row::has_cursor)
    }

    /// Returns what has been typed, or `None` where that is nothing; rows are joined by line breaks.
    ///
    /// A wrapped line and two lines look the same.
    pub(crate) fn draft(&self) -> Option<String> {
        let lines: Vec<_> = self.inside.iter().map(|row| typed(row.cells.get(2..).unwrap_or_default())).collect();
        Some(lines.join("\n").trim_end().to_owned()).filter(|draft| !draft.is_empty())
    }
}

/// Returns the text of `cells` without what the client suggests: a dim text, on whose first letter the cursor may stand.
fn typed(cells: &[Cell]) -> String {
    let suggested = |at: usize, cell: &Cell| {
        cell.style.dim || (cell.style.reverse && cells.get(at + 1).is_some_and(|next| next.style.dim))
    };
    let kept = cells.iter().enumerate().filter(|(at, cell)| !suggested(*at, cell));
    kept.map(|(_, cell)| cell.ch).collect::<String>().trim_end().to_owned()
}

/// Returns whether `row` is a horizontal rule from the first column on, perhaps with a label in it.
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

/// Returns whether `row` is the chosen one of numbered options: `❯ 1. Yes`.
///
/// A draft that begins with a number has the no-break space; an earlier prompt that does has a background.
pub(crate) fn is_option(row: &Row) -> bool {
    let [pointer, space, rest @ ..] = row.content() else { return false };
    let label: String = rest.iter().map(|cell| cell.ch).collect();
    let after_number = label.trim_start().trim_start_matches(|ch: char| ch.is_ascii_digit());
    let numbered = after_number.len() < label.trim_start().len() && after_number.starts_with(['.', ')']);
    pointer.ch == '❯' && !pointer.style.background && space.ch == ' ' && numbered
}
