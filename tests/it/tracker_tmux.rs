//! The tracker on the screen of a real tmux client.

mod turn_end;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::attached::Attached;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, bin_dir};

/// Returns everything that setup may touch.
fn everything(stage: &Attached) -> Vec<String> {
    let of = |args: &[&str]| stage.tmux.run(args).lines().map(str::to_owned).collect::<Vec<_>>();
    [
        of(&["show-options", "-g"]),
        of(&["show-options", "-gw"]),
        of(&["show-options", "-s"]),
        of(&["show-hooks", "-g"]),
        of(&["show-hooks", "-gw"]),
        of(&["list-keys"]),
    ]
    .concat()
}

#[test]
fn setup_shows_the_counts_and_every_hook_changes_them_on_every_screen() {
    let stage = Attached::new();
    let second = stage.attach();
    stage.tmux.run(&["set-option", "-g", "@longhaul-status-interval", "1"]);
    assert_eq!(stage.longhaul(&["tmux", "status-bar"]), "");
    assert_eq!(stage.longhaul(&["tmux", "setup"]), "");
    stage.wait_for_counts(" 0. 0* 0+ 0! ");
    let pane = stage.client();
    stage.fire(&pane, "one", "SessionStart", json!({}));
    stage.wait_for_counts(" 1. 0* 0+ 0! ");
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.wait_for_counts(" 0. 1* 0+ 0! ");
    stage.fire(&pane, "one", "PermissionRequest", json!({}));
    stage.wait_for_counts(" 0. 0* 0+ 1! ");
    wait_until(DEADLINE, "the second screen", || stage.screen_of(&second).contains(" 0. 0* 0+ 1! "));
    let option = stage.tmux.run(&["show-options", "-gv", "@longhaul-status"]);
    assert_eq!(option, "0. 0* 0+ #[fg=white,bg=red,bold]1!#[default]");
    assert_eq!(stage.longhaul(&["tmux", "status-bar"]).trim_end(), option);
    assert_eq!(stage.tmux.format(&pane, "#{@longhaul-state}"), "blocked");
    // The timer goes on without any hook: tmux runs `refresh` by itself.
    stage.let_pass(185);
    stage.wait_for_counts(" 0. 0* 0+ 1!3m ");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn the_menu_opens_on_the_key_and_jumps_to_the_pane() {
    let stage = Attached::with_setup();
    let (first, second) = (stage.client(), stage.client());
    for (pane, session) in [(&first, "first"), (&second, "second")] {
        stage.fire(pane, session, "UserPromptSubmit", json!({ "cwd": format!("/work/{session}"), "prompt": "do it" }));
    }
    let listed: serde_json::Value = serde_json::from_str(&stage.longhaul(&["status", "--json"])).unwrap();
    let of_second = listed.as_array().unwrap().iter().find(|row| row["session"] == "second");
    let number = of_second.unwrap()["number"].to_string();
    stage.fire(&second, "second", "Stop", json!({}));
    stage.press(&["C-b", "a"]);
    stage.wait_for_screen("AI Agents (1/1)");
    let screen = stage.screen();
    let at = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{screen}"));
    assert!(at("+ second  do it") < at("* first  do it") && at("* first") < at("Quit"), "{screen}");
    let line = screen.lines().find(|line| line.contains("+ second")).unwrap();
    assert!(line.contains(&format!("({number})")), "the number is that of `longhaul status`: {screen}");
    assert_ne!(stage.shown(), second.0);
    stage.press(&[&number]);
    wait_until(DEADLINE, "the jump", || stage.shown() == second.0);
    stage.wait_for_status("second", "idle");
    stage.wait_for_counts(" 1. 1* 0+ 0! ");
    assert!(!stage.screen().contains("AI Agents"));
}

#[test]
fn the_menu_has_pages_and_a_word_when_it_is_empty() {
    let stage = Attached::new();
    stage.tmux.run(&["set-option", "-g", "@longhaul-items-per-page", "1"]);
    stage.tmux.run(&["set-option", "-g", "@longhaul-key", "M"]);
    stage.tmux.run(&["set-option", "-g", "@claude-tracker-key-quit", "x"]);
    stage.longhaul(&["tmux", "setup"]);
    stage.press(&["C-b", "M"]);
    stage.wait_for_screen("No AI agents are running");
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({ "cwd": "/work/one" }));
    let pane = stage.client();
    stage.fire(&pane, "two", "UserPromptSubmit", json!({ "cwd": "/work/two" }));
    stage.press(&["C-b", "M"]);
    stage.wait_for_screen("AI Agents (1/2)");
    assert!(stage.screen().contains("* one") && !stage.screen().contains("* two"));
    stage.press(&["i"]);
    stage.wait_for_screen("AI Agents (2/2)");
    assert!(stage.screen().contains("* two"));
    stage.press(&["o"]);
    stage.wait_for_screen("AI Agents (1/2)");
    stage.press(&["x"]);
    wait_until(DEADLINE, "the menu's end", || !stage.screen().contains("AI Agents"));
}

