//! `longhaul doctor` and `longhaul uninstall --purge`, with snapshots of files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::doctor::{finding, finds};
use super::{Machine, succeeds};
use crate::sandbox::Outcome;

/// Takes a snapshot of the project, which becomes a repository.
fn snapshot(machine: &Machine) -> Outcome {
    snapshot_that_is(machine, "-")
}

/// Takes a snapshot that is `pinned`, or not (`-`).
fn snapshot_that_is(machine: &Machine, pinned: &str) -> Outcome {
    let project = machine.sandbox.project();
    let mut git = machine.sandbox.program("git");
    succeeds(&Outcome::of(git.args(["init", "-q"]).current_dir(&project), b""));
    fs::write(project.join("file"), vec![b'x'; 100_000]).unwrap();
    let mut take = machine.sandbox.executable("longhaul-snapshot");
    Outcome::of(take.args(["s", "prompt", "1000", "", pinned]).current_dir(&project), b"")
}

/// Returns the only store of a repository.
fn store(machine: &Machine) -> PathBuf {
    let all = fs::read_dir(machine.sandbox.data_dir().join("snapshots")).unwrap();
    let all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn write_git(machine: &Machine, text: &str) {
    let git = machine.sandbox.path("tools/git");
    fs::write(&git, text).unwrap();
    fs::set_permissions(&git, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_git_that_is_missing_or_too_old_is_found() {
    let machine = Machine::installed();
    finds(&machine, "snapshots", "ok", "taken with git");
    write_git(&machine, "#!/bin/sh\necho git version 2.29.2\n");
    let advice = finds(&machine, "snapshots", "warning", "version 2.29 of git is older than 2.30");
    assert!(advice.contains("newer git"), "{advice}");
    write_git(&machine, "#!/bin/sh\necho git version 3.0.1\n");
    finds(&machine, "snapshots", "ok", "taken with git");
    fs::remove_file(machine.sandbox.path("tools/git")).unwrap();
    let mut doctor = machine.sandbox.program(machine.link());
    doctor.args(["doctor", "--json"]).env("PATH", machine.sandbox.path("tools"));
    let advice =
        finding(&Outcome::of(&mut doctor, b""), "snapshots", "warning", "no snapshots of files: cannot start git");
    assert!(advice.contains("install git"), "{advice}");
    machine.sandbox.write_config(r#"{"snapshots": {"enabled": false}}"#);
    let mut doctor = machine.sandbox.program(machine.link());
    doctor.args(["doctor", "--json"]).env("PATH", machine.sandbox.path("tools"));
    let disabled = Outcome::of(&mut doctor, b"").stdout;
    assert!(!disabled.contains("\"snapshots\""), "without snapshots no git is needed: {disabled}");
}

#[test]
fn a_snapshot_that_failed_is_reported_until_one_succeeds() {
    let machine = Machine::installed();
    succeeds(&snapshot(&machine));
    finds(&machine, "snapshots", "ok", "taken with git");
    let objects = store(&machine).join("objects");
    let aside = store(&machine).join("aside");
    fs::rename(&objects, &aside).unwrap();
    fs::write(&objects, "in the way").unwrap();
    snapshot(&machine);
    let advice = finds(&machine, "snapshots", "warning", "the last snapshot failed");
    assert!(advice.contains("longhaul.log"), "{advice}");
    assert!(machine.sandbox.error_log().contains("objects"), "{}", machine.sandbox.error_log());
    fs::remove_file(&objects).unwrap();
    fs::rename(&aside, &objects).unwrap();
    succeeds(&snapshot(&machine));
    finds(&machine, "snapshots", "ok", "taken with git");
}

#[test]
fn an_upkeep_that_failed_is_reported_until_one_succeeds() {
    let machine = Machine::installed();
    // It is old, but it does not expire.
    succeeds(&snapshot_that_is(&machine, "pinned"));
    let in_the_way = store(&machine).join("packed-refs");
    fs::create_dir_all(in_the_way.join("folder")).unwrap();
    machine.longhaul(&["memory", "upkeep"]);
    finds(&machine, "snapshots", "warning", "the upkeep of the snapshots");
    fs::remove_dir_all(&in_the_way).unwrap();
    succeeds(&machine.longhaul(&["memory", "upkeep"]));
    finds(&machine, "snapshots", "ok", "taken with git");
}

#[test]
fn a_pipe_in_the_place_of_ignore_rules_is_named_by_the_list_and_the_doctor() {
    let machine = Machine::installed();
    let rules = machine.sandbox.project().join(".gitignore");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &rules, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    succeeds(&snapshot(&machine));
    let listed = machine.longhaul(&["snapshots"]).stdout;
    assert!(listed.contains(".gitignore is not a regular file"), "{listed}");
    finds(
        &machine,
        "snapshots",
        "warning",
        ".gitignore is not a regular file of usual size, so that git cannot read its rules: remove it",
    );
    fs::remove_file(&rules).unwrap();
    succeeds(&snapshot(&machine));
    finds(&machine, "snapshots", "ok", "taken with git");
}

#[test]
fn a_store_above_its_cap_is_found() {
    let machine = Machine::installed();
    succeeds(&snapshot(&machine));
    machine.sandbox.write_config(r#"{"snapshots": {"max_store": 1000}}"#);
    let advice = finds(&machine, "snapshots", "warning", "more than snapshots.max_store");
    assert!(advice.contains("longhaul memory upkeep"), "{advice}");
}

#[test]
fn uninstalling_with_purge_deletes_every_snapshot_and_without_it_none() {
    let machine = Machine::installed();
    succeeds(&snapshot(&machine));
    succeeds(&machine.longhaul(&["uninstall", "--yes"]));
    assert!(store(&machine).join("objects").is_dir());
    succeeds(&machine.install("1.0.0", &[]));
    succeeds(&machine.longhaul(&["uninstall", "--purge", "--yes"]));
    assert!(!machine.sandbox.data_dir().join("snapshots").exists());
    assert_eq!(fs::read(machine.sandbox.project().join("file")).unwrap().len(), 100_000, "the files stay");
}
