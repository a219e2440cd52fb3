//! The first line: the tabs, the number of sessions, how many of them wait for the user, and what is wrong.

use longhaul_view::Tab;

use crate::cli::paint::{Span, Tone, fit, harmless};
use crate::cli::view::app::App;

/// The width of the problems of all hosts together.
const PROBLEM_COLUMNS: usize = 72;

/// Returns the first line.
pub(super) fn first_line(app: &App) -> Vec<Span> {
    let (sessions, context) = match app.view.tab() {
        Tab::Sessions => ("[Sessions]", " Context "),
        Tab::Context => (" Sessions ", "[Context]"),
    };
    let tone = |is_on: bool| if is_on { Tone::Bold } else { Tone::Dim };
    let mut line = vec![
        Span::new(sessions, tone(app.view.tab() == Tab::Sessions)),
        Span::new(context, tone(app.view.tab() == Tab::Context)),
        Span::new("  ", Tone::Plain),
    ];
    let count = app.view.rows().len();
    let counted = if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") };
    line.push(Span::new(counted, Tone::Plain));
    let waiting = app.view.rows().iter().filter(|row| row.waits()).count();
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
