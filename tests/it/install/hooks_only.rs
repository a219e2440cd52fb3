//! Hooks in the user's settings.json, without a plugin.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::doctor::finds;
use super::{Machine, succeeds};
use crate::sandbox::payload;

const THEIRS: &str = concat!(
    "{\n\t\"z\": 1.50,\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}\n",
    "\t\t]\n\t},\n\t\"a\": \"\\u00e9\"\n}\n"
);

#[test]
fn hooks_are_merged_once_and_taken_out_to_the_byte() {
    let machine = Machine::new();
    machine.write_settings(THEIRS);
    fs::set_permissions(machine.settings(), Permissions::from_mode(0o640)).unwrap();
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    let once = machine.settings_text();
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    assert_eq!(machine.settings_text(), once);
    let settings: Value = serde_json::from_str(&once).unwrap();
    // The first session says what to try, as with the plugin.
    let told = machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({}))).json();
    assert!(told["systemMessage"].to_string().contains("`longhaul` shows all sessions"), "{told}");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "theirs");
    let ours = settings["hooks"]["Stop"][1]["hooks"][0]["command"].as_str().unwrap();
    assert!(fs::metadata(ours).is_ok(), "{ours}");
    assert_eq!(fs::read_to_string(machine.settings().with_extension("json.before-longhaul")).unwrap(), THEIRS);
    assert_eq!(fs::metadata(machine.settings()).unwrap().permissions().mode() & 0o777, 0o640);
    succeeds(&machine.longhaul(&["uninstall"]));
    assert_eq!(machine.settings_text(), THEIRS);
    assert!(!machine.settings().with_extension("json.before-longhaul").exists());
}

#[test]
fn the_plugin_and_the_hooks_are_never_there_together() {
    let machine = Machine::installed();
    succeeds(&machine.longhaul(&["install", "--hooks-only"]));
    assert_eq!(machine.plugins(), Value::Array(Vec::new()));
    assert!(machine.settings_text().contains("longhaul-hook"));
    finds(&machine, "bridge", "ok", "installed with hooks only");
    succeeds(&machine.longhaul(&["install"]));
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);
    assert!(!machine.settings_text().contains("longhaul-hook"));
}

#[test]
fn what_cannot_be_changed_is_left_as_it_is_and_nothing_is_installed() {
    for (text, mode, why) in [("{ // mine\n}\n", 0o644, "is not JSON"), ("{}\n", 0o444, "is read-only")] {
        let machine = Machine::new();
        machine.write_settings(text);
        fs::set_permissions(machine.settings(), Permissions::from_mode(mode)).unwrap();
        let before = machine.listing();
        let refused = machine.install("1.0.0", &["--hooks-only"]);
        assert_eq!(refused.status, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why) && refused.stderr.contains("settings.json"), "{refused:?}");
        assert_eq!(machine.listing(), before, "{why}");
    }
}

#[test]
fn a_settings_file_that_is_a_link_stays_one() {
    let machine = Machine::new();
    let real = machine.sandbox.home().join("dotfiles.json");
    fs::write(&real, THEIRS).unwrap();
    fs::create_dir_all(machine.sandbox.home().join(".claude")).unwrap();
    symlink(&real, machine.settings()).unwrap();
    let before = machine.listing();
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    assert!(fs::read_to_string(&real).unwrap().contains("longhaul-hook"));
    succeeds(&machine.longhaul(&["uninstall"]));
    assert_eq!(machine.listing(), before);
}

#[test]
fn another_folder_of_the_client_is_honoured() {
    let mut machine = Machine::new();
    let folder = machine.sandbox.path("elsewhere");
    machine.sandbox = machine.sandbox.with_env("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    assert!(!machine.settings().exists());
    assert!(fs::read_to_string(folder.join("settings.json")).unwrap().contains("longhaul-hook"));
}
