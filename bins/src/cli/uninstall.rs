//! `longhaul uninstall`.

use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::uninstall::{Data, plan};
use longhaul_setup::{Found, Places, wait_for_turn};

use super::ask::confirm;
use super::install::{carry_out, codex};
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what `install --codex` has put anywhere
    #[arg(long, conflicts_with = "purge")]
    codex: bool,
    /// Delete what is remembered, too
    #[arg(long)]
    purge: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    if args.codex {
        return codex::uninstall(env, args.dry_run);
    }
    let shell = Shell::read();
    let _turn = wait_for_turn(&Places::of(env, &shell)?.home)?;
    let found = Found::look(env, &shell)?;
    if args.purge && found.data.is_some() && !args.dry_run {
        let folder = found.places.data.dir().display();
        confirm(&format!("Delete everything that is remembered, in {folder}, for good?"), args.yes)?;
    }
    let plan = plan(&found, if args.purge { Data::Purge } else { Data::Keep })?;
    carry_out(&plan, &found, env, args.dry_run)?;
    if codex::is_there(env) {
        codex::uninstall(env, args.dry_run)?;
    }
    if !args.dry_run {
        out::message(if plan.steps.is_empty() { "Nothing was installed." } else { "Longhaul is uninstalled." });
    }
    Ok(Exit::Success)
}
