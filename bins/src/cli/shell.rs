//! `longhaul completions` and `longhaul man`: completion scripts and man pages.

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
    /// The folder to write the man pages to
    folder: PathBuf,
}

pub(crate) fn completions(args: &Completions) -> Result<Exit> {
    // The whole script is built first: clap would panic if the reader closed the pipe.
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
