//! `longhaul uninstall`: removes what an installation has added.

use anyhow::Context;
use longhaul_agents::Agent;
use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::uninstall::{Data, plan};
use longhaul_setup::{AgentSetup, CurrentState, InstallPaths, lock_installation, plan_uninstall};

use super::ask::confirm;
use super::install::carry_out;
use super::{Exit, agent_name, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Remove only what `install --codex` has added: the same as `--agent codex`
    #[arg(long, conflicts_with = "purge")]
    codex: bool,
    /// Remove only what `install --agent NAME` has added
    #[arg(long, value_name = "NAME", value_parser = agent_name::parse, conflicts_with_all = ["codex", "purge"])]
    agent: Option<&'static Agent>,
    /// Also delete the data: the database, snapshots, logs and configuration
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
    if let Some(agent) = args.agent.or_else(|| agent_name::codex().filter(|_| args.codex)) {
        let plan = plan_uninstall(agent, env, &shell, &paths)?;
        carry_out(&plan, &paths, None, env, args.dry_run)?;
        return Ok(Exit::Success);
    }
    let state = CurrentState::read(env, &shell)?;
    if args.purge && state.data.is_some() && !args.dry_run {
        let folder = paths.data.dir().display();
        confirm(&format!("Delete all data in {folder}? This cannot be undone."), args.yes)?;
    }
    let mut plan = plan(&state, if args.purge { Data::Purge } else { Data::Keep })?;
    for agent in longhaul_agents::ALL.into_iter().filter(|agent| AgentSetup::is_there(agent, env, &shell)) {
        // Its hooks would start a program that is gone: nothing is uninstalled before they can be removed.
        let removed = plan_uninstall(agent, env, &shell, &paths);
        let removed = removed.with_context(|| format!("the hooks of {} cannot be removed", agent.title))?;
        plan.steps.splice(0..0, removed.steps).for_each(drop);
    }
    carry_out(&plan, &paths, state.client.as_deref(), env, args.dry_run)?;
    if !args.dry_run {
        out::message(if plan.steps.is_empty() { "Longhaul was not installed." } else { "Longhaul is uninstalled." });
    }
    Ok(Exit::Success)
}
