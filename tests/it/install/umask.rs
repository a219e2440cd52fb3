//! Whatever the umask is, only the owner can change what is installed, and read what is stored.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Machine;
use crate::sandbox::{Outcome, bin_dir, payload};

/// Returns every file and folder below `dir`, itself included, with its mode; links are left out.
fn modes(dir: &Path) -> Vec<(PathBuf, u32)> {
    let Ok(metadata) = dir.symlink_metadata() else { return Vec::new() };
    if metadata.is_symlink() {
        return Vec::new();
    }
    let mut found = vec![(dir.to_owned(), metadata.permissions().mode() & 0o7777)];
    if metadata.is_dir() {
        found.extend(fs::read_dir(dir).unwrap().flat_map(|entry| modes(&entry.unwrap().path())));
    }
    found
}

#[track_caller]
fn check_closed(dirs: &[PathBuf], forbidden: u32) {
    for dir in dirs {
        let found = modes(dir);
        assert!(!found.is_empty(), "{} is not there", dir.display());
        for (path, mode) in found {
            assert_eq!(mode & forbidden, 0, "{} has {mode:o}", path.display());
        }
    }
}

impl Machine {
    /// Runs a program without any umask.
    fn without_umask(&self, program: &Path, args: &[&str], stdin: &str) -> Outcome {
        let mut command = self.sandbox.program("/bin/sh");
        command.arg("-c").arg(r#"umask 000; exec "$@""#).arg("sh").arg(program).args(args);
        Outcome::of(&mut command, stdin.as_bytes())
    }
}

#[test]
fn without_a_umask_nobody_else_can_change_what_is_installed() {
    let machine = Machine::new();
    let home = machine.sandbox.home();
    let installed = machine.without_umask(&machine.bundle("1.0.0"), &["install", "--yes"], "");
    assert_eq!(installed.status, Some(0), "{installed:?}");
    check_closed(&[machine.sandbox.data_dir()], 0o077);
    let start = payload("SessionStart", json!({ "session_id": "s", "cwd": machine.sandbox.project() }));
    assert_eq!(machine.without_umask(&bin_dir().join("longhaul-hook"), &["session-start"], &start).status, Some(0));
    check_closed(&[home.join(".local")], 0o022);
    check_closed(&[machine.sandbox.data_dir()], 0o077);
    let link = machine.link().canonicalize().unwrap();
    assert_eq!(link.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn without_a_umask_nobody_else_can_change_settings_that_are_made() {
    let machine = Machine::without_client();
    let installed = machine.without_umask(&machine.bundle("1.0.0"), &["install", "--hooks-only"], "");
    assert_eq!(installed.status, Some(0), "{installed:?}");
    check_closed(&[machine.sandbox.home().join(".local"), machine.sandbox.home().join(".claude")], 0o022);
    check_closed(&[machine.settings()], 0o077);
}

#[test]
fn folders_that_an_earlier_installation_left_open_are_closed() {
    let machine = Machine::new();
    assert_eq!(machine.install("1.0.0", &[]).status, Some(0));
    let lib = machine.sandbox.home().join(".local/lib/longhaul");
    let dirs = [lib.clone(), lib.join("versions")];
    for dir in &dirs {
        fs::set_permissions(dir, Permissions::from_mode(0o777)).unwrap();
    }
    assert_eq!(machine.install("1.1.0", &[]).status, Some(0));
    for dir in &dirs {
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o755, "{}", dir.display());
    }
}
