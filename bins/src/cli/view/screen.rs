//! What the screen shows, line by line.

use longhaul_core::{Millis, Status, counted};
use ratatui::Frame;
use ratatui::style::Modifier;
use ratatui::text::Text;

use super::app::App;
use super::layout::{Areas, Column, Columns};
use super::rows::{RowId, SessionRow};
use super::state::{KEYS, Mode, Tab, TextFor};
use crate::cli::monitor;
use crate::cli::paint::{Span, Tone, bar, fit, fit_line, harmless, level, to_line, width, wrap};

/// A screen that is ready to be drawn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawing {
    lines: Vec<ScreenLine>,
    /// The column of the cursor in the last line, if text is typed there.
    cursor: Option<usize>,
    /// The number of rows of the list that fit on the screen.
    pub(crate) page: usize,
    /// The number of lines of the dialog, and of those that fit on the screen.
    pub(crate) dialog: Option<(usize, usize)>,
}

/// A line, and whether it is the chosen one.
#[derive(Debug, Default, PartialEq, Eq)]
struct ScreenLine {
    spans: Vec<Span>,
    is_chosen: bool,
}

impl From<Vec<Span>> for ScreenLine {
    fn from(spans: Vec<Span>) -> Self {
        Self { spans, is_chosen: false }
    }
}

impl Drawing {
    pub(crate) fn render(&self, frame: &mut Frame<'_>, no_color: bool) {
        let line = |line: &ScreenLine| {
            let drawn = to_line(&line.spans, no_color);
            // Reverse video is no colour.
            if line.is_chosen { drawn.style(Modifier::REVERSED) } else { drawn }
        };
        let text = Text::from(self.lines.iter().map(line).collect::<Vec<_>>());
        let area = frame.area();
        frame.render_widget(text, area);
        if let Some(column) = self.cursor {
            frame.set_cursor_position((column as u16, area.height.saturating_sub(1)));
        }
    }
}

pub(crate) fn compose(app: &mut App, columns: usize, lines: usize, now: Millis) -> Drawing {
    let areas = Areas::of(lines, app.view.shown().count());
    let mut drawing = Drawing { page: areas.list, ..Drawing::default() };
    if areas.title > 0 {
        drawing.lines.push(first_line(app).into());
    }
    let room = lines - areas.title - areas.footer;
    let body = match app.view.mode {
        Mode::Help => help(),
        Mode::Dialog { .. } => dialog(app, columns, room, &mut drawing),
        _ if app.view.tab == Tab::Context => context(app, columns, room, now),
        Mode::List | Mode::Filter | Mode::Text { .. } | Mode::ConfirmContinue { .. } => {
            sessions(app, columns, areas, now)
        }
    };
    drawing.lines.extend(body);
    drawing.lines.truncate(lines - areas.footer);
    drawing.lines.resize_with(lines - areas.footer, ScreenLine::default);
    if areas.footer > 0 {
        let (line, cursor) = footer(app, columns);
        drawing.lines.push(line.into());
        drawing.cursor = cursor;
    }
    for line in &mut drawing.lines {
        line.spans = fit_line(&line.spans, columns);
        if line.is_chosen {
            let used: usize = line.spans.iter().map(Span::width).sum();
            line.spans.push(Span::new(" ".repeat(columns.saturating_sub(used)), Tone::Plain));
        }
    }
    drawing
}

fn plain(text: impl AsRef<str>) -> ScreenLine {
    vec![Span::new(text, Tone::Plain)].into()
}

fn dim(text: impl AsRef<str>) -> ScreenLine {
    vec![Span::new(text, Tone::Dim)].into()
}

fn help() -> Vec<ScreenLine> {
    let widest = KEYS.iter().map(|(keys, _)| width(keys)).max().unwrap_or_default();
    let line = |(keys, about): &(&str, &str)| {
        let space = " ".repeat(widest - width(keys) + 2);
        vec![Span::new(format!(" {keys}{space}"), Tone::Bold), Span::new(about, Tone::Plain)].into()
    };
    KEYS.iter().map(line).collect()
}

fn context(app: &App, columns: usize, room: usize, now: Millis) -> Vec<ScreenLine> {
    let lines = monitor::frame(&app.local.contexts, &app.local.limits, now, columns, Some(room));
    lines.into_iter().map(ScreenLine::from).collect()
}

