//! The end of a turn in tmux: when it is shown, and when it has been seen.

use std::fs;

use fs2::FileExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::attached::Attached;
use crate::sandbox::Outcome;

#[test]
fn looking_at_a_pane_takes_completed_back_at_once() {
    let stage = Attached::with_setup();
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.fire(&pane, "one", "Stop", json!({}));
    stage.wait_for_counts(" 0. 0* 1+ 0! ");
    stage.tmux.run(&["select-window", "-t", &pane.0]);
    stage.wait_for_counts(" 1. 0* 0+ 0! ");
    // The other pane of the same window.
    stage.tmux.run(&["split-window", "-t", &pane.0, "sleep", "3600"]);
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.fire(&pane, "one", "Stop", json!({}));
    stage.wait_for_counts(" 0. 0* 1+ 0! ");
    stage.tmux.run(&["select-pane", "-t", &pane.0]);
    stage.wait_for_counts(" 1. 0* 0+ 0! ");
    // A window that is chosen in a session which nobody sees has not been seen.
    stage.tmux.run(&["new-session", "-d", "-s", "behind", "sleep", "3600"]);
    stage.tmux.run(&["move-window", "-d", "-s", &pane.0, "-t", "behind:9"]);
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.fire(&pane, "one", "Stop", json!({}));
    stage.tmux.run(&["select-window", "-t", "behind:9"]);
    stage.refresh_after(60);
    stage.wait_for_counts(" 0. 0* 1+ 0! ");
    let client = stage.tmux.run(&["list-clients", "-F", "#{client_name}"]);
    stage.tmux.run(&["switch-client", "-c", &client, "-t", "behind"]);
    stage.wait_for_counts(" 1. 0* 0+ 0! ");
}

#[test]
fn a_turn_that_ends_before_somebodys_eyes_stays_completed_until_the_next_refresh() {
    let stage = Attached::new();
    let (seen, other) = (stage.client(), stage.client());
    // Before setup: the hook on focus runs beside the test, and may be late.
    stage.tmux.run(&["select-window", "-t", &seen.0]);
    stage.longhaul(&["tmux", "setup"]);
    for (pane, session) in [(&seen, "seen"), (&other, "other")] {
        stage.fire(pane, session, "UserPromptSubmit", json!({}));
        stage.fire(pane, session, "Stop", json!({}));
    }
    stage.wait_for_counts(" 0. 0* 2+ 0! ");
    // Somebody who has looked away must be able to see it.
    stage.refresh_after(1);
    stage.wait_for_status("seen", "completed");
    // A key was pressed less than ten minutes ago: the client was attached.
    stage.refresh_after(600);
    stage.wait_for_status("seen", "idle");
    stage.wait_for_counts(" 1. 0* 1+ 0! ");
    assert_eq!(stage.tmux.format(&seen, "#{@longhaul-state}"), "idle");
    let expected = [("other", "completed"), ("seen", "idle")];
    assert_eq!(stage.statuses(), expected.map(|(session, status)| (session.to_owned(), status.to_owned())));
    stage.longhaul(&["next"]);
    assert_eq!(stage.shown(), other.0, "there is nothing to see in the pane that is on the screen");
    stage.wait_for_counts(" 2. 0* 0+ 0! ");
    let nobody = Outcome::of(&mut stage.command(&["next"]), b"");
    assert_eq!(nobody.stderr, "No session waits for you.\n");
}

/// A process that is stopped, and goes on when this is dropped: a stopped server does not end, either.
struct Stopped(Pid);

impl Stopped {
    fn new(process: Pid) -> Self {
        kill_process(process, Signal::STOP).unwrap();
        Self(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn the_end_of_a_turn_does_not_wait_for_tmux() {
    let stage = Attached::with_setup();
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.wait_for_counts(" 0. 1* 0+ 0! ");
    let server: i32 = stage.tmux.run(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap();
    let stopped = Stopped::new(Pid::from_raw(server).unwrap());
    stage.fire(&pane, "one", "Stop", json!({}));
    assert_eq!(stage.sandbox.error_log(), "", "a hook that waits gives up, and logs that");
    drop(stopped);
    stage.wait_for_counts(" 0. 0* 1+ 0! ");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn a_prompt_waits_little_for_tmux_and_is_shown_later() {
    let stage = Attached::with_setup();
    let pane = stage.client();
    stage.fire(&pane, "one", "SessionStart", json!({}));
    stage.wait_for_counts(" 1. 0* 0+ 0! ");
    let server: i32 = stage.tmux.run(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap();
    let stopped = Stopped::new(Pid::from_raw(server).unwrap());
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    assert_eq!(stage.sandbox.error_log(), "", "what is not shown in time is left to another process");
    drop(stopped);
    stage.wait_for_counts(" 0. 1* 0+ 0! ");
    assert_eq!(stage.sandbox.error_log(), "");
}

/// Whoever holds the lock shows what it has read before. What is stored meanwhile is shown after it.
#[test]
fn two_processes_show_the_rows_in_order() {
    let stage = Attached::with_setup();
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    let locks: Vec<_> = fs::read_dir(stage.sandbox.data_dir().join("tmux"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "lock"))
        .collect();
    let [lock] = &locks[..] else { panic!("{locks:?}") };
    let lock = fs::File::open(lock).unwrap();
    lock.lock_exclusive().unwrap();
    stage.fire(&pane, "one", "Stop", json!({}));
    stage.wait_for_status("one", "completed");
    assert!(stage.screen().contains(" 0. 1* 0+ 0! "), "{}", stage.screen());
    stage.tmux.run(&["set-option", "-g", "@longhaul-status", "an older status"]);
    drop(lock);
    stage.wait_for_counts(" 0. 0* 1+ 0! ");
}
