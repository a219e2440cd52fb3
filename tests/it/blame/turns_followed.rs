//! The process that follows a turn: the snapshots in a long one, and what it leaves when it or its client is killed.

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::dice::Dice;
use crate::poll::wait_for;
use crate::sandbox::tool;

/// How often the process is killed.
const ROUNDS: usize = 6;

/// Returns the processes of a sandbox that take snapshots.
fn followers(sandbox: &Sandbox) -> Vec<Pid> {
    sandbox.processes(Some("run-snapshot"))
}

#[test]
fn a_long_turn_has_snapshots_that_tell_its_commands_apart() {
    let work = Work::new("a.txt", "one line\n");
    work.sandbox.write_config(
        r#"{"bookmarks":{"enabled":false,"thresholds":{"min_tool_calls":3,"min_seconds":3600,"cooldown_seconds":0}}}"#,
    );
    let taken = || work.snapshots().iter().filter(|one| one["kind"] == "work").count();
    let mut turn = work.prompt(A, "a long task");
    for part in ["first", "second"] {
        let line = format!("written by the {part} command\n");
        turn.command(&format!("make {part}"), |work| work.write("a.txt", &format!("{}{line}", work.read("a.txt"))));
        let before = taken();
        // Most of a long turn is done by subagents.
        for _ in 0..2 {
            turn.call("Read", &json!({ "file_path": work.path("a.txt") }), &json!({ "type": "text" }), Some("agent-1"));
        }
        wait_for(DEADLINE, "a snapshot of the work", || (taken() > before).then_some(()));
    }
    turn.edit("a.txt", "one line\n", "one line\nwritten by the edit tool\n");
    turn.end();
    work.check("a.txt", &["commit", "prompt: a long task", "command: a long task", "command: a long task"]);
    for (line, command, other) in [(3, "make first", "make second"), (4, "make second", "make first")] {
        let why = work.sandbox.longhaul(&["why", &format!("a.txt:{line}"), "--json"]).json();
        let call = why["call_title"].as_str().unwrap_or_default();
        assert!(call.contains(command) && !call.contains(other), "{why}");
    }
}

#[test]
fn a_turn_ends_with_its_client() {
    for is_in_every_hook in [true, false] {
        let mut client = tool("sleep").arg("600").spawn().unwrap();
        let pid = client.id().to_string();
        let mut work = Work::new("a.txt", "one line\n");
        if is_in_every_hook {
            work.sandbox = work.sandbox.with_env("CLAUDE_PID", pid);
        } else {
            // Only the record of the session has it.
            let mut hook = work.sandbox.executable("longhaul-session-start");
            let changes = json!({ "session_id": A, "cwd": work.sandbox.project() });
            Outcome::of(hook.env("CLAUDE_PID", pid), payload("SessionStart", changes).as_bytes());
        }
        let mut turn = work.prompt(A, "the task");
        turn.command("make", |work| work.change("a.txt", "one line\n", "one line\nby a command\n"));
        assert!(!cfg!(target_os = "linux") || !followers(&work.sandbox).is_empty());
        client.kill().unwrap();
        // On Linux it is a zombie at first, as where nobody waits for it; elsewhere a zombie cannot be told from a process.
        if !cfg!(target_os = "linux") {
            client.wait().unwrap();
        }
        work.wait_for(A, "end", &turn.id);
        client.wait().unwrap();
        wait_until(DEADLINE, "the process to end", || followers(&work.sandbox).is_empty());
        work.change("a.txt", "by a command\n", "by a command\nby a person\n");
        work.check("a.txt", &["commit", "command: the task", "outside"]);
        assert_eq!(work.sandbox.error_log(), "");
    }
}

#[test]
fn a_file_that_is_being_written_has_lost_no_line() {
    let work = Work::new("a.txt", "the first line\nthe second line\n");
    work.prompt(A, "look at it").end();
    let mut turn = work.prompt(A, "the task");
    // A snapshot of another session comes in between.
    let half = |text: &str| {
        work.write("a.txt", text);
        work.prompt(B, "look at it, too").end();
    };
    half("");
    let whole = "the first line\nthe second line\nby a call\n";
    turn.write("a.txt", whole);
    half("the first line\nthe sec");
    turn.command("make", |work| work.write("a.txt", &format!("{whole}by a command\n")));
    turn.end();
    half("the fir");
    work.write("a.txt", &format!("{whole}by a command\n"));
    // The command of the other session's turn is not known.
    let lines = ["commit", "commit", "prompt: the task", "unknown"];
    work.check("a.txt", &lines);
    // Asked again, by what the first question has stored.
    work.check("a.txt", &lines);
}

#[test]
fn a_killed_process_leaves_nothing_half_written_and_no_wrong_origin() {
    let mut work = Work::new("a.txt", "the first line\n");
    // Git counts in seconds: a call in the second of the commit may have written what was committed.
    work.sandbox = work.sandbox.with_env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    work.git(&["commit", "-q", "--amend", "--no-edit"]);
    work.prompt(A, "look at it").end();
    let mut dice = Dice(45);
    let mut expected = vec!["commit".to_owned()];
    for round in 0..ROUNDS {
        let id = format!("prompt-{round}");
        let prompt = json!({ "session_id": A, "prompt_id": id, "prompt": format!("round {round}") });
        work.fire("longhaul-user-prompt-submit", "UserPromptSubmit", &prompt);
        let mut turn = Turn { work: &work, session: A, id, calls: 0 };
        let mut kill = |most: u64| {
            std::thread::sleep(std::time::Duration::from_micros(dice.roll(most)));
            for pid in followers(&work.sandbox) {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
        };
        // In its first snapshot, while it follows the turn, or in the one at the end.
        match round % 3 {
            0 => kill(60_000),
            1 => kill(400_000),
            _ => {}
        }
        let line = |by: &str| format!("the line of round {round} by {by}\n");
        let add = |by: &str| work.write("a.txt", &format!("{}{}", work.read("a.txt"), line(by)));
        let text = work.read("a.txt");
        turn.write("a.txt", &format!("{text}{}", line("a call")));
        turn.command("make", |_| add("a command"));
        let stop = json!({ "session_id": A, "prompt_id": turn.id, "last_assistant_message": "Done.", "stop_hook_active": false });
        work.fire("longhaul-stop", "Stop", &stop);
        kill(400_000);
        add("a person");
        expected.extend([format!("prompt: round {round}"), format!("command: round {round}"), "outside".to_owned()]);
    }
    // Nothing stops the next turn, all of which is known.
    let mut turn = work.prompt(B, "the last task");
    turn.command("make", |work| work.write("a.txt", &format!("{}the last line by a command\n", work.read("a.txt"))));
    turn.end();
    work.write("a.txt", &format!("{}the last line by a person\n", work.read("a.txt")));
    expected.extend(["command: the last task".to_owned(), "outside".to_owned()]);
    let found = work.blame("a.txt");
    let last = expected.len() - 2;
    assert_eq!(found[last..], expected[last..], "{found:?}");
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!(found == expected || found == "unknown", "line {}: {found}, expected {expected}", at + 1);
    }
    let integrity: String = work.sandbox.database().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    for snapshot in work.snapshots().iter().filter(|one| one["skipped"].is_null()) {
        let session = snapshot["session"].as_str().unwrap();
        let shown = work.sandbox.longhaul(&["diff", &snapshot["id"].to_string(), "--stat", "--session", session]);
        assert_eq!(shown.status, Some(0), "{snapshot}: {shown:?}");
    }
}