/// The list, and the preview of the chosen session below it.
fn sessions(app: &mut App, columns: usize, areas: Areas, now: Millis) -> Vec<ScreenLine> {
    let top = app.view.scrolled(areas.list);
    let mut lines = list(app, columns, areas, top, now.0 / 1000);
    if areas.rule > 0 {
        lines.push(rule(app.view.chosen(), columns).into());
        lines.extend(preview(app, columns, areas.preview));
    }
    lines
}

/// The line above the preview, with the name of the session.
fn rule(row: Option<&SessionRow>, columns: usize) -> Vec<Span> {
    let name = row.map(|row| {
        let parts = [row.id.host.as_deref(), Some(&row.project), row.branch.as_deref(), row.place.as_deref()];
        let about = Some(row.about()).filter(|about| !about.is_empty());
        harmless(&parts.into_iter().flatten().chain(about).collect::<Vec<_>>().join(" · "))
    });
    let name = name.map(|name| format!(" {} ", fit(&name, columns.saturating_sub(6)))).unwrap_or_default();
    let rest = columns.saturating_sub(2 + width(&name));
    vec![Span::new("──", Tone::Dim), Span::new(name, Tone::Bold), Span::new("─".repeat(rest), Tone::Dim)]
}

fn preview(app: &App, columns: usize, room: usize) -> Vec<ScreenLine> {
    let Some(row) = app.view.chosen() else { return Vec::new() };
    if let Some(host) = &row.id.host {
        return vec![dim(format!("Runs on {host}: Enter goes there."))];
    }
    let Some((_, rows)) = app.preview.as_ref().filter(|(id, _)| *id == row.id) else { return Vec::new() };
    let skipped = rows.len().saturating_sub(room);
    rows[skipped..].iter().map(|row| plain(fit(&harmless(row), columns))).collect()
}

/// The dialog in full, or the part of it that fits.
fn dialog(app: &App, columns: usize, room: usize, drawing: &mut Drawing) -> Vec<ScreenLine> {
    let (Mode::Dialog { id, reading }, Some(dialog)) = (&app.view.mode, &app.dialog) else { return Vec::new() };
    let name = app.view.row(id).map_or(id.session.as_str(), |row| row.project.as_str());
    let mut lines = vec![vec![Span::new(format!("{name} asks:"), Tone::Bold)].into()];
    // Room for the names, and for how much is missing.
    let room = room.saturating_sub(2);
    let wrapped: Vec<String> = dialog.seen.dialog.text().iter().flat_map(|row| wrap(&harmless(row), columns)).collect();
    let top = reading.top.min(wrapped.len().saturating_sub(room.max(1)));
    lines.extend(wrapped.iter().skip(top).take(room).map(plain));
    let below = wrapped.len().saturating_sub(top + room);
    if below > 0 {
        lines.push(vec![Span::new(format!("↓ {below} more"), Tone::Warn)].into());
    }
    drawing.dialog = Some((wrapped.len(), room));
    lines
}

/// The width of the problems of all hosts together.
const PROBLEM_COLUMNS: usize = 72;

fn first_line(app: &App) -> Vec<Span> {
    let (sessions, context) = match app.view.tab {
        Tab::Sessions => ("[Sessions]", " Context "),
        Tab::Context => (" Sessions ", "[Context]"),
    };
    let tone = |is_on: bool| if is_on { Tone::Bold } else { Tone::Dim };
    let mut line = vec![
        Span::new(sessions, tone(app.view.tab == Tab::Sessions)),
        Span::new(context, tone(app.view.tab == Tab::Context)),
        Span::new("  ", Tone::Plain),
    ];
    line.push(Span::new(counted(app.view.rows.len(), "session"), Tone::Plain));
    let waiting = app.view.rows.iter().filter(|row| row.waits()).count();
    if waiting > 0 {
        line.push(Span::new(format!(", {waiting} waiting for you"), Tone::Warn));
    }
    let problems: Vec<(&String, &String)> =
        app.hosts.values().filter_map(|host| Some((&host.name, host.problem.as_ref()?))).collect();
    let columns = PROBLEM_COLUMNS / problems.len().max(1);
    for (name, problem) in problems {
        line.push(Span::new(format!("  {name}: {}", fit(&harmless(problem), columns)), Tone::Bad));
    }
    line.extend(app.local.problem.iter().map(|problem| Span::new(format!("  {problem}"), Tone::Bad)));
    line
}

