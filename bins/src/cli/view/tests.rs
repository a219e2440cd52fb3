mod keys;

use longhaul_core::{Millis, Status};
use serde_json::{Value, json};

use longhaul_tracker::Pane;

use super::app::attach_remotely;
use super::rows::{MAX_ROWS, RowId, SessionRow, matches, rows_of_host, sort};
use crate::cli::sessions::SessionNumbers;
use crate::cli::view::layout::{Areas, COLUMNS, Column, Columns};

fn id(session: &str) -> RowId {
    RowId { host: None, session: session.to_owned() }
}

fn row(session: &str, status: Status, changed_at: u64) -> SessionRow {
    SessionRow::new(id(session), status, format!("project-{session}"), changed_at)
}

#[track_caller]
fn check(lines: usize, rows: usize, expected: [usize; 6]) {
    let areas = Areas::of(lines, rows);
    let Areas { title, header, list, rule, preview, footer, .. } = areas;
    assert_eq!([title, header, list, rule, preview, footer], expected, "{lines} lines, {rows} rows");
}

#[test]
fn the_list_gets_what_it_needs_up_to_half() {
    check(40, 5, [1, 1, 5, 1, 31, 1]);
    check(40, 100, [1, 1, 18, 1, 18, 1]);
    check(24, 3, [1, 1, 3, 1, 17, 1]);
    check(15, 30, [1, 1, 6, 1, 5, 1]);
    check(15, 0, [1, 1, 1, 1, 10, 1]);
}

#[test]
fn a_low_screen_keeps_the_list() {
    check(9, 30, [1, 1, 6, 0, 0, 1]);
    check(5, 30, [1, 0, 3, 0, 0, 1]);
    check(2, 30, [0, 0, 1, 0, 0, 1]);
    check(1, 30, [0, 0, 0, 0, 0, 1]);
    check(0, 30, [0; 6]);
    for (lines, rows) in (0..60).flat_map(|lines| (0..60).map(move |rows| (lines, rows))) {
        let areas = Areas::of(lines, rows);
        let total = areas.title + areas.header + areas.list + areas.rule + areas.preview + areas.footer;
        assert_eq!(total, lines, "{rows} rows");
    }
}

/// The widths of a usual list: no hosts, no cost.
fn usual(column: Column) -> usize {
    match column {
        Column::Number => 2,
        Column::State => 11,
        Column::Host | Column::Cost => 0,
        Column::Project => 14,
        Column::Branch => 18,
        Column::Age => 3,
        Column::Context => 15,
        Column::About => 60,
    }
}

fn shown(width: usize, content: fn(Column) -> usize) -> Vec<(Column, usize)> {
    Columns::of(width, content).iter().collect()
}

#[test]
fn a_wide_screen_shows_every_column_that_has_content() {
    let columns = shown(120, usual);
    let names: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
    let expected =
        [Column::Number, Column::State, Column::Project, Column::Branch, Column::Age, Column::Context, Column::About];
    assert_eq!(names, expected);
    assert_eq!(columns.iter().map(|(_, width)| width).sum::<usize>() + columns.len() - 1, 120);
}

#[test]
fn a_narrow_screen_keeps_state_project_and_age() {
    let columns = shown(24, usual);
    let names: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
    assert_eq!(names, [Column::Number, Column::State, Column::Project, Column::Age]);
    let at_38 = [
        (Column::Number, 2),
        (Column::State, 1),
        (Column::Project, 8),
        (Column::Age, 3),
        (Column::Context, 4),
        (Column::About, 15),
    ];
    assert_eq!(shown(38, usual), at_38);
}

#[test]
fn the_last_column_is_readable_at_80_columns() {
    let at_78 = shown(78, usual);
    let width = |wanted: Column| at_78.iter().find(|(column, _)| *column == wanted).map_or(0, |(_, width)| *width);
    assert!(width(Column::About) >= 24 && width(Column::Branch) >= 6, "{at_78:?}");
    assert_eq!((width(Column::State), width(Column::Context)), (11, 4), "wide or narrow, nothing between");
}

