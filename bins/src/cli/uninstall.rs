//! `longhaul uninstall`: removes what an installation has added.

use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::uninstall::{Data, plan};
use longhaul_setup::{Codex, CurrentState, InstallPaths, lock_installation};

use super::ask::confirm;
use super::install::carry_out;
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove only what `install --codex` has added
    #[arg(long, conflicts_with = "purge")]
    codex: bool,
    /// Also delete the data: the database, logs and configuration
    #[arg(long)]
    purge: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print what would be done without doing it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let shell = Shell::read();
    let paths = InstallPaths::of(env, &shell)?;
    let _lock = lock_installation(&paths.home)?;
    if args.codex {
        carry_out(&Codex::read(env)?.uninstall()?, &paths, None, env, args.dry_run)?;
        return Ok(Exit::Success);
    }
    let state = CurrentState::read(env, &shell)?;
    if args.purge && state.data.is_some() && !args.dry_run {
        let folder = paths.data.dir().display();
        confirm(&format!("Delete all data in {folder}? This cannot be undone."), args.yes)?;
    }
    let mut plan = plan(&state, if args.purge { Data::Purge } else { Data::Keep })?;
    if Codex::is_there(env) {
        match Codex::read(env).and_then(|codex| codex.uninstall()) {
            Ok(codex) => plan.steps.extend(codex.steps),
            // Everything else is still removed; `uninstall --codex` can be run later.
            Err(error) => out::message(&format!("longhaul: Codex's hooks were not removed: {error:#}")),
        }
    }
    carry_out(&plan, &paths, state.client.as_deref(), env, args.dry_run)?;
    if !args.dry_run {
        out::message(if plan.steps.is_empty() { "Longhaul was not installed." } else { "Longhaul is uninstalled." });
    }
    Ok(Exit::Success)
}
