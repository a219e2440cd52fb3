//! `cargo xtask` builds and starts the workbench for the tasks that it does not have itself.
//!
//! A script stands in for cargo: it answers `metadata`, records the other commands, and its builds make a workbench that
//! prints its arguments.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const CARGO: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = metadata ]; then
  cat "$here/metadata.json"
  exit
fi
echo "$*" >> "$here/commands"
for folder in debug release; do
  mkdir -p "$here/target/$folder"
  printf '#!/bin/sh\necho "%s: $*"\nexit 7\n' "$folder" > "$here/target/$folder/xtask-workbench"
  chmod 755 "$here/target/$folder/xtask-workbench"
done
"#;

/// A build that shares its crates with the tests.
const LIKE_TESTS: &str = "--workspace --example standin --bin xtask-workbench";

/// A folder with the stand-in for cargo.
struct Stage(TempDir);

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("cargo"), CARGO).unwrap();
        fs::set_permissions(path.join("cargo"), Permissions::from_mode(0o755)).unwrap();
        let metadata = serde_json::json!({
            "workspace_root": path,
            "target_directory": path.join("target"),
            "packages": [{ "name": "longhaul", "version": "1.0.0", "targets": [] }],
        });
        fs::write(path.join("metadata.json"), metadata.to_string()).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    #[expect(clippy::disallowed_methods, reason = "the test starts the program that it tests")]
    fn xtask(&self, arguments: &[&str]) -> Output {
        let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
        xtask.args(arguments).env("CARGO", self.path().join("cargo")).output().unwrap()
    }

    /// Returns the commands that cargo was given, other than `metadata`.
    fn commands(&self) -> String {
        fs::read_to_string(self.path().join("commands")).unwrap_or_default()
    }
}

#[track_caller]
fn check(arguments: &[&str], build: &str, folder: &str) {
    let stage = Stage::new();
    let output = stage.xtask(arguments);
    let printed = format!("{folder}: {}\n", arguments.join(" "));
    assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "{output:?}");
    assert_eq!(output.status.code(), Some(7), "the exit status is that of the workbench");
    assert_eq!(stage.commands(), format!("build {build}\n"));
}

#[test]
fn a_task_of_the_workbench_gets_its_arguments_and_its_exit_status() {
    check(&["pictures", "--check"], LIKE_TESTS, "debug");
    check(&["demo", "--keep"], LIKE_TESTS, "debug");
    check(&["e2e", "chords", "--keep"], LIKE_TESTS, "debug");
    check(&["bench", "--runs", "3"], LIKE_TESTS, "debug");
}

#[test]
fn a_workbench_that_measures_its_own_code_is_built_as_a_release() {
    let build = "--package xtask-workbench --bin xtask-workbench --profile release";
    check(&["bench", "--large", "2000"], build, "release");
}

#[test]
fn help_and_wrong_arguments_build_nothing() {
    let stage = Stage::new();
    let help = stage.xtask(&["bench", "--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("--large"), "{help:?}");
    let wrong = stage.xtask(&["soak", "--sessions", "many"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("--sessions"), "{wrong:?}");
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(stage.commands(), "");
}

#[test]
fn every_task_is_listed() {
    let help = Stage::new().xtask(&["--help"]);
    let help = String::from_utf8_lossy(&help.stdout);
    let tasks = [
        "install", "test", "codegen", "dist", "release", "demo", "e2e", "bench", "recall", "soak", "fuzz", "pictures",
        "model",
    ];
    for task in tasks {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {task} "))), "{task} is missing:\n{help}");
    }
}
