//! `cargo xtask demo`: plays a long session through the real hooks and explains each step.

mod session;
mod story;
mod voice;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::workspace::{PACKAGE, Profile, Workspace};
use xtask::{run, tools};

use self::story::Story;
use self::voice::Voice;
use crate::stage::{Role, Standin, Tmux, check_interrupts, plugin_folder, watch_interrupts};

/// The size of the pane, which fits into most terminals.
const COLUMNS: u16 = 88;
const ROWS: u16 = 24;

/// Builds everything and plays the session. Everything that it starts ends with it, also on errors and Ctrl-C.
pub(crate) fn run(workspace: &Workspace, keep: bool) -> Result<()> {
    tools::ensure(&["tmux"])?;
    // In one build: separate builds would compile some crates twice.
    let bin = workspace.build(PACKAGE, &["--bins", "--example", "standin"], Profile::Dev, None)?;
    let standin = bin.join("examples/standin");
    watch_interrupts()?;

    let mut home =
        tempfile::Builder::new().prefix("longhaul-demo-").tempdir().context("cannot create a temporary home")?;
    home.disable_cleanup(keep);
    let result = play(home.path(), &bin, &standin).with_context(|| said_by_hooks(home.path()));
    check_interrupts()?;
    if keep {
        writeln!(io::stdout(), "\nkept: {}", home.path().display())?;
    }
    result
}

fn play(home: &Path, bin: &Path, standin: &Path) -> Result<()> {
    let project = make_project(home)?;
    let plugin = plugin_folder(home, bin)?;
    let tmux = Tmux::start("longhaul-demo", home, &project, COLUMNS, ROWS)?;
    let role = Role { home, session: session::ID, program: standin, plugin: &plugin };
    let standin = Standin::start(&tmux, &role)?;
    Story { voice: Voice::new(), tmux: &tmux, standin, cli: &bin.join(PACKAGE) }.tell()
}

/// Creates the folder that the session works in: a git repository if git is installed, because a bookmark notes the
/// commit.
fn make_project(home: &Path) -> Result<PathBuf> {
    let project = home.join("project");
    fs::create_dir(&project).context("cannot create a project folder")?;
    let identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"];
    for arguments in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "--message", "Begin"]] {
        let mut git = run::program("git");
        git.args(identity).args(arguments).current_dir(&project).env_remove("GIT_DIR");
        git.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        if run::output(&mut git).is_err() {
            break;
        }
    }
    Ok(project)
}

/// Returns the content of the hooks' error log, for an error message.
fn said_by_hooks(home: &Path) -> String {
    match fs::read_to_string(home.join("longhaul/longhaul.log")) {
        Ok(log) => format!("the hooks' error log says:\n{log}"),
        Err(_) => "the demo stopped".to_owned(),
    }
}
