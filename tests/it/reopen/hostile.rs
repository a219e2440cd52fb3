//! Names that tmux would expand, ids that a client would take for an option, and sockets of another user.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

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
    scene.start_in(&spot, &escaped);
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
    let database = scene.sandbox.database();
    database.execute("UPDATE session_places SET session_id = '--dangerously-skip-permissions'", []).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("cannot be reopened: its id is not one that claude uses"), "{outcome:?}");
    assert_eq!(scene.started().len(), 1);
}

#[test]
fn nothing_is_sent_to_a_socket_that_another_user_could_have_created() {
    let spot = Spot { id: "00000000-0000-4000-8000-00000000000d", session: "s", index: 0, name: "w", project: "p" };
    let mut scene = Scene::new();
    scene.start(&spot);
    scene.kill_server();
    let (socket, folder) = (scene.tmux.socket().clone(), scene.sandbox.path(""));
    fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    for arguments in [&["reopen", "--dry-run"][..], &["reopen", "--yes"]] {
        let outcome = scene.longhaul(arguments);
        assert_eq!(outcome.status, Some(1), "{arguments:?}: {outcome:?}");
        let printed = outcome.stdout + &outcome.stderr;
        assert!(printed.contains("every user can replace it"), "{arguments:?}: {printed}");
    }
    scene.longhaul(&["goto", spot.id]);
    scene.longhaul(&["send", spot.id, "hello"]);
    scene.longhaul_in(&socket, &["tmux", "refresh"]);
    scene.longhaul_in(&socket, &["doctor"]);
    listener.set_nonblocking(true).unwrap();
    let connected = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(connected, Err(ErrorKind::WouldBlock), "nothing has connected");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
}
