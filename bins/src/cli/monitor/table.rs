//! Lays out the table in columns that fit the terminal.

use longhaul_core::{Millis, short_session};
use longhaul_tracker::age;

use super::{Row, State};
use crate::cli::paint::{Span, Tone, bar, fit, fit_line, harmless, level, tokens};
use crate::cli::rate_limits::{self, RateLimit};

const BAR_CELLS: usize = 20;

/// The percentage after the bar, ` 100%`.
const PERCENT_COLUMNS: usize = 5;

const HEADERS: [&str; 8] = ["PROJECT", "ID", "AGE", "CONTEXT", "USED", "LEFT", "MODEL", "WARNINGS"];

/// The place of the column with the bar.
const CONTEXT: usize = 3;

/// The columns that can shrink in a narrow terminal, with their minimum widths.
const ELASTIC: [(usize, usize); 3] = [(0, 7), (6, 8), (7, 8)];

/// Lines that fit the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Vec<Span>>,
}

/// Lays the rows out in `columns`, and in at most `lines`.
pub(crate) fn frame(rows: &[Row], limits: &[RateLimit], now: Millis, columns: usize, lines: Option<usize>) -> Frame {
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
    Frame { lines: all.iter().map(|line| fit_line(line, columns)).collect() }
}

fn title(rows: &[Row], limits: &[RateLimit], now: Millis) -> Vec<Span> {
    let count = match rows.len() {
        0 => "No sessions".to_owned(),
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
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
    let seconds = now.since(row.last_heard) / 1000;
    let age = if seconds < 60 { format!("{seconds}s") } else { age(seconds) };
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
        let is_number = matches!(at, 2 | 4 | 5);
        let cell: Vec<Span> = match cell.as_slice() {
            [only] => vec![Span { text: fit(&harmless(&only.text), widths[at]), tone: only.tone }],
            several => several.to_vec(),
        };
        let padding = Span::new(" ".repeat(widths[at].saturating_sub(cell_width(&cell))), Tone::Plain);
        if at > 0 {
            line.push(Span::new(" ".repeat(gap), Tone::Plain));
        }
        if is_number {
            line.push(padding);
            line.extend(cell);
        } else {
            line.extend(cell);
            line.push(padding);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use longhaul_core::{Millis, Status};
    use longhaul_transcript::WindowSource;

    use super::{cell_width, frame};
    use crate::cli::monitor::{Row, State};
    use crate::cli::paint::{Colours, Tone, render};
    use crate::cli::rate_limits::RateLimit;

    const NOW: Millis = Millis(1_000_000);

    fn row(project: &str, used: Option<u64>) -> Row {
        Row {
            session: "890a2a53-aaaa".to_owned(),
            project: project.to_owned(),
            cwd: None,
            state: State::Alive(Status::Working),
            reason: None,
            started_at: None,
            last_heard: Millis(NOW.0 - 42_000),
            model: Some("claude-sonnet-4-5-20250929".to_owned()),
            used,
            window: 200_000,
            window_from: WindowSource::ModelTable,
        }
    }

    fn shown(rows: &[Row], columns: usize, lines: Option<usize>) -> String {
        let frame = frame(rows, &[], NOW, columns, lines);
        let lines: Vec<String> =
            frame.lines.iter().map(|line| render(line, Colours::No).trim_end().to_owned()).collect();
        lines.join("\n")
    }

    #[test]
    fn a_frame_at_80_and_140_columns() {
        let blocked = Row {
            state: State::Alive(Status::Blocked),
            reason: Some("permission: Write".to_owned()),
            model: Some("claude-opus-5-5".to_owned()),
            ..row("東京プロジェクト計画書", Some(142_000))
        };
        let rows = [row("api\u{1b}[31m", Some(190_000)), blocked, row("new", None)];
        insta::assert_snapshot!(shown(&rows, 80, None), @"
        3 sessions
        PROJECT    ID       AGE CONTEXT                   USED LEFT MODEL      WARNINGS
        api[31m    890a2a53 42s ███████████████████░  95% 190k  10k sonnet-4-5 critical
        東京プロ…  890a2a53 42s ██████████████░░░░░░  71% 142k  58k opus-5-5   high, bl…
        new        890a2a53 42s ░░░░░░░░░░░░░░░░░░░░    -    -    - sonnet-4-5 no reply
        ");
        insta::assert_snapshot!(shown(&rows, 140, None), @"
        3 sessions
        PROJECT                 ID        AGE  CONTEXT                    USED  LEFT  MODEL       WARNINGS
        api[31m                 890a2a53  42s  ███████████████████░  95%  190k   10k  sonnet-4-5  critical
        東京プロジェクト計画書  890a2a53  42s  ██████████████░░░░░░  71%  142k   58k  opus-5-5    high, blocked (permission: Write)
        new                     890a2a53  42s  ░░░░░░░░░░░░░░░░░░░░    -     -     -  sonnet-4-5  no reply
        ");
    }

    #[test]
    fn a_narrow_screen_keeps_the_percentage_and_loses_the_bar_first() {
        let rows = [row("a-project", Some(190_000))];
        for columns in [30, 40, 60, 79] {
            let screen = shown(&rows, columns, None);
            assert!(screen.contains(" 95%"), "{columns}:\n{screen}");
        }
        assert!(!shown(&rows, 40, None).contains('█'));
    }

    #[test]
    fn no_line_is_ever_too_wide() {
        let rows =
            [row("日本語".repeat(40).as_str(), Some(9)), row("", None), row("e\u{301}\u{202e}👨‍👩‍👧", Some(u64::MAX))];
        for columns in 0..200 {
            for line in frame(&rows, &[], NOW, columns, None).lines {
                assert!(cell_width(&line) <= columns, "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn a_low_screen_says_what_is_missing() {
        let rows: Vec<Row> = (0..9).map(|at| row(&format!("p{at}"), Some(9))).collect();
        let screen = shown(&rows, 80, Some(5));
        assert_eq!(screen.lines().count(), 5);
        assert!(screen.ends_with("… and 7 more"), "{screen}");
        assert_eq!(shown(&rows, 80, Some(11)).lines().count(), 11);
        assert_eq!(shown(&rows, 80, Some(0)), "");
    }

    #[test]
    fn the_title_counts_and_shows_the_limits() {
        let limits = [RateLimit { name: "5h", percent: 91.0, resets_at: Some(NOW.0 / 1000 + 600) }];
        let frame = frame(&[], &limits, NOW, 80, None);
        assert_eq!(render(&frame.lines[0], Colours::No), "No sessions  5h 91% (10m)");
        assert!(frame.lines[0].iter().any(|span| span.tone == Tone::Bad));
    }
}
