use std::sync::mpsc;

use longhaul_core::{Env, Millis, Status};
use longhaul_runtime::Home;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::compose;
use crate::cli::rate_limits::RateLimit;
use crate::cli::view::app::{App, News};
use crate::cli::view::collector::{HostSessions, LocalSessions};
use crate::cli::view::rows::{RowId, SessionRow};
use crate::cli::view::state::Key;
use longhaul_tracker::Pane;

const NOW: Millis = Millis(1_794_707_999_000);

fn id(session: &str) -> RowId {
    RowId { host: None, session: session.to_owned() }
}

fn row(number: u32, status: Status, project: &str, age: u64) -> SessionRow {
    let mut row = SessionRow::new(id(&format!("{number:08}-aaaa")), status, project, NOW.0 / 1000 - age);
    row.number = Some(number);
    row.branch = Some("main".to_owned());
    row.pane = Some(Pane { socket: "/tmp/t".to_owned(), id: format!("%{number}") });
    row.place = Some(format!("work:{number}.0"));
    row
}

fn rows() -> Vec<SessionRow> {
    let mut api = row(3, Status::Blocked, "api", 190);
    api.waits_for = Some("wants to run: cargo publish --registry internal".to_owned());
    api.prompt = Some("publish the crates".to_owned());
    api.context_percent = Some(42.0);
    let mut shop = row(1, Status::Completed, "東京プロジェクト計画書", 30);
    shop.branch = Some("feature/a-rather-long-branch-name".to_owned());
    shop.prompt = Some("add a test for the\u{1b}[31m red\u{202e} path".to_owned());
    shop.context_percent = Some(93.4);
    let mut docs = row(12, Status::Working, "docs", 7_300);
    docs.notes = vec!["worktree".to_owned()];
    docs.prompt = Some("rewrite chapter two".to_owned());
    docs.context_percent = Some(71.0);
    let mut new = row(4, Status::Idle, "new", 200_000);
    new.branch = None;
    vec![api, shop, docs, new]
}

fn app(no_color: bool) -> App {
    let mut env = Env::default();
    env.data_dir = Some("/nowhere/longhaul".into());
    env.no_color = no_color;
    let home = Home::of(&env).unwrap();
    let (news, _) = mpsc::channel();
    let mut app = App::new(env, home, news);
    let icons = ["*", "!", ".", "+"].map(str::to_owned).to_vec();
    app.hear(News::Local(LocalSessions { rows: rows(), icons, ..LocalSessions::default() }));
    let screen = (1..60).map(|line| format!("line {line} of the screen \u{1b}[31m")).collect();
    app.hear(News::Preview(id("00000003-aaaa"), screen));
    app
}

fn press(app: &mut App, keys: &str) {
    for c in keys.chars() {
        app.view.press(Key::Char(c), 5, 0);
    }
}

fn terminal(app: &mut App, columns: u16, lines: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    let no_color = app.env.no_color;
    let drawing = compose(app, columns.into(), lines.into(), NOW);
    terminal.draw(|frame| drawing.render(frame, no_color)).unwrap();
    terminal
}

fn shown(app: &mut App, columns: u16, lines: u16) -> String {
    let terminal = terminal(app, columns, lines);
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..lines {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..columns {
            let symbol = buffer[(x, y)].symbol();
            // The second cell of a wide character is empty.
            if skip == 0 {
                line.push_str(symbol);
            }
            skip = if skip == 0 { crate::cli::paint::width(symbol).saturating_sub(1) } else { skip - 1 };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn the_screen_at_120_by_40() {
    insta::assert_snapshot!(shown(&mut app(false), 120, 40));
}

#[test]
fn the_screen_at_80_by_24() {
    insta::assert_snapshot!(shown(&mut app(false), 80, 24));
}

#[test]
fn the_screen_at_40_by_15() {
    insta::assert_snapshot!(shown(&mut app(false), 40, 15));
}

#[test]
fn without_colours_there_are_none_and_the_choice_is_visible() {
    let mut app = app(true);
    let terminal = terminal(&mut app, 80, 24);
    let buffer = terminal.backend().buffer();
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let reversed = |y: u16| (0..80).all(|x| buffer[(x, y)].modifier.contains(Modifier::REVERSED));
    assert_eq!((0..24).filter(|y| reversed(*y)).collect::<Vec<_>>(), [2]);
    assert_eq!(buffer[(0, 2)].symbol(), ">", "also where reverse video is not shown");
    let mut coloured = self::app(false);
    let terminal = self::terminal(&mut coloured, 80, 24);
    assert!(terminal.backend().buffer().content.iter().any(|cell| cell.fg == Color::Red));
}

#[test]
fn no_line_is_wider_or_missing_at_any_size() {
    let mut app = app(false);
    for (columns, lines) in (0..130).step_by(7).flat_map(|columns| (0..30).map(move |lines| (columns, lines))) {
        let drawing = compose(&mut app, columns, lines, NOW);
        assert_eq!(drawing.lines.len(), lines);
        for line in drawing.lines {
            assert!(line.spans.iter().map(|span| span.width()).sum::<usize>() <= columns, "{columns}: {line:?}");
        }
    }
}

#[test]
fn filter_prompt_help_and_confirmation() {
    let mut app = app(false);
    press(&mut app, "/api");
    insta::assert_snapshot!(shown(&mut app, 60, 10));
    app.view.press(Key::Esc, 5, 0);
    press(&mut app, "pgo on with the tests, and do not forget the ones for the old version");
    let typing = shown(&mut app, 60, 10);
    assert!(typing.ends_with("not forget the ones for the old version\n"), "the end is visible: {typing}");
    app.view.press(Key::Esc, 5, 0);
    press(&mut app, "?");
    insta::assert_snapshot!(shown(&mut app, 80, 14));
    press(&mut app, "qc");
    assert!(shown(&mut app, 80, 10).contains("Continue api in a new session?"));
}

#[test]
fn other_hosts_have_a_column_and_one_that_does_not_answer_is_named() {
    let mut app = app(false);
    let remote = RowId { host: Some("build1".to_owned()), session: "far".to_owned() };
    let mut far = SessionRow::new(remote, Status::Blocked, "nightly", NOW.0 / 1000 - 400);
    far.waits_for = Some("permission: Bash".to_owned());
    app.hear(News::Host(HostSessions { name: "build1".to_owned(), rows: vec![far], problem: None }));
    app.hear(News::Host(HostSessions {
        name: "build2".to_owned(),
        rows: Vec::new(),
        problem: Some("ssh did not answer within 8000 ms".to_owned()),
    }));
    app.view.press(Key::Home, 5, 0);
    insta::assert_snapshot!(shown(&mut app, 100, 12));
}

#[test]
fn nothing_to_show() {
    let mut app = app(false);
    press(&mut app, "/zzz");
    assert!(shown(&mut app, 80, 12).contains("No session matches \"zzz\""));
    app.view.press(Key::Esc, 5, 0);
    app.hear(News::Local(LocalSessions { problem: Some("the disk is gone".to_owned()), ..LocalSessions::default() }));
    let empty = shown(&mut app, 80, 12);
    assert!(empty.contains("No sessions.") && empty.contains("the disk is gone"), "{empty}");
}

#[test]
fn the_other_tab_is_the_monitor() {
    let mut app = app(false);
    app.local.limits = vec![RateLimit { name: "5h", percent: 42.0, resets_at: None }];
    app.view.press(Key::Tab, 5, 0);
    let screen = shown(&mut app, 80, 10);
    assert!(screen.starts_with(" Sessions [Context]"), "{screen}");
    assert!(screen.contains("No sessions  5h 42%"), "{screen}");
}
