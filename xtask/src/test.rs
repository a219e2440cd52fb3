//! `cargo xtask test`: runs all tests, after installing what they need.

use std::io::{self, Write};
use std::process::Command;
use std::thread;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{ccusage, run, tools};

/// How many tests run at the same time besides one for each processor: many of them mostly wait.
const WAITING_TESTS: usize = 4;

/// Runs all tests; `arguments` go to nextest, or to `cargo test` if nextest is not installed.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    tools::ensure(&["tmux", "screen", "git", "git-lfs"])?;
    tools::offer(&["chromium", "chromedriver"], "tests of the viewer in a browser")?;
    tools::offer(&["tsc"], "tests of the bridge module")?;
    tools::offer(&["postgres"], "tests of sync with PostgreSQL")?;
    ccusage::offer(workspace)?;
    tools::offer(&["Xvfb", "dunst", "notify-send", "dbus-run-session"], "tests of the desktop's notifications")?;
    // The end-to-end tests start `standin`. Building all tests builds it; building a selection may not.
    if !arguments.is_empty() {
        let mut build = run::cargo();
        run::aloud(build.current_dir(&workspace.root).args(["build", "--workspace", "--example", "standin"]))?;
    }
    let mut test = cargo(workspace, arguments);
    if run::find("cargo-nextest").is_some() {
        test.args(["nextest", "run", "--workspace"]);
        if run::var("NEXTEST_TEST_THREADS").is_none() {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            test.env("NEXTEST_TEST_THREADS", (processors + WAITING_TESTS).to_string());
        }
        if run::var("CI").is_some() {
            test.args(["--profile", "ci"]);
        }
    } else {
        writeln!(io::stderr(), "cargo-nextest is not installed: using cargo test, which takes longer")?;
        test.args(["test", "--workspace"]);
    }
    run::aloud(test.args(arguments))?;
    // nextest does not run the examples in the documentation; `cargo test` has run them.
    if arguments.is_empty() && run::find("cargo-nextest").is_some() {
        run::aloud(cargo(workspace, arguments).args(["test", "--workspace", "--doc"]))?;
    }
    Ok(())
}

/// Returns a `cargo` command. A run of all tests is built without files for incremental builds, which make it slower; a
/// selection, which is usually run again after a change, with them.
fn cargo(workspace: &Workspace, arguments: &[String]) -> Command {
    let mut cargo = run::cargo();
    cargo.current_dir(&workspace.root);
    if arguments.is_empty() && run::var("CARGO_INCREMENTAL").is_none() {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}