#[test]
fn the_menu_fits_a_small_screen() {
    let stage = Attached::with_setup();
    for n in 0..9 {
        let pane = stage.client();
        let cwd = format!("/work/a-project-with-a-long-name-{n}");
        stage.fire(
            &pane,
            &format!("s{n}"),
            "UserPromptSubmit",
            json!({ "cwd": cwd, "prompt": "many words ".repeat(8) }),
        );
    }
    stage.resize(40, 12);
    stage.press(&["C-b", "a"]);
    stage.wait_for_screen("AI Agents (1/2)");
    assert!(stage.screen().contains("* a-project-with-a-long-name-0 "), "{}", stage.screen());
}

#[test]
fn the_row_of_a_killed_pane_goes_and_a_client_without_a_row_is_found() {
    let stage = Attached::with_setup();
    let (killed, kept) = (stage.client(), stage.client());
    stage.fire(&killed, "killed", "UserPromptSubmit", json!({}));
    stage.fire(&kept, "kept", "UserPromptSubmit", json!({}));
    stage.tmux.run(&["kill-pane", "-t", &killed.0]);
    let unknown = stage.client();
    stage.refresh_after(1);
    let expected = [("kept", "working"), (&format!("scan-{}", unknown.0.trim_start_matches('%')), "idle")];
    let expected = expected.map(|(session, status)| (session.to_owned(), status.to_owned()));
    // The refresh that tmux runs by itself may have been the one that looked for the dead.
    wait_until(DEADLINE, "the rows", || stage.statuses() == expected);
    stage.wait_for_counts(" 1. 1* 0+ 0! ");
    assert_eq!(stage.longhaul(&["tmux", "cleanup"]), "");
    stage.tmux.run(&["kill-pane", "-t", &unknown.0]);
    let removed = format!("{}: removed, its pane is gone\n", expected[1].0);
    let printed = stage.longhaul(&["tmux", "cleanup"]);
    // The refresh that tmux runs by itself may have removed it already.
    assert!(printed == removed || (printed.is_empty() && stage.statuses() == expected[..1]), "{printed}");
    stage.wait_for_counts(" 0. 1* 0+ 0! ");
}

#[test]
fn sourcing_the_entry_point_again_forgets_nothing_and_adds_nothing() {
    let stage = Attached::new();
    let entry = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longhaul.tmux").canonicalize().unwrap();
    let source = || stage.tmux.run(&["run-shell", entry.to_str().unwrap()]);
    assert_eq!(source(), "");
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.fire(&pane, "one", "PermissionRequest", json!({}));
    let before = everything(&stage);
    source();
    source();
    assert_eq!(everything(&stage), before);
    let right = stage.tmux.run(&["show-options", "-gv", "status-right"]);
    assert_eq!(right.matches("longhaul-status").count(), 1, "{right}");
    assert_eq!(stage.statuses(), [("one".to_owned(), "blocked".to_owned())]);
    stage.wait_for_counts(" 0. 0* 0+ 1! ");
}

#[test]
fn teardown_leaves_tmux_as_it_was() {
    let stage = Attached::new();
    stage.tmux.run(&["set-hook", "-g", "session-window-changed", "display-message mine"]);
    stage.tmux.run(&["bind-key", "a", "display-message", "mine too"]);
    let before = everything(&stage);
    stage.longhaul(&["tmux", "setup"]);
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    stage.wait_for_counts(" 0. 1* 0+ 0! ");
    assert_ne!(everything(&stage), before);
    // A refresh that tmux has begun before may still write its line; then once more leaves nothing.
    wait_until(DEADLINE, "tmux as it was", || {
        stage.longhaul(&["tmux", "teardown"]);
        everything(&stage) == before
    });
    assert_eq!(stage.tmux.run(&["show-options", "-p", "-t", &pane.0]), "");
    wait_until(DEADLINE, "the status line of before", || !stage.screen().contains(" 0. 1*"));
}

#[test]
fn names_that_tmux_would_run_are_shown() {
    let stage = Attached::new();
    stage.tmux.run(&["set-option", "-g", "@longhaul-show-project", "1"]);
    stage.longhaul(&["tmux", "setup"]);
    let project = stage.sandbox.path("#(touch pwned)");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(project.join(".git/HEAD"), "ref: refs/heads/#(touch${IFS}pwned)'$(touch${IFS}pwned)\n").unwrap();
    let pane = stage.client();
    let prompt = "#(touch pwned) #{pid} '; touch pwned ; \"$(touch pwned)";
    stage.fire(&pane, "one", "UserPromptSubmit", json!({ "cwd": project, "prompt": prompt }));
    stage.wait_for_screen(" 0! @#(touch pwned) ");
    stage.press(&["C-b", "a"]);
    stage.wait_for_screen("AI Agents (1/1)");
    stage.wait_for_screen(
        "* #(touch pwned)/#(touch${IFS}pwned)'$(touch${IFS}pwned)  #(touch pwned) #{pid} '; touch pwned",
    );
    stage.press(&["1"]);
    wait_until(DEADLINE, "the jump", || stage.shown() == pane.0);
    stage.fire(&pane, "one", "Stop", json!({}));
    stage.refresh_after(10);
    stage.wait_for_status("one", "idle");
    assert_eq!(files_called(&stage.sandbox.path(""), "pwned"), 0);
}

