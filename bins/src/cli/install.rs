//! `longhaul install`: asks the user for the choices, plans, and does or prints the steps.

use std::path::Path;

use anyhow::Context;
use longhaul_agents::Agent;
use longhaul_core::Env;
use longhaul_core::config::NotifyWay;
use longhaul_runtime::Shell;
use longhaul_setup::install::{
    Choices, InstallPlan, may_offer_notifications, may_offer_status_line, may_offer_tmux, plan, tmux_conf_for_line,
};
use longhaul_setup::{
    Bundle, CurrentState, InstallMode, InstallPaths, NotifyChoice, TmuxServer, check, hooks_switched_off,
    lock_installation, perform, plan_hooks, plan_install,
};

use super::ask::ask;
use super::{Exit, agent_name, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The same as `--agent codex`: installs hooks, the MCP server and a skill for Codex
    #[arg(long, conflicts_with_all = ["hooks_only", "tmux", "no_tmux", "statusline", "no_statusline", "keybinding", "no_keybinding", "notify", "no_notify"])]
    codex: bool,
    #[arg(long, value_name = "NAME", help = agent_name::help("Install Longhaul for this agent, and nothing for Claude Code"))]
    #[arg(value_parser = agent_name::parse, conflicts_with_all = ["codex", "hooks_only", "tmux", "no_tmux", "statusline", "no_statusline", "keybinding", "no_keybinding", "notify", "no_notify"])]
    agent: Option<&'static Agent>,
    /// Add hooks to Claude Code's settings.json instead of installing a plugin
    #[arg(long)]
    hooks_only: bool,
    /// Show the sessions in tmux: adds one line to tmux.conf
    #[arg(long, conflicts_with = "no_tmux")]
    tmux: bool,
    /// Do not set up tmux
    #[arg(long)]
    no_tmux: bool,
    /// Use Longhaul's status line in Claude Code; your own status line command is still run and shown
    #[arg(long, conflicts_with = "no_statusline")]
    statusline: bool,
    /// Do not change Claude Code's status line
    #[arg(long)]
    no_statusline: bool,
    /// Add to keybindings.json the keys with which Longhaul submits text, even after an earlier --no-keybinding
    #[arg(long, conflicts_with = "no_keybinding")]
    keybinding: bool,
    /// Do not change keybindings.json, now or in later updates: Longhaul then submits text with Enter
    #[arg(long)]
    no_keybinding: bool,
    /// Notify you when a session waits for you, and when a long turn has ended
    #[arg(long, conflicts_with = "no_notify")]
    notify: bool,
    /// Do not enable notifications
    #[arg(long)]
    no_notify: bool,
    /// Answer yes to every question
    #[arg(long)]
    yes: bool,
    /// Print what would be done without doing it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let shell = Shell::read();
    if let Some(agent) = args.agent.or_else(|| agent_name::codex().filter(|_| args.codex)) {
        let paths = InstallPaths::of(env, &shell)?;
        let _lock = lock_installation(&paths.home)?;
        let mut plan = plan_install(agent, env, &shell, &paths, &exe)?;
        if let Some(feature) = hooks_switched_off(agent, env, &shell)? {
            let question = format!(
                "Codex's feature `{feature}`, without which no hook runs, is switched off. Switch it on? (config.toml)"
            );
            if choose(args, (None, true), &question)? {
                plan_hooks(agent, env, &shell, feature, &mut plan)?;
            } else {
                plan.notes.push(format!("Codex runs no hook before you run `codex features enable {feature}`."));
            }
        }
        carry_out(&plan, &paths, None, env, args.dry_run)?;
        return Ok(Exit::Success);
    }
    let bundle = Bundle::of_executable(&exe)?;
    let _lock = lock_installation(&InstallPaths::of(env, &shell)?.home)?;
    let state = CurrentState::read(env, &shell)?;
    let choices = choices(&state, args)?;
    let plan = plan(&state, &bundle, choices, env.now.0)?;
    carry_out(&plan, &state.paths, state.client.as_deref(), env, args.dry_run)?;
    if args.dry_run {
        return Ok(Exit::Success);
    }
    if choices.mode == InstallMode::Plugin && state.client.is_none() {
        // The notes of the plan say why, and what to do.
        out::message(&format!(
            "Longhaul {} does nothing yet: its executables are installed, but not its plugin.",
            bundle.version
        ));
        return Ok(Exit::Problem);
    }
    let done = if plan.steps.is_empty() { "was already installed" } else { "is installed" };
    out::message(&format!("Longhaul {} {done}. Next:", bundle.version));
    next_steps(&state).iter().for_each(|step| out::message(step));
    Ok(Exit::Success)
}

