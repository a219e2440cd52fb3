//! `longhaul reopen`: sessions come back after the death of their tmux server.

mod hostile;
mod offer;
mod refused;
mod scene;
mod undisturbed;

use std::fs;

use serde_json::{Value, json};

use self::scene::{Scene, Spot};
use crate::poll::{DEADLINE, wait_until};

/// Six sessions in two tmux sessions, not in the order of their windows.
const SIX: [Spot; 6] = [
    Spot { id: "00000000-0000-4000-8000-000000000001", session: "api", index: 4, name: "parser", project: "one" },
    Spot { id: "00000000-0000-4000-8000-000000000002", session: "web", index: 2, name: "styles", project: "two" },
    Spot { id: "00000000-0000-4000-8000-000000000003", session: "api", index: 1, name: "tests", project: "one" },
    Spot { id: "00000000-0000-4000-8000-000000000004", session: "web", index: 7, name: "forms", project: "two" },
    Spot { id: "00000000-0000-4000-8000-000000000005", session: "api", index: 2, name: "docs", project: "three" },
    Spot { id: "00000000-0000-4000-8000-000000000006", session: "web", index: 1, name: "images", project: "two" },
];

#[test]
fn six_sessions_come_back_each_in_its_window_with_its_conversation() {
    let mut scene = Scene::new();
    for spot in &SIX {
        scene.start(spot);
    }
    let before = scene.windows();
    scene.kill_server();
    // As the last Stop does, if the server dies meanwhile.
    scene.longhaul(&["tmux", "show-turn-end", "--", SIX[5].id]);
    let listed = scene.longhaul(&["reopen", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 6);
    // The newest first.
    assert_eq!(listed[0]["session"], SIX[5].id);
    assert_eq!(listed[0]["last_prompt"], format!("work on images"));
    assert_eq!((&listed[0]["status"], &listed[0]["project"]), (&json!("completed"), &json!("two")));
    let reopened = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(reopened.status, Some(0), "{reopened:?}");
    assert_eq!(scene.windows(), before);
    for spot in &SIX {
        let client = scene.resumed(spot.id);
        assert_eq!(client.state().session_id, spot.id);
        // It goes on with its own conversation.
        client.replies(["more"]);
        client.submit("go on");
        client.wait_for_state("the turn", |state| state.stops == 1);
        let transcript = scene.transcript(spot);
        assert!(transcript.contains(&format!("work on {}", spot.name)) && transcript.contains("go on"), "{transcript}");
    }
    let again = scene.longhaul(&["reopen", "--yes"]);
    assert!(again.stderr.contains("Nothing to reopen"), "{again:?}");
    assert_eq!(scene.windows(), before);
    assert_eq!(scene.sandbox.error_log(), "");
}

#[test]
fn an_interrupted_reopening_goes_on_where_it_stopped() {
    let mut scene = Scene::new();
    for spot in &SIX {
        scene.start(spot);
    }
    let before = scene.windows();
    scene.kill_server();
    let mut first = scene.sandbox.executable("longhaul").args(["reopen", "--yes"]).spawn().unwrap();
    wait_until(DEADLINE, "two windows", || scene.started().len() >= SIX.len() + 2);
    first.kill().unwrap();
    first.wait().unwrap();
    let opened = scene.started().len() - SIX.len();
    assert!((2..6).contains(&opened), "{opened} were opened before it was killed");
    let second = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(second.status, Some(0), "{second:?}");
    assert_eq!(scene.windows(), before);
    assert_eq!(scene.started().len(), 2 * SIX.len(), "each once");
}

#[test]
fn a_client_that_still_starts_after_an_interruption_is_not_opened_twice() {
    let mut scene = Scene::new();
    scene.start(&SIX[0]);
    let before = scene.windows();
    scene.kill_server();
    scene.slow_client();
    let mut first = scene.sandbox.executable("longhaul").args(["reopen", "--yes"]).spawn().unwrap();
    wait_until(DEADLINE, "the window", || scene.tmux.try_run(&["list-windows", "-a"]).contains("parser"));
    first.kill().unwrap();
    first.wait().unwrap();
    let second = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(second.status, Some(0), "{second:?}");
    assert_eq!(scene.windows(), before);
    assert_eq!(scene.started().len(), 2, "opened once");
    // The window closes with its client, as before.
    assert_eq!(scene.tmux.run(&["show-options", "-p", "-t", "api:4", "-v", "remain-on-exit"]), "");
}

#[test]
fn a_window_that_was_not_moved_before_an_interruption_is_moved() {
    let mut scene = Scene::new();
    let spot = &SIX[0];
    scene.start(spot);
    let before = scene.windows();
    scene.kill_server();
    // What is there if the first run is killed between the two commands to tmux.
    let [client, release] = scene.held_client();
    let [folder, client] = [scene.folder(spot), client].map(|path| path.to_str().unwrap().to_owned());
    let window = ["new-session", "-d", "-s", spot.session, "-n", spot.name, "-c", &folder];
    scene.tmux.run(&[&window[..], &[&client, "--resume", spot.id]].concat());
    assert_eq!(scene.windows(), ["api:0 parser one"]);
    let mut second = scene.sandbox.executable("longhaul").args(["reopen", "--yes"]).spawn().unwrap();
    wait_until(DEADLINE, "the window to be moved", || scene.windows() == before);
    fs::write(release, "").unwrap();
    assert!(second.wait().unwrap().success());
    assert_eq!(scene.windows(), before);
    assert_eq!(scene.started().len(), 2, "opened once");
}

#[test]
fn two_at_once_open_every_session_once() {
    let mut scene = Scene::new();
    for spot in &SIX[..3] {
        scene.start(spot);
    }
    let before = scene.windows();
    scene.kill_server();
    let start = || {
        let mut command = scene.sandbox.executable("longhaul");
        command.args(["reopen", "--yes"]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(), start()];
    let outputs = both.map(|child| child.wait_with_output().unwrap());
    assert_eq!(scene.windows(), before);
    assert_eq!(scene.started().len(), 6, "each once");
    assert!(outputs.iter().any(|output| output.status.success()), "{outputs:?}");
    let texts = outputs.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).concat();
    let is_said = ["another `longhaul reopen` is running", "Nothing to reopen", "run, after"];
    assert!(
        is_said.iter().filter(|text| texts.contains(*text)).count() >= 2 || texts.matches("run, after").count() == 2,
        "{texts}"
    );
}

#[test]
fn dead_sessions_do_not_count_as_running() {
    let mut scene = Scene::new();
    let client = scene.start(&SIX[0]);
    client.turn();
    assert_eq!(scene.longhaul_inside(&["status", "--json"]).json()[0]["status"], "working");
    scene.kill_server();
    // Seen from outside of tmux.
    assert_eq!(scene.longhaul(&["status", "--json"]).json(), json!([]));
    assert_eq!(scene.longhaul(&["reopen", "--json"]).json()[0]["session"], SIX[0].id);
}

#[test]
fn only_the_chosen_sessions_are_opened() {
    let mut scene = Scene::new();
    for spot in &SIX[..3] {
        scene.start(spot);
    }
    scene.kill_server();
    let nothing = scene.longhaul(&["reopen"]);
    assert_eq!(nothing.status, Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("cannot ask for confirmation without a terminal: add --yes"), "{nothing:?}");
    let planned = scene.longhaul(&["reopen", "--dry-run"]);
    assert_eq!(planned.status, Some(0));
    let claude = scene.sandbox.path("bin/claude").display().to_string();
    let lines: Vec<&str> = planned.stdout.lines().filter(|line| line.starts_with("Would")).collect();
    let line = |window: &str, id: &str| {
        format!("Would open {window}: {claude} --resume {id} --permission-mode default --model claude-opus-5-5")
    };
    assert_eq!(
        lines,
        [line("api:1 tests", SIX[2].id), line("api:4 parser", SIX[0].id), line("web:2 styles", SIX[1].id)]
    );
    let one = scene.longhaul(&["reopen", "--yes", SIX[1].id]);
    assert_eq!(one.status, Some(0), "{one:?}");
    assert_eq!(scene.windows(), ["web:2 styles two"]);
    let unknown = scene.longhaul(&["reopen", "--yes", "ffff"]);
    assert_eq!(unknown.status, Some(1), "{unknown:?}");
    let dismissed = scene.longhaul(&["reopen", "--dismiss", "--yes", "--json"]);
    assert!(dismissed.stderr.contains("Removed 2 sessions from the list."), "{dismissed:?}");
    let listed: Vec<Value> = serde_json::from_str(&dismissed.stdout).unwrap();
    assert_eq!(listed.len(), 2, "{dismissed:?}");
    assert!(scene.longhaul(&["reopen", "--yes"]).stderr.contains("Nothing to reopen"));
}
