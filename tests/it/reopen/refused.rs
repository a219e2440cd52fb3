//! Sessions that cannot be reopened are named with the reason, and do not stop the others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::SIX;
use super::scene::Scene;
use crate::sandbox::Outcome;

#[test]
fn a_missing_folder_or_transcript_and_a_replaced_folder_are_said() {
    let mut scene = Scene::new();
    let spots = [SIX[0], SIX[1], SIX[4]];
    for spot in &spots {
        scene.start(spot);
    }
    let transcript = scene.transcript_path(&spots[0]);
    scene.kill_server();
    fs::remove_file(transcript).unwrap();
    fs::rename(scene.folder(&spots[1]), scene.sandbox.path("moved")).unwrap();
    fs::rename(scene.folder(&spots[2]), scene.sandbox.path("elsewhere")).unwrap();
    symlink(scene.sandbox.path("elsewhere"), scene.folder(&spots[2])).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    for said in [
        "it has no transcript: no prompt was sent yet, or the file was deleted",
        "projects/two does not exist any more",
        "projects/three is now a link to",
    ] {
        assert!(outcome.stdout.contains(said), "{said}: {outcome:?}");
    }
    assert_eq!(scene.started().len(), spots.len(), "none was started");
    // A folder that is back can be used again.
    fs::rename(scene.sandbox.path("moved"), scene.folder(&spots[1])).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(1), "the others are still missing");
    assert_eq!(scene.windows(), ["web:2 styles two"]);
}

#[test]
fn a_client_that_ends_at_once_is_reported_with_its_last_line() {
    let mut scene = Scene::new();
    scene.start(&SIX[0]);
    scene.start(&SIX[1]);
    scene.kill_server();
    let claude = scene.sandbox.path("bin/claude");
    fs::remove_file(&claude).unwrap();
    fs::write(&claude, "#!/bin/sh\nsleep 0.5\necho 'The API key is not valid'\nexit 1\n").unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.stdout.contains("not reopened: The API key is not valid"), "{outcome:?}");
    let listed = scene.longhaul(&["reopen", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "they can be tried again");
    // It can also end before tmux has answered.
    fs::write(&claude, "#!/bin/sh\nexit 1\n").unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert!(outcome.stdout.contains("not reopened: its client ended at once"), "{outcome:?}");
    // Without a client, nothing is tried.
    fs::remove_file(&claude).unwrap();
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert!(outcome.stdout.contains("cannot be reopened: there is no claude on the PATH"), "{outcome:?}");
}

#[test]
fn without_memory_no_further_session_is_opened() {
    let mut scene = Scene::new();
    scene.start(&SIX[0]);
    scene.kill_server();
    let mut command = scene.sandbox.executable("longhaul");
    let outcome = Outcome::of(command.args(["reopen", "--yes"]).env("LONGHAUL_MEMORY_MB", "1000000000"), b"");
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    let said = "MB are wanted for each session. 1 session left: run `longhaul reopen` again later.";
    assert!(outcome.stderr.contains(said), "{outcome:?}");
    assert_eq!(scene.started().len(), 1);
    assert_eq!(scene.longhaul(&["reopen", "--yes"]).status, Some(0));
}
