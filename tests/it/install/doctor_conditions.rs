//! `longhaul doctor` where everything is installed and nothing works.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use serde_json::json;

use super::Machine;
use super::doctor::{finding, finds};
use crate::sandbox::{Outcome, payload};
use crate::small_disk::Small;

#[test]
fn a_variable_that_switches_every_hook_off_is_found() {
    let machine = Machine::installed();
    let mut doctor = machine.sandbox.program(machine.link());
    doctor.args(["doctor", "--json"]).env("LONGHAUL_DISABLE", "1");
    finding(&Outcome::of(&mut doctor, b""), "disabled", "broken", "the environment sets LONGHAUL_DISABLE=1");
    machine.write_settings(r#"{"env":{"LONGHAUL_DISABLE":"1"}}"#);
    finds(&machine, "disabled", "broken", ".claude/settings.json sets LONGHAUL_DISABLE=1");
}

#[test]
fn broken_settings_are_not_a_plugin_that_is_switched_off() {
    let machine = Machine::installed();
    machine.write_settings(r#"{"enabledPlugins": {"longhaul@longhaul": true},"#);
    // That is what the client says then.
    fs::write(machine.sandbox.path("client/disabled"), "").unwrap();
    let advice = finds(&machine, "settings", "broken", "settings.json is not JSON");
    assert!(advice.contains("correct the file"), "{advice}");
    let all = machine.longhaul(&["doctor", "--json"]).stdout;
    assert!(!all.contains("plugin enable"), "{all}");
    // An editor's byte-order mark breaks nothing.
    fs::remove_file(machine.sandbox.path("client/disabled")).unwrap();
    machine.write_settings("\u{feff}{}");
    assert!(!machine.longhaul(&["doctor", "--json"]).stdout.contains("\"settings\""));
}

#[test]
fn a_plugin_that_only_the_project_switches_on_is_enabled_there() {
    let machine = Machine::installed();
    // The client is asked in the root folder, where it calls such a plugin disabled.
    fs::write(machine.sandbox.path("client/project"), machine.sandbox.project().to_str().unwrap()).unwrap();
    finds(&machine, "hooks", "broken", "is disabled");
    let folder = machine.sandbox.project().join(".claude");
    fs::create_dir_all(&folder).unwrap();
    let switch = |name: &str, is_on: bool| {
        let settings = json!({ "enabledPlugins": { "longhaul@longhaul": is_on } });
        fs::write(folder.join(name), settings.to_string()).unwrap();
    };
    switch("settings.json", true);
    let all = machine.longhaul(&["doctor", "--json"]).stdout;
    assert!(!all.contains("is disabled"), "{all}");
    // The settings that only this user has for the project come after those of the project.
    switch("settings.local.json", false);
    finds(&machine, "hooks", "broken", "is disabled");
}

#[test]
fn another_version_on_the_path_than_in_the_plugin_is_found() {
    let machine = Machine::installed();
    assert!(!machine.longhaul(&["doctor", "--json"]).stdout.contains("\"versions\""));
    let newer = machine.bundle("2.0.0");
    fs::remove_file(machine.link()).unwrap();
    symlink(newer, machine.link()).unwrap();
    let what = "`longhaul` on the PATH is version 2.0.0, the plugin longhaul@longhaul is version 1.0.0";
    let advice = finds(&machine, "versions", "warning", what);
    assert!(advice.contains("longhaul install"), "{advice}");
}

#[test]
fn a_client_that_hangs_is_not_waited_for() {
    let machine = Machine::installed();
    fs::write(machine.sandbox.path("tools/claude"), "#!/bin/sh\nexec sleep 300\n").unwrap();
    let begun = Instant::now();
    let outcome = machine.longhaul(&["doctor", "--json"]);
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    finding(&outcome, "client", "broken", "does not answer within");
    finding(&outcome, "hooks", "warning", "whether a plugin does cannot be checked");
}

#[test]
fn a_full_disk_is_not_a_damaged_database() {
    let machine = Machine::installed();
    let data = machine.sandbox.data_dir();
    let Some(_small) = Small::mount(&machine.sandbox, &data, "1m") else { return };
    fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "s" })));
    finds(&machine, "database", "ok", "no damage");
    let _ = fs::write(data.join("ballast"), vec![0; 2 << 20]);
    for beside in ["longhaul.db-shm", "longhaul.db-wal"] {
        let _ = fs::remove_file(data.join(beside));
    }
    let _ = fs::write(data.join("more-ballast"), vec![0; 2 << 20]);
    let advice = finds(&machine, "storage", "broken", "there is no space left for");
    assert!(advice.contains("free some space"), "{advice}");
    let all = machine.longhaul(&["doctor", "--json"]).stdout;
    assert!(!all.contains("is damaged") && !all.contains("renamed"), "{all}");
}

