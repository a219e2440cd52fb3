//! The monitor: sessions as the hooks leave them, on the screen of a real terminal.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, bin_dir, payload};
use crate::tmux::{Pane, Tmux};

/// The folders of the three sessions: one wide, one hostile.
const PROJECTS: [(&str, &str); 3] =
    [("aaaa1111", "東京プロジェクト計画書"), ("bbbb2222", "evil\u{1b}[2J\u{1b}[31m\u{202e}name"), ("cccc3333", "api")];

/// Adds a reply with so many tokens of context to a session's transcript.
fn reply(sandbox: &Sandbox, session: &str, model: &str, tokens: u64) {
    let usage = json!({ "input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 5 });
    let entry = json!({ "type": "assistant", "isSidechain": false, "message": { "model": model, "usage": usage } });
    let path = sandbox.path(&format!("{session}.jsonl"));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{entry}").unwrap();
}

/// Starts a session and gives it a prompt.
fn begin(sandbox: &Sandbox, session: &str, project: &str) {
    let changes = json!({
        "session_id": session,
        "cwd": format!("/work/{project}"),
        "transcript_path": sandbox.path(&format!("{session}.jsonl")),
    });
    sandbox.hook("longhaul-session-start", payload("SessionStart", changes.clone()));
    sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", changes));
}

/// Returns a sandbox with three live sessions.
fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    for (session, project) in PROJECTS {
        begin(&sandbox, session, project);
    }
    reply(&sandbox, "aaaa1111", "claude-opus-5-5", 420_000);
    reply(&sandbox, "bbbb2222", "claude-sonnet-4-5", 150_000);
    reply(&sandbox, "cccc3333", "claude-sonnet-4-5", 190_000);
    assert_eq!(sandbox.error_log(), "");
    sandbox
}

fn rows(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let outcome = sandbox.longhaul(&[&["monitor", "--json"], args].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    outcome.json().as_array().unwrap().clone()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["session"].as_str().unwrap()).collect()
}

/// Opens a pane of so many columns.
fn pane(tmux: &Tmux, columns: u32, shell: &str) -> Pane {
    let pane = tmux.pane(&["sh", "-c", shell], &[]);
    tmux.run(&["resize-window", "-t", &pane.0, "-x", &columns.to_string(), "-y", "24"]);
    wait_until(DEADLINE, "the width", || tmux.format(&pane, "#{pane_width}") == columns.to_string());
    pane
}

/// Checks that the rows have their bars one below the other.
#[track_caller]
fn check_bars(rows: &[&str]) {
    let start = |line: &&str| line[..line.find(['█', '░']).unwrap()].width();
    assert!(rows.len() == 3 && rows.iter().all(|line| start(line) == start(&rows[0])), "{rows:#?}");
}

fn program() -> String {
    format!("'{}'", bin_dir().join("longhaul").display())
}

#[test]
fn the_json_has_use_window_and_warnings() {
    let sandbox = three();
    let rows = rows(&sandbox, &[]);
    assert_eq!(ids(&rows), ["cccc3333", "bbbb2222", "aaaa1111"], "the fullest first");
    assert_eq!(rows[0]["project"], "api");
    assert_eq!(rows[0]["used_tokens"], 190_000);
    assert_eq!(rows[0]["remaining_tokens"], 10_000);
    assert_eq!(rows[0]["used_percent"], 95.0);
    assert_eq!(rows[0]["warnings"], json!(["critical"]));
    assert_eq!(rows[0]["status"], "working");
    assert_eq!((&rows[2]["window_tokens"], &rows[2]["window_from"]), (&json!(1_000_000), &json!("model")));
    sandbox.write_config(r#"{"models":{"claude-opus":{"window":840000}}}"#);
    assert_eq!(self::rows(&sandbox, &["--session", "aaaa"])[0]["used_percent"], 50.0);
}

#[test]
fn the_idle_and_the_ended_are_shown_only_when_asked_for() {
    let sandbox = three();
    sandbox.hook("longhaul-session-end", payload("SessionEnd-other", json!({ "session_id": "aaaa1111" })));
    assert_eq!(ids(&rows(&sandbox, &[])), ["cccc3333", "bbbb2222"]);
    assert_eq!(ids(&rows(&sandbox, &["--all"])), ["cccc3333", "bbbb2222", "aaaa1111"]);
    let ended = rows(&sandbox, &["--session", "aaaa"]);
    assert_eq!((ids(&ended), &ended[0]["status"]), (vec!["aaaa1111"], &json!("ended")));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let later = sandbox.at(now + 16 * 60 * 1000);
    assert_eq!(rows(&later, &[]), Vec::<Value>::new());
    assert_eq!(rows(&later, &["--all"]).len(), 3);
}

#[test]
fn without_sessions_it_says_so_and_makes_no_files() {
    let sandbox = Sandbox::new();
    assert!(sandbox.longhaul(&["monitor"]).stdout.starts_with("No sessions\n"), "not a terminal: one frame");
    assert_eq!(sandbox.longhaul(&["monitor", "--json"]).stdout, "[]\n");
    assert!(!sandbox.data_dir().exists());
}

#[test]
fn the_live_view_follows_the_transcript_and_leaves_the_screen_as_it_was() {
    let sandbox = three();
    let tmux = Tmux::start(&sandbox);
    for (columns, key) in [(80, "q"), (140, "C-c")] {
        let shell = format!("read go; echo BEFORE; {} monitor; echo AFTER $?; read end", program());
        let pane = pane(&tmux, columns, &shell);
        tmux.send_keys(&pane, &["Enter"]);
        let shows = |text: &str| wait_until(DEADLINE, text, || tmux.capture(&pane).contains(text));
        shows("q quits");
        let screen = tmux.capture(&pane);
        assert!(screen.starts_with("3 sessions") && !screen.contains("BEFORE"), "{screen}");
        check_bars(&screen.lines().filter(|line| line.contains(['░', '█'])).collect::<Vec<_>>());
        reply(&sandbox, "aaaa1111", "claude-opus-5-5", 800_000 + u64::from(columns) * 1000);
        shows(&format!("{}k", 800 + columns));
        tmux.run(&["resize-window", "-t", &pane.0, "-x", "90", "-y", "20"]);
        wait_until(DEADLINE, "the new size", || {
            tmux.capture(&pane).lines().last().is_some_and(|line| line.trim() == "q quits")
                && tmux.capture(&pane).lines().count() == 20
        });
        tmux.send_keys(&pane, &[key]);
        shows("AFTER 0");
        let screen = tmux.capture(&pane);
        assert!(screen.contains("BEFORE") && !screen.contains("sessions") && !screen.contains('░'), "{screen}");
        assert_eq!(tmux.format(&pane, "#{alternate_on} #{cursor_flag}"), "0 1");
    }
}

#[test]
fn the_editors_task_is_written_once_and_nothing_else_is_touched() {
    let sandbox = Sandbox::new();
    let path = sandbox.project().join(".vscode/tasks.json");
    let write = || sandbox.longhaul(&["monitor", "--vscode-task"]);
    assert_eq!(write().status, Some(0));
    let first = fs::read_to_string(&path).unwrap();
    let task = &serde_json::from_str::<Value>(&first).unwrap()["tasks"][0];
    assert_eq!(task["command"], bin_dir().join("longhaul").display().to_string());
    assert_eq!(task["runOptions"], json!({ "runOn": "folderOpen" }));
    assert!(write().stderr.contains("already"));
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    let commented = "{\n  // mine\n  \"tasks\": []\n}\n";
    fs::write(&path, commented).unwrap();
    let refused = write();
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("has comments or is not JSON and was not changed"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), commented);
    let names = fs::read_dir(sandbox.project().join(".vscode")).unwrap().count();
    assert_eq!(names, 1, "no temporary file stays");
    assert!(!sandbox.data_dir().exists());
}

#[test]
fn the_task_is_not_written_through_a_link() {
    let sandbox = Sandbox::new();
    let outside = sandbox.path("outside");
    fs::create_dir(&outside).unwrap();
    let precious = outside.join("tasks.json");
    fs::write(&precious, "{}").unwrap();
    let folder = sandbox.project().join(".vscode");
    let refused = |link: &str| {
        let outcome = sandbox.longhaul(&["monitor", "--vscode-task"]);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(&format!("{link} is a link to")), "{outcome:?}");
        assert!(outcome.stderr.contains("add the task by hand"), "{outcome:?}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "{}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    };
    symlink(&outside, &folder).unwrap();
    refused(".vscode");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(&precious, folder.join("tasks.json")).unwrap();
    refused(".vscode/tasks.json");
    fs::remove_file(folder.join("tasks.json")).unwrap();
    // The temporary file beside it: its name has the process in it, which can be guessed.
    let mut command = sandbox.program("/bin/sh");
    command.arg("-c").arg(r#"ln -s "$1" ".vscode/.longhaul-$$.tmp"; exec "$2" monitor --vscode-task"#);
    command.arg("sh").arg(&precious).arg(bin_dir().join("longhaul"));
    let written = command.output().unwrap();
    assert!(written.status.success(), "{written:?}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "{}");
    assert!(fs::read_to_string(folder.join("tasks.json")).unwrap().contains("Longhaul monitor"));
}