/// Returns what to do after an installation.
fn next_steps(state: &CurrentState) -> [&'static str; 3] {
    let is_started_here = state.tmux_server != TmuxServer::None || !state.has_tmux;
    [
        if is_started_here {
            "  claude                    start a session here; sessions that already run need a restart"
        } else {
            "  tmux new claude           start a session; sessions that already run need a restart"
        },
        "  longhaul memory import    add your past sessions to the memory",
        "  longhaul doctor           check the installation",
    ]
}

fn choices(state: &CurrentState, args: &Args) -> anyhow::Result<Choices> {
    let tmux = (wanted(args.tmux, args.no_tmux), may_offer_tmux(state));
    let status_line = (wanted(args.statusline, args.no_statusline), may_offer_status_line(state));
    let show_in_tmux =
        format!("Show the state of every session in the tmux status line? ({})", tmux_conf_for_line(state).0.display());
    let use_status_line = format!(
        "Use Longhaul's status line in Claude Code? It runs your own command if you have one. ({})",
        state.paths.settings.display()
    );
    Ok(Choices {
        mode: if args.hooks_only { InstallMode::Hooks } else { InstallMode::Plugin },
        tmux: choose(args, tmux, &show_in_tmux)?,
        status_line: choose(args, status_line, &use_status_line)?,
        keybinding: wants_keybinding(state, args),
        notify: notifications(state, args)?,
    })
}

/// Asks once whether the user wants to be notified: on the desktop if there is one, or else in the terminal.
fn notifications(state: &CurrentState, args: &Args) -> anyhow::Result<NotifyChoice> {
    let has_desktop = longhaul_notify_ways::has_desktop();
    let (way, place) =
        if has_desktop { (NotifyWay::Desktop, "on the desktop") } else { (NotifyWay::Terminal, "in the terminal") };
    let question = format!(
        "Notify you {place} when a session waits for you, and when a turn of 30 seconds or more ends? ({})",
        state.paths.config.display()
    );
    let answer = match wanted(args.notify, args.no_notify) {
        Some(wanted) => Some(wanted),
        None if !may_offer_notifications(state) => None,
        None if args.yes => Some(true),
        None if args.dry_run => None,
        None => ask(&question, true)?,
    };
    Ok(match answer {
        Some(true) => NotifyChoice::By(way),
        Some(false) => NotifyChoice::No,
        None => NotifyChoice::NotAsked,
    })
}

/// Returns whether the chord is wanted: by the arguments, or else by those of the last installation.
fn wants_keybinding(state: &CurrentState, args: &Args) -> bool {
    let declined = state.manifest.as_ref().is_some_and(|manifest| manifest.no_keybinding);
    wanted(args.keybinding, args.no_keybinding).unwrap_or(!declined)
}

fn wanted(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

/// Asks for what the arguments leave open. Without a terminal the answer is no.
fn choose(args: &Args, (wanted, may_offer): (Option<bool>, bool), question: &str) -> anyhow::Result<bool> {
    match wanted {
        Some(wanted) => Ok(wanted),
        None if !may_offer || args.dry_run => Ok(may_offer && args.yes),
        None if args.yes => Ok(true),
        None => Ok(ask(question, true)?.unwrap_or(false)),
    }
}

/// Does the steps of a plan and prints them, or only prints them.
pub(crate) fn carry_out(
    plan: &InstallPlan,
    paths: &InstallPaths,
    client: Option<&Path>,
    env: &Env,
    dry_run: bool,
) -> anyhow::Result<()> {
    if !dry_run {
        check(&plan.steps)?;
    }
    for step in &plan.steps {
        if !dry_run {
            perform(step, paths, client, env)?;
        }
        out::text(&step.to_string())?;
    }
    for note in &plan.notes {
        out::message(note);
    }
    if dry_run {
        out::message(if plan.steps.is_empty() { "Nothing would be changed." } else { "Dry run: nothing was changed." });
    }
    Ok(())
}