#[test]
fn a_column_is_as_wide_as_its_name_and_the_last_one_as_its_content() {
    let exactly = [
        (Column::Number, 1),
        (Column::State, 5),
        (Column::Host, 4),
        (Column::Project, 7),
        (Column::Branch, 6),
        (Column::Age, 3),
        (Column::Context, 7),
        (Column::Cost, 4),
        (Column::About, 1),
    ];
    assert_eq!(shown(46, |_| 1), exactly, "what fits exactly does not shrink");
    assert_eq!(shown(45, |_| 1)[6], (Column::Context, 4));
}

#[test]
fn numbers_are_aligned_to_the_right() {
    let numbers: Vec<Column> =
        COLUMNS.map(|layout| layout.column).into_iter().filter(|column| column.layout().is_number).collect();
    assert_eq!(numbers, [Column::Number, Column::Age, Column::Cost]);
}

#[test]
fn a_narrow_column_has_a_short_name() {
    assert_eq!((Column::Context.name_within(15), Column::Context.name_within(4)), ("CONTEXT", "CTX"));
    assert_eq!((Column::State.name_within(11), Column::State.name_within(1)), ("STATE", ""));
    assert_eq!(Column::About.name_within(15), "WAITS FOR");
}

#[test]
fn nothing_is_wider_than_the_screen() {
    let all = |column: Column| if column == Column::About { 500 } else { 30 };
    for width in 0..220 {
        for content in [usual, all] {
            let columns = shown(width, content);
            let total = columns.iter().map(|(_, width)| width).sum::<usize>() + columns.len().saturating_sub(1);
            assert!(total <= width, "{width}: {columns:?}");
        }
    }
    assert_eq!(shown(0, usual), []);
}

#[test]
fn those_who_wait_come_first_and_the_longest_of_them_before_the_others() {
    let mut rows = vec![
        row("idle", Status::Idle, 50),
        row("old-work", Status::Working, 10),
        row("done", Status::Completed, 5),
        row("new-work", Status::Working, 90),
        row("asks-late", Status::Blocked, 80),
        row("asks-early", Status::Blocked, 70),
    ];
    sort(&mut rows);
    let order: Vec<&str> = rows.iter().map(|row| row.id.session.as_str()).collect();
    assert_eq!(order, ["asks-early", "asks-late", "done", "new-work", "old-work", "idle"]);
}

#[test]
fn a_filter_needs_every_word_anywhere() {
    let mut api = row("3fa2", Status::Blocked, 0);
    api.project = "API".to_owned();
    api.branch = Some("feature/login".to_owned());
    api.prompt = Some("Fix the token refresh".to_owned());
    api.waits_for = Some("permission: Bash".to_owned());
    api.notes = vec!["teammate".to_owned()];
    api.number = Some(7);
    api.place = Some("work:1.0".to_owned());
    for (filter, expected) in [
        ("", true),
        ("api", true),
        ("LOGIN token", true),
        ("blocked", true),
        ("bash mate", true),
        ("work:1", true),
        ("7", true),
        ("3f", true),
        ("fa2", false),
        ("api idle", false),
        ("17", false),
    ] {
        assert_eq!(matches(&api, filter), expected, "{filter:?}");
    }
    api.id.host = Some("build1".to_owned());
    assert!(matches(&api, "build1"));
}

