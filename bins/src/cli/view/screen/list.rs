//! The list of sessions, cell by cell with its colours. Which columns there are is in `view/src/layout.rs`.

use longhaul_core::Status;
use longhaul_view::{Areas, Column, Columns, SessionRow};

use super::{ScreenLine, dim};
use crate::cli::paint::{Span, Tone, bar, fit, harmless, level, width};
use crate::cli::view::app::App;

/// The sign before the chosen row, for terminals without reverse video.
const CHOSEN: &str = "> ";
const OTHERS: &str = "  ";

const BAR_CELLS: usize = 10;

/// The bar with ` 100%` after it.
const BAR_COLUMNS: usize = BAR_CELLS + 5;

/// Returns the header and the rows from `top` on.
pub(super) fn list(app: &App, columns: usize, areas: Areas, top: usize, now: u64) -> Vec<ScreenLine> {
    let shown: Vec<&SessionRow> = app.view.shown().collect();
    if shown.is_empty() {
        let why = match (app.view.rows().is_empty(), app.view.filter()) {
            (true, _) => "No sessions. A session appears when Claude Code starts with the plugin.".to_owned(),
            (false, filter) => format!("No session matches {filter:?}: Esc removes the filter."),
        };
        let mut lines = vec![dim(why)];
        lines.resize_with(areas.header + areas.list, ScreenLine::default);
        return lines;
    }
    let table = Table { app, now, columns: layout(app, &shown, columns.saturating_sub(OTHERS.len()), now) };
    let header = (areas.header > 0).then(|| table.header());
    let rows = shown.into_iter().skip(top).take(areas.list).map(|row| table.row(row));
    let mut lines: Vec<ScreenLine> = header.into_iter().chain(rows).collect();
    lines.resize_with(areas.header + areas.list, ScreenLine::default);
    lines
}

/// Returns the widths of the columns for these rows.
fn layout(app: &App, rows: &[&SessionRow], columns: usize, now: u64) -> Columns {
    let widest = |column: Column| {
        let cell = |row: &&SessionRow| width(&text(app, row, column, now));
        let most = rows.iter().map(cell).max().unwrap_or_default();
        match column {
            Column::Context if most > 0 => BAR_COLUMNS,
            // It takes what is left, also if it is empty.
            Column::About => most.max(1),
            _ => most,
        }
    };
    Columns::of(columns, widest)
}

/// Returns the text of a cell.
fn text(app: &App, row: &SessionRow, column: Column, now: u64) -> String {
    let text = match column {
        Column::Number => row.number.map(|number| number.to_string()).unwrap_or_default(),
        Column::State => format!("{} {}", icon(app, row.status), row.status),
        Column::Host => row.id.host.clone().unwrap_or_default(),
        Column::Project => {
            let notes: String = row.notes.iter().map(|note| format!(" ({note})")).collect();
            format!("{}{notes}", row.project)
        }
        Column::Branch => row.branch.clone().unwrap_or_default(),
        Column::Age => row.age(now),
        Column::Context => row.context_percent.map(|percent| format!("{:.0}%", percent.min(999.0))).unwrap_or_default(),
        Column::Cost => row.cost.clone().unwrap_or_default(),
        Column::About => row.about().to_owned(),
    };
    harmless(&text)
}

fn icon(app: &App, status: Status) -> &str {
    let at = Status::ALL.iter().position(|known| *known == status).unwrap_or_default();
    app.local.icons.get(at).map_or("", String::as_str)
}

struct Table<'a> {
    app: &'a App,
    now: u64,
    columns: Columns,
}

impl Table<'_> {
    fn header(&self) -> ScreenLine {
        let cells = self.columns.iter().map(|(column, columns)| {
            vec![padded(column, fit(column.name_within(columns), columns), columns, Tone::Dim)]
        });
        joined(OTHERS, cells).into()
    }

    fn row(&self, row: &SessionRow) -> ScreenLine {
        let is_chosen = self.app.view.chosen().is_some_and(|chosen| chosen.id == row.id);
        let mark = if is_chosen { CHOSEN } else { OTHERS };
        let cells = self.columns.iter().map(|(column, columns)| self.cell(row, column, columns));
        ScreenLine { spans: joined(mark, cells), is_chosen }
    }

    fn cell(&self, row: &SessionRow, column: Column, columns: usize) -> Vec<Span> {
        let whole = text(self.app, row, column, self.now);
        match column {
            Column::Context if columns == BAR_COLUMNS => {
                let percent = row.context_percent;
                let [used, left] = bar(percent.unwrap_or_default(), BAR_CELLS);
                vec![used, left, Span::new(format!(" {whole:>4}"), percent.map_or(Tone::Dim, level))]
            }
            Column::Context => {
                vec![padded(column, fit(&whole, columns), columns, row.context_percent.map_or(Tone::Dim, level))]
            }
            Column::State => {
                let short = if columns < width(&whole) { icon(self.app, row.status).to_owned() } else { whole };
                vec![padded(column, fit(&short, columns), columns, tone(row.status))]
            }
            Column::Branch | Column::Age => vec![padded(column, fit(&whole, columns), columns, Tone::Dim)],
            Column::Number | Column::Host | Column::Project | Column::Cost | Column::About => {
                vec![padded(column, fit(&whole, columns), columns, Tone::Plain)]
            }
        }
    }
}

fn tone(status: Status) -> Tone {
    match status {
        Status::Blocked => Tone::Bad,
        Status::Completed => Tone::Good,
        Status::Working => Tone::Warn,
        Status::Idle => Tone::Dim,
    }
}

fn padded(column: Column, text: String, columns: usize, tone: Tone) -> Span {
    let space = " ".repeat(columns.saturating_sub(width(&text)));
    let text = if column.is_number() { space + &text } else { text + &space };
    Span { text, tone }
}

fn joined(mark: &str, cells: impl Iterator<Item = Vec<Span>>) -> Vec<Span> {
    let mut line = vec![Span::new(mark, Tone::Bold)];
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            line.push(Span::new(" ", Tone::Plain));
        }
        line.extend(cell);
    }
    line
}
