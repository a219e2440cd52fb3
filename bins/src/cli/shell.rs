//! `longhaul completions` and `longhaul man`: the command line, described for a shell and for `man`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Exit};

#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct Man {
    /// The folder to write them to
    folder: PathBuf,
}

pub(crate) fn completions(args: &Completions) -> Result<Exit> {
    // All of it first: written piece by piece, a reader that has seen enough would be a panic.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "longhaul", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Exit::Success)
}

pub(crate) fn man(args: &Man) -> Result<Exit> {
    let folder: &Path = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(Exit::Success)
}
