//! The user's keybindings.json: the chord that submits, and what works without it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::{Machine, succeeds};

const OTHERS: &str =
    "{\n\t\"bindings\": [ {\"context\": \"Chat\", \"bindings\": {\"ctrl+e\": \"chat:externalEditor\"}} ]\n}\n";
const TAKEN: &str = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:undo"}}]}"#;
/// What a user has copied from another machine, or written by hand.
const OURS: &str =
    r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit","ctrl+x ctrl+x":"chat:stash"}}]}"#;

fn keybindings(machine: &Machine) -> PathBuf {
    machine.sandbox.home().join(".claude/keybindings.json")
}

/// Writes the file, with what a client that has been there leaves beside it.
fn write(machine: &Machine, text: &str) {
    fs::create_dir_all(machine.sandbox.home().join(".claude")).unwrap();
    fs::write(keybindings(machine), text).unwrap();
}

fn text(machine: &Machine) -> String {
    fs::read_to_string(keybindings(machine)).unwrap_or_default()
}

#[test]
fn the_chord_is_bound_once_and_the_file_goes_with_it() {
    let machine = Machine::new();
    let installed = machine.install("1.0.0", &[]);
    succeeds(&installed);
    assert!(installed.stdout.contains("bind the keys that submit"), "{installed:?}");
    assert!(text(&machine).contains(r#""ctrl+x ctrl+q": "chat:submit""#), "{}", text(&machine));
    assert_eq!(fs::metadata(keybindings(&machine)).unwrap().permissions().mode() & 0o777, 0o600);
    let once = text(&machine);
    let again = machine.install("1.0.0", &[]);
    assert!(!again.stdout.contains("chord") && text(&machine) == once, "{again:?}");
    succeeds(&machine.longhaul(&["uninstall"]));
    assert!(!keybindings(&machine).exists());
}

/// Other shapes are in the tests of `longhaul-setup`.
#[test]
fn every_shape_of_the_file_is_there_again_to_the_byte() {
    for (theirs, is_changed) in
        [(OTHERS, true), (TAKEN, true), ("", false), ("// mine\n{\"bindings\": []}\n", false), (OURS, false)]
    {
        let machine = Machine::new();
        write(&machine, theirs);
        fs::set_permissions(keybindings(&machine), Permissions::from_mode(0o640)).unwrap();
        let installed = machine.install("1.0.0", &[]);
        succeeds(&installed);
        assert_eq!(text(&machine) != theirs, is_changed, "{theirs:?}: {installed:?}");
        let is_refused = !is_changed && theirs != OURS;
        assert_eq!(installed.stderr.contains("It was not changed"), is_refused, "{theirs:?}: {installed:?}");
        succeeds(&machine.longhaul(&["uninstall"]));
        assert_eq!(fs::read(keybindings(&machine)).unwrap(), theirs.as_bytes());
        assert_eq!(fs::metadata(keybindings(&machine)).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!keybindings(&machine).with_extension("json.before-longhaul").exists());
    }
}

#[test]
fn a_read_only_file_and_a_link_that_leads_nowhere_do_not_keep_it_from_being_installed() {
    let machine = Machine::new();
    write(&machine, OTHERS);
    fs::set_permissions(keybindings(&machine), Permissions::from_mode(0o444)).unwrap();
    let installed = machine.install("1.0.0", &[]);
    succeeds(&installed);
    assert!(installed.stderr.contains("keybindings.json is read-only"), "{installed:?}");
    succeeds(&machine.longhaul(&["uninstall"]));
    assert_eq!(text(&machine), OTHERS);

    let machine = Machine::new();
    fs::create_dir_all(machine.sandbox.home().join(".claude")).unwrap();
    symlink("/nowhere/at/all", keybindings(&machine)).unwrap();
    let installed = machine.install("1.0.0", &[]);
    succeeds(&installed);
    assert!(installed.stderr.contains("target does not exist"), "{installed:?}");
    succeeds(&machine.longhaul(&["uninstall"]));
    assert!(fs::symlink_metadata(keybindings(&machine)).is_ok());
}

#[test]
fn it_can_be_left_out_or_only_shown() {
    let machine = Machine::new();
    write(&machine, OTHERS);
    let shown = machine.install("1.0.0", &["--dry-run"]);
    assert!(shown.stdout.contains("bind the keys that submit") && text(&machine) == OTHERS, "{shown:?}");
    let left = machine.install("1.0.0", &["--no-keybinding"]);
    succeeds(&left);
    assert!(!left.stdout.contains("bind the keys") && text(&machine) == OTHERS, "{left:?}");
}

/// Updates to another version.
fn update(machine: &Machine) {
    machine.bundle("2.0.0");
    let other = machine.sandbox.path("dist-2.0.0");
    succeeds(&machine.longhaul(&["update", "--from", other.to_str().unwrap()]));
}

#[test]
fn what_was_declined_stays_declined_in_updates() {
    let machine = Machine::new();
    write(&machine, OTHERS);
    succeeds(&machine.install("1.0.0", &["--no-keybinding"]));
    update(&machine);
    assert_eq!(text(&machine), OTHERS);
    succeeds(&machine.install("2.0.0", &["--keybinding"]));
    assert!(text(&machine).contains("chat:submit"), "{}", text(&machine));
    succeeds(&machine.longhaul(&["uninstall"]));
    assert_eq!(text(&machine), OTHERS);
}

#[test]
fn a_chord_that_was_bound_because_ours_was_taken_later_goes_with_the_first() {
    let machine = Machine::installed();
    let user = r#"{"context":"Global","bindings":{"ctrl+x ctrl+q":"app:toggleTodos"}}"#;
    let edited = text(&machine).replacen('[', &format!("[{user},"), 1);
    write(&machine, &edited);
    succeeds(&machine.install("1.0.0", &[]));
    assert!(text(&machine).contains("ctrl+q ctrl+x"), "{}", text(&machine));
    succeeds(&machine.longhaul(&["uninstall"]));
    let left: Value = serde_json::from_str(&text(&machine)).unwrap();
    assert_eq!(left, json!({ "bindings": [serde_json::from_str::<Value>(user).unwrap()] }));
}

#[test]
fn what_is_no_file_or_too_large_is_left_alone_and_not_waited_for() {
    let machine = Machine::new();
    fs::create_dir_all(machine.sandbox.home().join(".claude")).unwrap();
    mknodat(CWD, keybindings(&machine), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let check = |machine: &Machine| {
        let installed = machine.install("1.0.0", &[]);
        succeeds(&installed);
        assert!(installed.stderr.contains("It was not changed"), "{installed:?}");
        succeeds(&machine.longhaul(&["uninstall"]));
    };
    check(&machine);
    assert!(fs::symlink_metadata(keybindings(&machine)).unwrap().file_type().is_fifo());
    fs::remove_file(keybindings(&machine)).unwrap();

    fs::create_dir(keybindings(&machine)).unwrap();
    check(&machine);
    fs::remove_dir(keybindings(&machine)).unwrap();

    fs::File::create(keybindings(&machine)).unwrap().set_len(17 << 20).unwrap();
    check(&machine);
    assert_eq!(fs::metadata(keybindings(&machine)).unwrap().len(), 17 << 20);
}