#[test]
fn ages_and_the_last_column() {
    let mut row = row("a", Status::Blocked, 1_000);
    for (later, expected) in
        [(0, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (172_799, "47h"), (172_800, "2d")]
    {
        assert_eq!(row.age(1_000 + later), expected);
    }
    assert_eq!(row.age(0), "0s", "a clock that was set back");
    assert_eq!(row.about(), "");
    row.prompt = Some("the prompt".to_owned());
    assert_eq!(row.about(), "the prompt");
    row.waits_for = Some("permission: Bash".to_owned());
    assert_eq!(row.about(), "permission: Bash");
    row.status = Status::Working;
    assert_eq!(row.about(), "the prompt", "what it waited for is over");
    assert!(!row.waits());
}

const HOUR: u64 = 3_600_000;

#[test]
fn a_session_keeps_its_number_and_a_free_one_is_not_reused_at_once() {
    let mut numbers = SessionNumbers::default();
    assert!(numbers.assign(["a", "b", "c"].into_iter(), Millis(0)));
    assert_eq!(["a", "b", "c"].map(|session| numbers.of(session)), [Some(1), Some(2), Some(3)]);
    assert!(!numbers.assign(["c", "a", "b"].into_iter(), Millis(1)), "nothing has changed");
    assert!(numbers.assign(["c", "d"].into_iter(), Millis(HOUR - 1)));
    assert_eq!((numbers.of("c"), numbers.of("d")), (Some(3), Some(4)), "1 and 2 may still be on a screen");
    assert_eq!(numbers.session(3), Some("c"));
    numbers.assign(["c", "d", "e"].into_iter(), Millis(HOUR));
    assert_eq!((numbers.of("a"), numbers.of("e"), numbers.session(9)), (None, Some(1), None));
}

#[test]
fn a_session_that_runs_for_long_keeps_its_number_after_it_has_ended_too() {
    let mut numbers = SessionNumbers::default();
    numbers.assign(["a"].into_iter(), Millis(0));
    assert!(numbers.assign(["a"].into_iter(), Millis(5 * HOUR)), "the time is stored now and then");
    numbers.assign(["b"].into_iter(), Millis(5 * HOUR + 1));
    assert_eq!((numbers.of("a"), numbers.of("b")), (Some(1), Some(2)));
    let stored = serde_json::to_string(&numbers).unwrap();
    assert_eq!(serde_json::from_str::<SessionNumbers>(&stored).unwrap(), numbers);
}

#[test]
fn rows_of_another_host_are_read() {
    let output = json!([{
        "session": "abc", "status": "blocked", "reason": "permission: Bash", "age_seconds": 60, "project": "api",
        "branch": "main", "prompt": "do it", "agent_type": "worktree fix", "client": "codex", "pane": "%12",
        "tmux_socket": "/tmp/tmux-1000/default", "target": "work:1.0", "context_percent": 42.5, "number": 3,
        "cost": { "cost_usd": 1.239, "total_tokens": 410_000 },
    }]);
    let rows = rows_of_host("build1", output.to_string().as_bytes(), 1_000).unwrap();
    let row = &rows[0];
    assert_eq!(row.id, RowId { host: Some("build1".to_owned()), session: "abc".to_owned() });
    assert_eq!((row.status, row.changed_at, row.number), (Status::Blocked, 940, None));
    assert_eq!(
        (row.about(), row.branch.as_deref(), row.place.as_deref()),
        ("permission: Bash", Some("main"), Some("work:1.0"))
    );
    assert_eq!(row.notes, ["worktree fix", "codex"]);
    assert_eq!((row.context_percent, row.cost.as_deref()), (Some(42.5), Some("$1.24 410k")));
    assert_eq!(row.pane, Some(Pane { socket: "/tmp/tmux-1000/default".to_owned(), id: "%12".to_owned() }));
}

#[test]
fn a_session_of_another_host_has_a_cost_after_its_first_request() {
    let cost = |cost: Value| {
        let output = json!([{ "session": "a", "status": "idle", "cost": cost }]).to_string();
        rows_of_host("h", output.as_bytes(), 0).unwrap().remove(0).cost
    };
    assert_eq!(cost(Value::Null), None);
    assert_eq!(cost(json!({ "cost_usd": 0.0, "total_tokens": 0 })), None);
    assert_eq!(cost(json!({ "cost_usd": 0.001, "total_tokens": 1 })).as_deref(), Some("$0.00 1"));
    assert_eq!(cost(json!({ "cost_usd": null, "total_tokens": 410_000 })).as_deref(), Some("410k"));
    assert_eq!(cost(json!({ "cost_usd": -1.0, "total_tokens": 410_000 })).as_deref(), Some("410k"));
}

#[test]
fn the_path_of_a_socket_of_another_host_has_no_character_of_a_shell() {
    let pane = |socket: &str| {
        let output = json!([{ "session": "a", "status": "idle", "pane": "%1", "tmux_socket": socket }]).to_string();
        rows_of_host("h", output.as_bytes(), 0).unwrap().remove(0).pane.map(|pane| pane.socket)
    };
    for socket in
        ["/tmp/tmux-1000/default", "/private/tmp/tmux-501/my work", "/run/user/1000/tmux@1.2,x+y=z", "/tmp/über"]
    {
        assert_eq!(pane(socket).as_deref(), Some(socket));
    }
    for socket in [
        "'", "\"", "\\", "$(x)", "`x`", "!x", ";x", "&", "|x", ">x", "*", "?", "[x]", "{a}", "#", "(x)", "\n", "\u{7f}",
    ] {
        assert_eq!(pane(&format!("/tmp/{socket}")), None, "{socket:?}");
    }
    for socket in ["", "tmp/x", "-S", "~/x", &format!("/{}", "x".repeat(300))] {
        assert_eq!(pane(socket), None, "{socket:?}");
    }
}

#[test]
fn the_output_of_another_host_is_not_trusted() {
    for output in ["", "{}", "null", "[1, 2", "\u{0}", "error: no such command"] {
        assert_eq!(rows_of_host("h", output.as_bytes(), 0), None, "{output:?}");
    }
    let hostile = json!([
        1, null, { "status": "idle" }, { "session": "x", "status": "frozen" }, { "session": "\u{1b}", "status": "idle" },
        { "session": "a\u{1b}]0;b\u{7}", "status": "idle", "project": "p\u{9b}31m\n".repeat(100), "context_percent": 1e300,
          "age_seconds": -5, "pane": "%1; rm -rf /", "tmux_socket": "/tmp/x", "number": 1e18 },
        { "session": "b", "status": "idle", "pane": "%1", "tmux_socket": "-S" },
        { "session": "c", "status": "idle", "pane": "%1", "tmux_socket": "/tmp/\u{1b}x" },
        { "session": "d", "status": "idle", "pane": "%", "tmux_socket": "/tmp/x" },
        { "session": "e", "status": "idle", "pane": "%1234567890", "tmux_socket": "/tmp/x" },
    ]);
    let rows = rows_of_host("h", hostile.to_string().as_bytes(), 7).unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.session.as_str()).collect();
    assert_eq!(ids, ["a]0;b", "b", "c", "d", "e"]);
    assert!(rows.iter().all(|row| row.pane.is_none()), "{rows:?}");
    let first = &rows[0];
    assert_eq!((first.changed_at, first.context_percent, first.number), (7, None, None));
    assert!(first.project.len() <= 200 && !first.project.chars().any(char::is_control));
    let many: Vec<_> = (0..MAX_ROWS + 9).map(|at| json!({ "session": at.to_string(), "status": "idle" })).collect();
    assert_eq!(rows_of_host("h", json!(many).to_string().as_bytes(), 0).unwrap().len(), MAX_ROWS);
    assert_eq!(id("x").host, None);
}

#[test]
fn every_word_for_another_host_is_quoted() {
    let pane = Pane { socket: "/tmp/a'; rm -rf $HOME".to_owned(), id: "%3".to_owned() };
    let words = r"'tmux' '-u' '-S' '/tmp/a'\''; rm -rf $HOME' 'attach-session' '-t' '%3'";
    assert_eq!(attach_remotely("build1", &pane).argv, ["ssh", "-t", "--", "build1", words]);
}
