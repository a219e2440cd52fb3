use longhaul_core::{Millis, Status};
use serde_json::{Value, json};

use super::{id, row};
use crate::{HostRowsError, MAX_ROWS, PaneAddress, RowId, SessionNumbers, matches, rows_of_host, sort};

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
    assert_eq!(row.pane, Some(PaneAddress { socket: "/tmp/tmux-1000/default".to_owned(), id: "%12".to_owned() }));
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
        assert_eq!(rows_of_host("h", output.as_bytes(), 0), Err(HostRowsError::NotJson), "{output:?}");
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
