//! What the screen shows, line by line.

mod first_line;
mod footer;
mod list;

use longhaul_core::Millis;
use longhaul_view::{Areas, Mode, SessionRow, Tab, keys};
use ratatui::Frame;
use ratatui::style::Modifier;
use ratatui::text::Text;

use super::app::App;
use crate::cli::monitor;
use crate::cli::paint::{Span, Tone, fit, fit_line, harmless, width, wrap};
use crate::cli::terminal_lines::to_line;

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
    /// Draws it on a frame.
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

/// Composes the screen of `columns` × `lines`.
pub(crate) fn compose(app: &mut App, columns: usize, lines: usize, now: Millis) -> Drawing {
    let areas = Areas::of(lines, app.view.shown().count());
    let mut drawing = Drawing { page: areas.list, ..Drawing::default() };
    if areas.title > 0 {
        drawing.lines.push(first_line::first_line(app).into());
    }
    let room = lines - areas.title - areas.footer;
    let body = match app.view.mode() {
        Mode::Help => help(),
        Mode::Dialog { .. } => dialog(app, columns, room, &mut drawing),
        _ if app.view.tab() == Tab::Context => context(app, columns, room, now),
        Mode::List | Mode::Filter | Mode::Text { .. } | Mode::ConfirmContinue { .. } => {
            sessions(app, columns, areas, now)
        }
    };
    drawing.lines.extend(body);
    drawing.lines.truncate(lines - areas.footer);
    drawing.lines.resize_with(lines - areas.footer, ScreenLine::default);
    if areas.footer > 0 {
        let (line, cursor) = footer::footer(app, columns);
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
    let widest = keys().iter().map(|help| width(help.keys)).max().unwrap_or_default();
    let line = |keys: &str, about: &str| {
        let space = " ".repeat(widest - width(keys) + 2);
        vec![Span::new(format!(" {keys}{space}"), Tone::Bold), Span::new(about, Tone::Plain)].into()
    };
    keys().iter().map(|help| line(help.keys, help.about)).collect()
}

fn context(app: &App, columns: usize, room: usize, now: Millis) -> Vec<ScreenLine> {
    let frame = monitor::frame(&app.local.contexts, &app.local.limits, now, columns, Some(room));
    frame.lines.into_iter().map(ScreenLine::from).collect()
}

/// The list, and the preview of the chosen session below it.
fn sessions(app: &mut App, columns: usize, areas: Areas, now: Millis) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    let top = app.view.scrolled(areas.list);
    lines.extend(list::list(app, columns, areas, top, now.0 / 1000));
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
    let Some(preview) = app.preview.as_ref().filter(|preview| preview.id == row.id) else { return Vec::new() };
    let skipped = preview.rows.len().saturating_sub(room);
    preview.rows[skipped..].iter().map(|row| plain(fit(&harmless(row), columns))).collect()
}

/// The dialog in full, or the part of it that fits.
fn dialog(app: &App, columns: usize, room: usize, drawing: &mut Drawing) -> Vec<ScreenLine> {
    let (Mode::Dialog { id, reading }, Some(dialog)) = (app.view.mode(), &app.dialog) else { return Vec::new() };
    let name = app.view.row(id).map_or(id.session.as_str(), |row| row.project.as_str());
    let mut lines = vec![vec![Span::new(format!("{name} asks:"), Tone::Bold)].into()];
    // Room for the names, and for how much is missing.
    let room = room.saturating_sub(2);
    let wrapped: Vec<String> = dialog.seen.dialog.text().iter().flat_map(|row| wrap(&harmless(row), columns)).collect();
    let top = reading.top().min(wrapped.len().saturating_sub(room.max(1)));
    lines.extend(wrapped.iter().skip(top).take(room).map(plain));
    let below = wrapped.len().saturating_sub(top + room);
    if below > 0 {
        lines.push(vec![Span::new(format!("↓ {below} more"), Tone::Warn)].into());
    }
    drawing.dialog = Some((wrapped.len(), room));
    lines
}

#[cfg(test)]
mod tests;
