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
    let lines: Vec<String> = frame.iter().map(|line| render(line, Colours::No).trim_end().to_owned()).collect();
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
    let rows = [row("日本語".repeat(40).as_str(), Some(9)), row("", None), row("e\u{301}\u{202e}👨‍👩‍👧", Some(u64::MAX))];
    for columns in 0..200 {
        for line in frame(&rows, &[], NOW, columns, None) {
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
    assert_eq!(render(&frame[0], Colours::No), "No sessions  5h 91% (10m)");
    assert!(frame[0].iter().any(|span| span.tone == Tone::Bad));
}
