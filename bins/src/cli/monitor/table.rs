//! Lays out the table in columns that fit the terminal.

use longhaul_core::{Millis, counted, short_session};

use super::{Row, State};
use crate::cli::paint::{Span, Tone, age, bar, fit, fit_line, harmless, level, tokens};
use crate::cli::rate_limits::{self, RateLimit};

const BAR_CELLS: usize = 20;

/// The percentage after the bar, ` 100%`.
const PERCENT_COLUMNS: usize = 5;

const HEADERS: [&str; 8] = ["PROJECT", "ID", "AGE", "CONTEXT", "USED", "LEFT", "MODEL", "WARNINGS"];

/// The place of the column with the bar.
const CONTEXT: usize = 3;

/// The columns that can shrink in a narrow terminal, with their minimum widths.
const ELASTIC: [(usize, usize); 3] = [(0, 7), (6, 8), (7, 8)];

/// Lays the rows out in `columns`, and in at most `lines`.
pub(crate) fn frame(
    rows: &[Row],
    limits: &[RateLimit],
    now: Millis,
    columns: usize,
    lines: Option<usize>,
) -> Vec<Vec<Span>> {
    let mut all = vec![title(rows, limits, now)];
    if rows.is_empty() {
        all.push(vec![Span::new(
            "A session appears when Claude Code starts with the plugin; --all shows those of the last week.",
            Tone::Dim,
        )]);
    } else {
        let header = HEADERS.map(|text| vec![Span::new(text, Tone::Dim)]);
        let gap = if columns < 100 { 1 } else { 2 };
        let table = |bar: usize| -> Vec<Cells> {
            std::iter::once(header.clone()).chain(rows.iter().map(|row| cells(row, now, bar))).collect()
        };
        let mut cells = table(BAR_CELLS);
        let mut widths = widths(&cells, columns, gap);
        let missing = (widths.iter().sum::<usize>() + gap * (widths.len() - 1)).saturating_sub(columns);
        if missing > 0 {
            // In a narrow terminal the percentage says more than the bar.
            let bar = BAR_CELLS.saturating_sub(missing);
            cells = table(bar);
            widths[CONTEXT] = bar + PERCENT_COLUMNS;
        }
        all.extend(cells.iter().map(|cells| line(cells, &widths, gap)));
    }
    if let Some(most) = lines.filter(|most| all.len() > *most) {
        // One line says how many are missing.
        let kept = most.saturating_sub(1);
        let missing = all.len() - kept;
        all.truncate(kept);
        all.push(vec![Span::new(format!("… and {missing} more"), Tone::Dim)]);
        all.truncate(most);
    }
    all.iter().map(|line| fit_line(line, columns)).collect()
}

fn title(rows: &[Row], limits: &[RateLimit], now: Millis) -> Vec<Span> {
    let count = if rows.is_empty() { "No sessions".to_owned() } else { counted(rows.len(), "session") };
    let mut line = vec![Span::new(count, Tone::Bold)];
    let limits = rate_limits::show(limits, now.0 / 1000);
    if !limits.is_empty() {
        line.push(Span::new("  ", Tone::Plain));
        line.extend(limits);
    }
    line
}

type Cells = [Vec<Span>; 8];

fn cells(row: &Row, now: Millis, bar_cells: usize) -> Cells {
    let plain = |text: &str| vec![Span::new(text, Tone::Plain)];
    let count = |count: Option<u64>| plain(&count.map_or("-".to_owned(), tokens));
    let age = age(now.since(row.last_heard) / 1000);
    let percent = row.percent();
    let [used, left] = bar(percent.unwrap_or_default(), bar_cells);
    let shown = percent.map_or("-".to_owned(), |percent| format!("{:.0}%", percent.min(999.0)));
    let bar = vec![used, left, Span::new(format!(" {shown:>4}"), percent.map_or(Tone::Dim, level))];
    let model = row.model.as_deref().map_or("-", short_model);
    let tone = match (percent.map(level), row.state) {
        (Some(tone @ (Tone::Warn | Tone::Bad)), _) => tone,
        (_, State::Ended) => Tone::Dim,
        (_, State::Alive(_)) => Tone::Plain,
    };
    let warnings = vec![Span::new(row.warnings().join(", "), tone)];
    [
        plain(&row.project),
        plain(short_session(&row.session)),
        plain(&age),
        bar,
        count(row.used),
        count(row.remaining()),
        plain(model),
        warnings,
    ]
}

/// Returns the name of a model without its vendor and date.
fn short_model(id: &str) -> &str {
    let id = id.strip_prefix("claude-").unwrap_or(id);
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    id.rsplit_once('-').filter(|(_, end)| is_date(end)).map_or(id, |(start, _)| start)
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(Span::width).sum()
}

/// Returns the width of each column: that of its content, with the widest column shrunk first if the total is too wide.
fn widths(rows: &[Cells], columns: usize, gap: usize) -> [usize; 8] {
    let mut widths: [usize; 8] =
        std::array::from_fn(|at| rows.iter().map(|cells| cell_width(&cells[at])).max().unwrap_or(0));
    widths[CONTEXT] = BAR_CELLS + PERCENT_COLUMNS;
    let total = |widths: &[usize; 8]| widths.iter().sum::<usize>() + gap * (widths.len() - 1);
    while total(&widths) > columns {
        let elastic = ELASTIC.iter().filter(|(at, least)| widths[*at] > *least);
        let Some((widest, _)) = elastic.max_by_key(|(at, _)| widths[*at]) else { break };
        widths[*widest] -= 1;
    }
    widths
}

/// Lays out a row. Numbers and the age are aligned to the right.
fn line(cells: &Cells, widths: &[usize; 8], gap: usize) -> Vec<Span> {
    let mut line = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let cell: Vec<Span> = match cell.as_slice() {
            [only] => vec![Span { text: fit(&harmless(&only.text), widths[at]), tone: only.tone }],
            several => several.to_vec(),
        };
        let space = |columns: usize| Span::new(" ".repeat(columns), Tone::Plain);
        let padding = space(widths[at].saturating_sub(cell_width(&cell)));
        line.extend((at > 0).then(|| space(gap)));
        let is_number = matches!(at, 2 | 4 | 5);
        line.extend(if is_number { [vec![padding], cell] } else { [cell, vec![padding]] }.concat());
    }
    line
}

#[cfg(test)]
mod tests;
