//! Lays out the status line.

use super::report::Report;
use crate::cli::limits;
use crate::cli::paint::{Span, Tone, bar, fit, fit_line, harmless, level, tokens};

/// The maximum width of the name of a model, a project or a branch.
const MAX_NAME: usize = 30;

const BAR_CELLS: usize = 10;

/// The columns that Claude Code leaves free beside the line.
const MARGIN: usize = 4;

/// What the line shows besides Claude Code's report.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineContext {
    pub(crate) branch: Option<String>,
    /// Bookmarks since the last prompt.
    pub(crate) bookmarks: u64,
    /// Turns of the session before, records of the memory, and passages added to prompts that the session was shown.
    pub(crate) shown: [u64; 3],
    /// In seconds since the epoch.
    pub(crate) now: u64,
    /// Whether the cost of the session is shown.
    pub(crate) shows_cost: bool,
}

/// Lays out the line. If it is too wide, what was shown is left out first, then the limits, the cost, the bookmarks, and the
/// project.
pub(crate) fn line(report: &Report, around: &LineContext, columns: Option<usize>) -> Vec<Span> {
    let most = columns.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN));
    let mut parts = [
        model(report),
        context(report),
        place(report, around),
        bookmarks(around),
        cost(report, around),
        limits(report, around),
        shown(around),
    ];
    for part in [6, 5, 4, 3, 2] {
        if total(&parts) > most {
            parts[part].clear();
        }
    }
    let [model, context, place, bookmarks, cost, limits, shown] = parts;
    let mut line: Vec<Span> = Vec::new();
    for part in [model, place, context, bookmarks, shown, cost, limits].into_iter().filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push(Span::new("  ", Tone::Plain));
        }
        line.extend(part);
    }
    if line.is_empty() {
        line.push(Span::new("longhaul", Tone::Dim));
    }
    fit_line(&line, most)
}

fn total(parts: &[Vec<Span>]) -> usize {
    let width = |part: &Vec<Span>| part.iter().map(Span::width).sum::<usize>();
    let widths = parts.iter().filter(|part| !part.is_empty()).map(width);
    widths.map(|width| width + 2).sum::<usize>().saturating_sub(2)
}

fn name(text: &str) -> String {
    fit(&harmless(text), MAX_NAME)
}

fn model(report: &Report) -> Vec<Span> {
    let model = report.model_name.as_ref().or(report.model.as_ref());
    model.map(|model| Span::new(name(model), Tone::Bold)).into_iter().collect()
}

fn place(report: &Report, around: &LineContext) -> Vec<Span> {
    let Some(dir) = &report.dir else { return Vec::new() };
    let project = dir.trim_end_matches('/').rsplit('/').next().filter(|project| !project.is_empty()).unwrap_or("/");
    let mut spans = vec![Span::new(name(project), Tone::Plain)];
    spans.extend(around.branch.as_ref().map(|branch| Span::new(format!(" ({})", name(branch)), Tone::Dim)));
    spans
}

fn context(report: &Report) -> Vec<Span> {
    let Some(percent) = report.percent() else {
        // Before the first reply, only the size is known.
        let window = report.window.map(|window| format!("{} left", tokens(window)));
        return window.map(|window| Span::new(window, Tone::Dim)).into_iter().collect();
    };
    let left = report.window.map(|window| {
        let used = report.used.unwrap_or((window as f64 * percent / 100.0) as u64);
        format!(" · {} left", tokens(window.saturating_sub(used)))
    });
    let [used, free] = bar(percent, BAR_CELLS);
    vec![
        used,
        free,
        Span::new(format!(" {percent:.0}%"), level(percent)),
        Span::new(left.unwrap_or_default(), Tone::Dim),
    ]
}

fn bookmarks(around: &LineContext) -> Vec<Span> {
    match around.bookmarks {
        0 => Vec::new(),
        count => vec![Span::new(format!("·{count}"), Tone::Dim)],
    }
}

