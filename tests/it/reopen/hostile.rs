//! Names that tmux would expand, and ids that a client would take for an option.

use rusqlite::Connection;

use super::scene::{Scene, Spot};

#[test]
fn names_and_folders_are_taken_literally() {
    let id = "00000000-0000-4000-8000-00000000000a";
    let spots = [
        Spot { id, session: "two words", index: 3, name: "#{pid} #(touch owned);", project: "plain" },
        Spot { id: "0b", session: "two words", index: 5, name: "-x ##,}", project: "plain" },
    ];
    let mut scene = Scene::new();
    for spot in &spots {
        scene.start(spot);
    }
    let before = scene.windows();
    assert_eq!(before, ["two words:3 #{pid} #(touch owned); plain", "two words:5 -x ##,} plain"]);
    scene.kill_server();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(scene.windows(), before);
    assert!(!scene.sandbox.path("projects/plain/owned").exists() && !scene.sandbox.project().join("owned").exists());
}

#[test]
fn a_folder_with_a_format_in_its_name_is_opened_literally() {
    let spot = Spot { id: "0a", session: "s", index: 0, name: "w", project: "p#{pid}#[x" };
    let mut scene = Scene::new();
    std::fs::create_dir_all(scene.folder(&spot)).unwrap();
    // The test's own command must escape it as well.
    let escaped = scene.folder(&spot).to_str().unwrap().replace("#{", "##{");
    scene.start_in(&spot, &escaped, &[]);
    scene.kill_server();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(scene.windows(), ["s:0 w p#{pid}#[x"]);
}

#[test]
fn an_id_that_is_an_option_is_never_passed_on() {
    let spot = Spot { id: "0c", session: "s", index: 0, name: "w", project: "p" };
    let mut scene = Scene::new();
    scene.start(&spot);
    scene.kill_server();
    let database = Connection::open(scene.sandbox.data_dir().join("longhaul.db")).unwrap();
    database.execute("UPDATE session_places SET session_id = '--dangerously-skip-permissions'", []).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("cannot be reopened: its id is not one that claude uses"), "{outcome:?}");
    assert_eq!(scene.started().len(), 1);
}