#[test]
fn a_disk_too_small_for_a_database_is_full() {
    let machine = Machine::installed();
    let data = machine.sandbox.data_dir();
    let Some(_small) = Small::mount(&machine.sandbox, &data, "64k") else { return };
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "s" })));
    finds(&machine, "storage", "broken", "there is no space left for");
    let all = machine.longhaul(&["doctor", "--json"]).stdout;
    assert!(!all.contains("is damaged"), "{all}");
}

#[test]
fn a_read_only_folder_is_found() {
    let machine = Machine::installed();
    let data = machine.sandbox.data_dir();
    if !rustix::process::geteuid().is_root() {
        fs::create_dir_all(&data).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o500)).unwrap();
        let advice = finds(&machine, "storage", "broken", "may not be written to by this user");
        fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        assert!(advice.contains("LONGHAUL_HOME"), "{advice}");
    }
    let Some(small) = Small::mount(&machine.sandbox, &data, "4m") else { return };
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "s" })));
    small.remount(&machine.sandbox, "ro");
    let advice = finds(&machine, "storage", "broken", "is on a read-only file system");
    assert!(advice.contains("mount it writable"), "{advice}");
    let all = machine.longhaul(&["doctor", "--json"]).stdout;
    assert!(!all.contains("is damaged"), "{all}");
    small.remount(&machine.sandbox, "rw");
}

#[test]
fn a_model_that_hooks_cannot_ask_is_found_and_why() {
    let machine = Machine::installed();
    assert!(!machine.longhaul(&["doctor", "--json"]).stdout.contains("\"model\""), "no model is wanted");
    machine.sandbox.write_config(r#"{"memory":{"model":{"via":"claude"}}}"#);
    finds(&machine, "model", "ok", "hooks start the worker");
    machine.sandbox.write_config(r#"{"memory":{"model":{"via":"api"}}}"#);
    let advice = finds(&machine, "model", "warning", "ANTHROPIC_API_KEY is not set");
    assert!(advice.contains("memory.model.via"), "{advice}");
}

#[test]
fn a_model_for_the_search_by_meaning_that_cannot_be_used_is_found() {
    let machine = Machine::installed();
    finds(&machine, "embeddings", "note", "compares words only");
    let configure = |embeddings: serde_json::Value| {
        machine.sandbox.write_config(&json!({ "memory": { "embeddings": embeddings } }).to_string());
    };
    let file = machine.sandbox.path("broken.lhvec");
    fs::write(&file, "LHVEC is not enough").unwrap();
    configure(json!(file));
    let advice = finds(&machine, "embeddings", "warning", "broken.lhvec");
    assert!(advice.contains("memory.embeddings"), "{advice}");
    let file = crate::memory_meaning::write_model(&machine.sandbox, "tiny", &[("login", [127, 0])]);
    configure(json!(file));
    finds(&machine, "embeddings", "ok", "uses the model tiny; no record has vectors yet");
    let note = |text: &str| assert!(machine.longhaul(&["memory", "save", text]).status == Some(0), "{text}");
    note("the login is slow");
    assert!(machine.longhaul(&["memory", "upkeep"]).status == Some(0));
    finds(&machine, "embeddings", "ok", "all 1 records have vectors");
    note("the login is fast");
    finds(&machine, "embeddings", "ok", "1 of 2 records have vectors: searches compute the rest");
    let endpoint = "http://127.0.0.1:1#tiny";
    configure(json!(endpoint));
    finds(&machine, "embeddings", "note", "it does not run");
    let trouble = json!({ "at": 1, "failures": 2, "error": "127.0.0.1:1 answered 404: no such model" });
    fs::write(machine.sandbox.data_dir().join("worker-embeddings.json"), trouble.to_string()).unwrap();
    let advice = finds(&machine, "embeddings", "warning", "2 times in a row: 127.0.0.1:1 answered 404");
    assert!(advice.contains("memory.embeddings"), "{advice}");
    configure(json!("off"));
    assert!(!machine.longhaul(&["doctor", "--json"]).stdout.contains("\"embeddings\""), "it is switched off");
}
