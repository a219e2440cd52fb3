//! `longhaul uninstall`.

use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::uninstall::{Data, plan};
use longhaul_setup::{Codex, Found, Places, wait_for_turn};

use super::ask::confirm;
use super::install::carry_out;
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
    let shell = Shell::read();
    let places = Places::of(env, &shell)?;
    let _turn = wait_for_turn(&places.home)?;
    if args.codex {
        carry_out(&Codex::look(env)?.uninstall()?, &places, None, env, args.dry_run)?;
        return Ok(Exit::Success);
    }
    let found = Found::look(env, &shell)?;
    if args.purge && found.data.is_some() && !args.dry_run {
        let folder = places.data.dir().display();
        confirm(&format!("Delete everything that is remembered, in {folder}, for good?"), args.yes)?;
    }
    let mut plan = plan(&found, if args.purge { Data::Purge } else { Data::Keep })?;
    if Codex::is_there(env) {
        match Codex::look(env).and_then(|codex| codex.uninstall()) {
            Ok(codex) => plan.steps.extend(codex.steps),
            // The rest goes all the same; `--codex` takes this away later.
            Err(error) => out::message(&format!("longhaul: Codex's hooks stay: {error:#}")),
        }
    }
    carry_out(&plan, &places, found.client.as_deref(), env, args.dry_run)?;
    if !args.dry_run {
        out::message(if plan.steps.is_empty() { "Nothing was installed." } else { "Longhaul is uninstalled." });
    }
    Ok(Exit::Success)
}
