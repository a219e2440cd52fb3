//! The last line: a message, a text that is typed, or the keys.

use longhaul_view::{Mode, RowId, Tab, TextFor};

use crate::cli::paint::{Span, Tone, harmless, width};
use crate::cli::view::app::App;

/// Returns the last line, and the column of the cursor if text is typed in it.
pub(super) fn footer(app: &App, columns: usize) -> (Vec<Span>, Option<usize>) {
    if let Some(message) = app.view.message() {
        return (vec![Span::new(message, Tone::Warn)], None);
    }
    let name = |id: &RowId| app.view.row(id).map_or_else(|| id.session.clone(), |row| harmless(&row.project));
    match app.view.mode() {
        Mode::List => (vec![Span::new(keys(app), Tone::Dim)], None),
        Mode::Filter => typed("/", app.view.filter(), columns),
        Mode::Text { about: TextFor::Prompt, id, text } => {
            typed(&format!("Prompt for {}: ", name(id)), text.as_str(), columns)
        }
        Mode::Text { about: TextFor::Bookmark, id, text } => {
            typed(&format!("Bookmark in {}, note: ", name(id)), text.as_str(), columns)
        }
        Mode::Dialog { .. } => (vec![Span::new("y yes  n no  Esc back  ↑↓ scroll  Enter go there", Tone::Dim)], None),
        Mode::ConfirmContinue { id } => {
            let question = format!("Continue {} in a new session? /clear is typed. y yes, any other key no", name(id));
            (vec![Span::new(question, Tone::Warn)], None)
        }
        Mode::Help => (vec![Span::new("Any key goes back", Tone::Dim)], None),
    }
}

fn keys(app: &App) -> String {
    let filter = app.view.filter();
    match (app.view.tab(), filter) {
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
    let label = crate::cli::paint::fit(label, columns / 2);
    let room = columns.saturating_sub(width(&label) + 1);
    let mut shown = harmless(text);
    while width(&shown) > room {
        shown.remove(0);
    }
    let cursor = width(&label) + width(&shown);
    (vec![Span::new(label, Tone::Bold), Span::new(shown, Tone::Plain)], Some(cursor))
}
