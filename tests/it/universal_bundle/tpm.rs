//! `longhaul.tmux` in a clone of the branch that a release makes, as TPM runs it.

use std::fs;
use std::path::Path;

use super::{FOREIGN, Universal, write_executable};
use crate::sandbox::{Outcome, Sandbox, programs};

/// Runs the entry point beside the bundle, with a tmux that prints its arguments.
fn run_entry_point(sandbox: &Sandbox) -> Outcome {
    let (entry, tools) = (sandbox.path("clone/longhaul.tmux"), sandbox.path("tools"));
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../longhaul.tmux"), &entry).unwrap();
    fs::create_dir_all(&tools).unwrap();
    write_executable(&tools.join("tmux"), "#!/bin/sh\necho \"tmux $*\"\n");
    let path = format!("{}:{}", tools.display(), programs().display());
    Outcome::of(sandbox.program("sh").arg(&entry).env("PATH", path), b"")
}

#[test]
fn it_starts_the_executable_of_this_machine() {
    let sandbox = Sandbox::new();
    let _universal = Universal::small(sandbox.path("clone/longhaul"));
    let outcome = run_entry_point(&sandbox);
    // The user is told the command after which a shell finds it, too.
    let program = sandbox.path("clone/longhaul/bin/longhaul");
    let advice = format!("To use it in a shell and in Claude Code, run: '{}' install\nlonghaul\n", program.display());
    assert!(outcome.stdout.ends_with(&advice), "{outcome:?}");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let folder = sandbox.home().join(".local/bin");
    fs::create_dir_all(&folder).unwrap();
    write_executable(&folder.join("longhaul"), "#!/bin/sh\necho longhaul\n");
    let installed = run_entry_point(&sandbox);
    assert_eq!((installed.status, installed.stdout.as_str(), installed.stderr.as_str()), (Some(0), "longhaul\n", ""));
}

#[test]
fn it_shows_one_line_where_there_is_no_executable_for_this_machine() {
    let sandbox = Sandbox::new();
    let _universal = Universal::of_targets(sandbox.path("clone/longhaul"), &[FOREIGN]);
    let outcome = run_entry_point(&sandbox);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("tmux set-option "), "{outcome:?}");
    assert!(lines[1].starts_with("tmux display-message longhaul is not installed: run "), "{outcome:?}");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
}
