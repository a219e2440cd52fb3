//! `longhaul update`: installs the version that is now in the folder of the installed one, or in another folder.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::{Bundle, Error, InstallMode, InstallPaths, Manifest, PLUGIN};

use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// An unpacked archive, or target/dist of a checkout; by default the folder from which this version was installed
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Print what would be done without doing it
    #[arg(long)]
    dry_run: bool,
}

/// Replaces this process by the installer of the other version.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(&InstallPaths::of(env, &Shell::read())?.manifest()).unwrap_or_default();
    let folder = args.from.clone().or(manifest.source).ok_or(Error::UnknownSource)?;
    let bundle = Bundle::at(&folder).ok_or_else(|| Error::NoSource { folder: folder.clone() })?;
    if bundle.id == manifest.id && !args.dry_run {
        out::message(&format!("Longhaul {} in {} is already installed.", bundle.version, folder.display()));
        return Ok(Exit::Success);
    }
    let program = bundle.folder.join("bin").join(PLUGIN);
    #[expect(clippy::disallowed_methods, reason = "this process is replaced: no child process is started")]
    let mut command = Command::new(&program);
    // An update does not ask again for what was declined at the installation.
    command.args(["install", "--no-tmux", "--no-statusline"]);
    command.args((manifest.mode == InstallMode::Hooks).then_some("--hooks-only"));
    command.args(args.dry_run.then_some("--dry-run"));
    let error = command.exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
