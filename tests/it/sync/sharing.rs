//! What leaves the machine when, around `share` and `unshare`.

use super::engine_trouble::fill_disk;
use super::machine::{Machine, circle, exchange};

/// `unshare` takes effect at once: what was not sent before stays here, also after sharing again, unless with its past.
#[test]
fn what_was_not_sent_before_unshare_stays_here() {
    let Some((server, a, b)) = circle() else { return };
    a.work("sent in time", "x");
    a.done(&["now"]);
    // One is in the log and could not be sent, the other is not in the log yet.
    let make_space = fill_disk(&server);
    a.work("stopped on its way", "x");
    a.refused(&["now"]);
    server.sql("team", make_space);
    a.work("too late", "x");
    let printed = a.done(&["unshare"]);
    assert!(printed.contains("was not sent yet stays here"), "{printed}");

    let arrived = |expected: [bool; 4]| {
        exchange(&[&a, &b]);
        let texts = ["sent in time", "stopped on its way", "too late", "after sharing again"];
        assert_eq!(texts.map(|text| b.remembers(text)), expected, "{texts:?}");
    };
    a.done(&["share"]);
    a.work("after sharing again", "x");
    arrived([true, false, false, true]);
    a.done(&["unshare"]);
    arrived([true, false, false, true]);
    a.done(&["share", "--past"]);
    arrived([true; 4]);
    assert_eq!(a.memory(), b.memory());
}

/// A folder can name the remote of any project, so the user is shown which one it names.
#[test]
fn sharing_names_the_address_by_which_the_project_is_recognised() {
    let machine = Machine::new("a");
    let circle = machine.sandbox.path("circle");
    std::fs::create_dir(&circle).unwrap();
    machine.done(&["init", &format!("folder:{}", circle.display())]);
    machine.git(&["remote", "set-url", "origin", "https://anna:hunter2@git.example/Team/app.git"]);
    let printed = machine.done(&["share"]);
    assert!(printed.starts_with("project is shared as git.example/team/app: what is recorded"), "{printed}");
    assert!(machine.done(&["share", "--name", "notes"]).starts_with("notes is shared: what is recorded"));
}