/// Returns the last line, and the column of the cursor if text is typed in it.
fn footer(app: &App, columns: usize) -> (Vec<Span>, Option<usize>) {
    if let Some(message) = &app.view.message {
        return (vec![Span::new(message, Tone::Warn)], None);
    }
    let name = |id: &RowId| app.view.row(id).map_or_else(|| id.session.clone(), |row| harmless(&row.project));
    match &app.view.mode {
        Mode::List => (vec![Span::new(shown_keys(app), Tone::Dim)], None),
        Mode::Filter => typed("/", app.view.filter.as_str(), columns),
        Mode::Text { about: TextFor::Prompt, id, text } => typed(&format!("Prompt for {}: ", name(id)), text, columns),
        Mode::Text { about: TextFor::Bookmark, id, text } => {
            typed(&format!("Bookmark in {}, note: ", name(id)), text, columns)
        }
        Mode::Dialog { .. } => (vec![Span::new("y yes  n no  Esc back  ↑↓ scroll  Enter go there", Tone::Dim)], None),
        Mode::ConfirmContinue { id } => {
            let question = format!("Continue {} in a new session? /clear is typed. y yes, any other key no", name(id));
            (vec![Span::new(question, Tone::Warn)], None)
        }
        Mode::Help => (vec![Span::new("Any key goes back", Tone::Dim)], None),
    }
}

fn shown_keys(app: &App) -> String {
    let filter = app.view.filter.as_str();
    match (app.view.tab, filter) {
        (Tab::Context, _) => "Tab sessions  ? help  q quit".to_owned(),
        (Tab::Sessions, "") => {
            "Enter go  p prompt  y/n answer  / filter  ? help  q quit  b bookmark  c continue  Tab context".to_owned()
        }
        (Tab::Sessions, filter) => format!("Filter: {filter}  (Esc removes it)"),
    }
}

/// Shows the end of a text that is longer than the line.
fn typed(label: &str, text: &str, columns: usize) -> (Vec<Span>, Option<usize>) {
    // A long name leaves room for the text.
    let label = fit(label, columns / 2);
    let room = columns.saturating_sub(width(&label) + 1);
    let mut shown = harmless(text);
    while width(&shown) > room {
        shown.remove(0);
    }
    let cursor = width(&label) + width(&shown);
    (vec![Span::new(label, Tone::Bold), Span::new(shown, Tone::Plain)], Some(cursor))
}

/// The sign before the chosen row, for terminals without reverse video.
const CHOSEN: &str = "> ";
const OTHERS: &str = "  ";

const BAR_CELLS: usize = 10;

/// The bar with ` 100%` after it.
const BAR_COLUMNS: usize = BAR_CELLS + 5;

/// Returns the header and the rows from `top` on.
fn list(app: &App, columns: usize, areas: Areas, top: usize, now: u64) -> Vec<ScreenLine> {
    let shown: Vec<&SessionRow> = app.view.shown().collect();
    if shown.is_empty() {
        let why = match (app.view.rows.is_empty(), app.view.filter.as_str()) {
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
        let of_use = row.context_percent.map_or(Tone::Dim, level);
        let (shown, tone) = match column {
            Column::Context if columns == BAR_COLUMNS => {
                let [used, left] = bar(row.context_percent.unwrap_or_default(), BAR_CELLS);
                return vec![used, left, Span::new(format!(" {whole:>4}"), of_use)];
            }
            Column::Context => (whole, of_use),
            Column::State if columns < width(&whole) => (icon(self.app, row.status).to_owned(), tone(row.status)),
            Column::State => (whole, tone(row.status)),
            Column::Branch | Column::Age => (whole, Tone::Dim),
            Column::Number | Column::Host | Column::Project | Column::Cost | Column::About => (whole, Tone::Plain),
        };
        vec![padded(column, fit(&shown, columns), columns, tone)]
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
    let text = if column.layout().is_number { space + &text } else { text + &space };
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

#[cfg(test)]
mod tests;