fn files_called(dir: &Path, name: &str) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_called(&entry.path(), name),
            _ => usize::from(entry.file_name().to_string_lossy().starts_with(name)),
        })
        .sum()
}

#[test]
fn an_executable_in_a_folder_of_any_name_is_found_by_tmux() {
    let stage = Attached::new();
    stage.tmux.run(&["set-option", "-g", "@longhaul-status-interval", "1"]);
    let dir = stage.sandbox.path("it's \"a\" $dir #{pid}, #(touch pwned)} %H;");
    fs::create_dir(&dir).unwrap();
    // Not fs::copy: what another test's thread starts meanwhile would hold the file open for writing.
    let copied = Outcome::of(stage.sandbox.program("cp").arg(bin_dir().join("longhaul")).arg(&dir), b"");
    assert_eq!(copied.status, Some(0), "{copied:?}");
    let mut setup = stage.sandbox.program(dir.join("longhaul"));
    setup.env("TMUX", stage.tmux.variable()).args(["tmux", "setup"]);
    let outcome = Outcome::of(&mut setup, b"");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let pane = stage.client();
    stage.fire(&pane, "one", "UserPromptSubmit", json!({}));
    // tmux runs `refresh` by itself.
    fs::remove_file(stage.sandbox.data_dir().join("status")).unwrap();
    wait_until(DEADLINE, "a refresh", || stage.sandbox.data_dir().join("status").exists());
    stage.press(&["C-b", "a"]);
    stage.wait_for_screen("AI Agents (1/1)");
    stage.press(&["1"]);
    wait_until(DEADLINE, "the jump", || stage.shown() == pane.0);
    assert_eq!(files_called(&stage.sandbox.path(""), "pwned"), 0);
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn goto_and_next_jump_and_say_what_they_cannot_find() {
    let stage = Attached::new();
    let (old, new, done) = (stage.client(), stage.client(), stage.client());
    for (pane, session) in [(&done, "done"), (&new, "new"), (&old, "old")] {
        stage.fire(pane, session, "UserPromptSubmit", json!({}));
    }
    let fails = |args: &[&str], message: &str| {
        let outcome = Outcome::of(&mut stage.command(args), b"");
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(1), message), "{args:?}");
    };
    let nobody = Outcome::of(&mut stage.command(&["next"]), b"");
    assert_eq!((nobody.status, nobody.stderr.as_str()), (Some(0), "No session waits for you.\n"));
    stage.fire(&done, "done", "Stop", json!({}));
    stage.fire(&old, "old", "PermissionRequest", json!({}));
    stage.longhaul(&["next"]);
    assert_eq!(stage.shown(), old.0);
    stage.fire(&old, "old", "UserPromptSubmit", json!({}));
    stage.longhaul(&["next"]);
    assert_eq!(stage.shown(), done.0);
    stage.wait_for_status("done", "idle");
    stage.longhaul(&["tmux", "goto", &new.0]);
    assert_eq!(stage.shown(), new.0);
    stage.longhaul(&["tmux", "goto", &stage.tmux.format(&old, "#{session_name}:#{window_index}.#{pane_index}")]);
    assert_eq!(stage.shown(), old.0);
    stage.longhaul(&["tmux", "goto", "done"]);
    assert_eq!(stage.shown(), done.0);
    fails(
        &["tmux", "goto", "%99"],
        "longhaul: there is no such pane, target or session in this tmux server: \"%99\"\n",
    );
    fails(
        &["tmux", "goto", "x'; y"],
        "longhaul: there is no such pane, target or session in this tmux server: \"x'; y\"\n",
    );
    fails(&["tmux", "goto", ""], "longhaul: there is no such pane, target or session in this tmux server: \"\"\n");
    fails(&["tmux", "pane-focus", "%99"], "longhaul: there is no such pane in this tmux server: \"%99\"\n");
    let outside = stage.sandbox.longhaul(&["tmux", "setup"]);
    assert_eq!(outside.stderr, "longhaul: not inside tmux: $TMUX does not name a server\n");
    stage.fire(&done, "done", "UserPromptSubmit", json!({}));
    stage.fire(&done, "done", "PermissionRequest", json!({}));
    let outside = stage.sandbox.longhaul(&["next"]);
    let target = stage.tmux.format(&done, "#{session_name}:#{window_index}.#{pane_index}");
    assert!(outside.stdout.starts_with("blocked") && outside.stdout.contains(&target), "{outside:?}");
}