fn shown(around: &LineContext) -> Vec<Span> {
    let counted = |count: u64, what: &str| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        (count > 0).then(|| longhaul_core::counted(count, what))
    };
    let [turns, records, passages] = around.shown;
    let began: Vec<String> = counted(turns, "turn").into_iter().chain(counted(records, "record")).collect();
    let began = (!began.is_empty()).then(|| format!("began with {}", began.join(" and ")));
    let recalled = counted(passages, "passage").map(|passages| format!("recalled {passages}"));
    let said: Vec<String> = began.into_iter().chain(recalled).collect();
    if said.is_empty() { Vec::new() } else { vec![Span::new(said.join(", "), Tone::Dim)] }
}

fn cost(report: &Report, around: &LineContext) -> Vec<Span> {
    let cost = report.cost.filter(|_| around.shows_cost);
    cost.map(|cost| Span::new(format!("${cost:.2}"), Tone::Dim)).into_iter().collect()
}

fn limits(report: &Report, around: &LineContext) -> Vec<Span> {
    limits::show(&report.limits, around.now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LineContext, line};
    use crate::cli::paint::{Colours, render, width};
    use crate::cli::statusline::report::Report;

    fn report() -> Report {
        let json = json!({
            "model": { "id": "claude-opus-5-5", "display_name": "Opus 5.5" },
            "workspace": { "current_dir": "/work/日本\u{1b}[31m語/" },
            "context_window": {
                "context_window_size": 200_000,
                "current_usage": { "input_tokens": 2_000, "cache_read_input_tokens": 140_000, "output_tokens": 9_999 },
            },
            "rate_limits": { "five_hour": { "used_percentage": 42, "resets_at": 90 } },
            "cost": { "total_cost_usd": 1.234 },
        });
        Report::read(json.to_string().as_bytes())
    }

    fn shown(columns: Option<usize>) -> String {
        shown_with(columns, false)
    }

    fn shown_with(columns: Option<usize>, shows_cost: bool) -> String {
        let around = LineContext {
            branch: Some("main\n".to_owned()),
            bookmarks: 3,
            now: 1,
            shows_cost,
            ..LineContext::default()
        };
        render(&line(&report(), &around, columns), Colours::No)
    }

    #[test]
    fn what_was_shown_stands_there_while_there_is_room() {
        let line = |shown: [u64; 3], columns: Option<usize>| {
            let around = LineContext { shown, ..LineContext::default() };
            render(&line(&report(), &around, columns), Colours::No)
        };
        assert!(
            line([12, 1, 0], None).contains("  began with 12 turns and 1 record  5h"),
            "{}",
            line([12, 1, 0], None)
        );
        assert!(line([0, 2, 1], None).contains("  began with 2 records, recalled 1 passage  "));
        assert!(line([0, 0, 2], None).contains("  recalled 2 passages  "));
        assert_eq!(line([12, 1, 2], Some(60)), line([0; 3], Some(60)));
    }

    #[test]
    fn everything_stands_in_one_harmless_line() {
        assert_eq!(shown(None), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3  5h 42%");
    }

    #[test]
    fn the_cost_is_shown_only_on_request_and_left_out_before_the_bookmarks() {
        let all = "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3  $1.23  5h 42%";
        assert_eq!(shown_with(None, true), all);
        assert_eq!(shown_with(Some(72), true), all.replace("  5h 42%", ""));
        assert_eq!(shown_with(Some(65), true), all.replace("  $1.23  5h 42%", ""));
    }

    #[test]
    fn a_narrow_terminal_gets_what_matters_most() {
        assert_eq!(shown(Some(65)), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left  ·3");
        assert_eq!(shown(Some(61)), "Opus 5.5  日本[31m語 (main)  ███████░░░ 71% · 58k left");
        assert_eq!(shown(Some(50)), "Opus 5.5  ███████░░░ 71% · 58k left");
        for columns in 0..80 {
            assert!(width(&shown(Some(columns))) <= columns, "{columns}: {}", shown(Some(columns)));
        }
    }

    #[test]
    fn without_a_report_it_is_short() {
        let plain = |report: &Report| render(&line(report, &LineContext::default(), None), Colours::No);
        assert_eq!(plain(&Report::default()), "longhaul");
        assert_eq!(plain(&Report { window: Some(1_000_000), ..Report::default() }), "1M left");
        assert_eq!(plain(&Report { used_percent: Some(95.0), ..Report::default() }), "██████████ 95%");
    }
}
