//! `longhaul update`.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::{Bundle, Error, Manifest, PLUGIN, Places, Way};

use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// An unpacked archive, or target/dist of a checkout; by default, where this version came from
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Becomes the other version's own installer: it knows best what it needs.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(&Places::of(env, &Shell::read())?.manifest()).unwrap_or_default();
    let folder = args.from.clone().or(manifest.source).ok_or(Error::UnknownSource)?;
    let bundle = Bundle::at(&folder).ok_or_else(|| Error::NoSource { folder: folder.clone() })?;
    if bundle.id == manifest.id && !args.dry_run {
        out::message(&format!("Longhaul {} in {} is the one that is installed.", bundle.version, folder.display()));
        return Ok(Exit::Success);
    }
    let program = bundle.folder.join("bin").join(PLUGIN);
    #[expect(clippy::disallowed_methods, reason = "this process becomes the other: nothing is started beside it")]
    let mut command = Command::new(&program);
    // What was not wanted when it was installed is not asked for again.
    command.args(["install", "--no-tmux", "--no-statusline"]);
    command.args((manifest.way == Way::Hooks).then_some("--hooks-only"));
    command.args(args.dry_run.then_some("--dry-run"));
    let error = command.exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
