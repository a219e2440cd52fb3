//! `longhaul install`: asks the user for the choices, plans, and does or prints the steps. `longhaul update` installs the
//! version that is now in the folder of the installed one, and `longhaul uninstall` removes what an installation has added.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use longhaul_agents::{ALL, Agent, find};
use longhaul_core::Env;
use longhaul_core::config::NotifyWay;
use longhaul_runtime::Shell;
use longhaul_setup::install::{
    Choices, InstallPlan, may_offer_notifications, may_offer_status_line, may_offer_tmux, plan, tmux_conf_for_line,
};
use longhaul_setup::uninstall::{self, Data};
use longhaul_setup::{
    AgentSetup, Bundle, CurrentState, Error, InstallMode, InstallPaths, Manifest, NotifyChoice, PLUGIN, TmuxServer,
    check, lock_installation, perform, plan_hooks, plan_install, plan_uninstall,
};

use super::Exit;
use super::out::{self, ask, confirm};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The same as `--agent codex`: installs hooks, the MCP server and a skill for Codex
    #[arg(long, conflicts_with_all = ["hooks_only", "tmux", "no_tmux", "statusline", "no_statusline", "keybinding", "no_keybinding", "notify", "no_notify"])]
    codex: bool,
    #[arg(long, value_name = "NAME", help = format!("Install Longhaul for this agent, and nothing for Claude Code: {}", agent_names()))]
    #[arg(value_parser = parse_agent, conflicts_with_all = ["codex", "hooks_only", "tmux", "no_tmux", "statusline", "no_statusline", "keybinding", "no_keybinding", "notify", "no_notify"])]
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
    /// Notify you when a session waits for you, and when a turn takes long or ends in an error
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
    if let Some(agent) = args.agent.or_else(|| codex_agent().filter(|_| args.codex)) {
        let paths = InstallPaths::of(env, &shell)?;
        let _lock = lock_installation(&paths.home)?;
        let mut plan = plan_install(agent, env, &shell, &paths, &exe)?;
        if let Some((feature, enable)) = plan_hooks(agent, env, &shell)? {
            let question = format!(
                "Codex's feature `{feature}`, without which no hook runs, is switched off. Switch it on? (config.toml)"
            );
            if choose(args, (None, true), &question)? {
                plan.steps.extend(enable.steps);
                plan.notes.extend(enable.notes);
            } else {
                plan.notes.push(format!("Codex runs no hook before you run `codex features enable {feature}`."));
            }
        }
        return carry_out(&plan, &paths, None, env, args.dry_run).map(|()| Exit::Success);
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
        let version = &bundle.version;
        out::message(&format!(
            "Longhaul {version} does nothing yet: its executables are installed, but not its plugin."
        ));
        return Ok(Exit::Problem);
    }
    let done = if plan.steps.is_empty() { "was already installed" } else { "is installed" };
    out::message(&format!("Longhaul {} {done}. Next:", bundle.version));
    out::message(match state.tmux_server != TmuxServer::None || !state.has_tmux {
        true => "  claude                    start a session here; sessions that already run need a restart",
        false => "  tmux new claude           start a session; sessions that already run need a restart",
    });
    out::message("  longhaul memory import    add your past sessions to the memory");
    out::message("  longhaul doctor           check the installation");
    Ok(Exit::Success)
}

fn choices(state: &CurrentState, args: &Args) -> anyhow::Result<Choices> {
    let tmux = (wanted(args.tmux, args.no_tmux), may_offer_tmux(state));
    let status_line = (wanted(args.statusline, args.no_statusline), may_offer_status_line(state));
    let declined = state.manifest.as_ref().is_some_and(|manifest| manifest.no_keybinding);
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
        // Otherwise as at the last installation.
        keybinding: wanted(args.keybinding, args.no_keybinding).unwrap_or(!declined),
        notify: notifications(state, args)?,
    })
}

/// Asks once whether the user wants to be notified: on the desktop if there is one, or else in the terminal.
fn notifications(state: &CurrentState, args: &Args) -> anyhow::Result<NotifyChoice> {
    let has_desktop = longhaul_notifications::has_desktop();
    let (way, place) =
        if has_desktop { (NotifyWay::Desktop, "on the desktop") } else { (NotifyWay::Terminal, "in the terminal") };
    let question = format!(
        "Notify you {place} when a session waits for you, and when a turn takes 30 seconds or more or ends in an \
         error? ({})",
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
fn carry_out(
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

#[derive(clap::Args)]
pub(crate) struct UpdateArgs {
    /// An unpacked archive, or target/dist of a checkout; by default the folder from which this version was installed
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Print what would be done without doing it
    #[arg(long)]
    dry_run: bool,
}

/// Replaces this process by the installer of the other version.
pub(crate) fn update(env: &Env, args: &UpdateArgs) -> anyhow::Result<()> {
    let manifest = Manifest::load(&InstallPaths::of(env, &Shell::read())?.manifest()).unwrap_or_default();
    let folder = args.from.clone().or(manifest.source).ok_or(Error::UnknownSource)?;
    let bundle = Bundle::at(&folder).ok_or_else(|| Error::NoSource { folder: folder.clone() })?;
    if bundle.id == manifest.id && !args.dry_run {
        out::message(&format!("Longhaul {} in {} is already installed.", bundle.version, folder.display()));
        return Ok(());
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

#[derive(clap::Args)]
pub(crate) struct UninstallArgs {
    /// Remove only what `install --codex` has added: the same as `--agent codex`
    #[arg(long, conflicts_with = "purge")]
    codex: bool,
    /// Remove only what `install --agent NAME` has added
    #[arg(long, value_name = "NAME", value_parser = parse_agent, conflicts_with_all = ["codex", "purge"])]
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

pub(crate) fn uninstall(env: &Env, args: &UninstallArgs) -> anyhow::Result<()> {
    let shell = Shell::read();
    let paths = InstallPaths::of(env, &shell)?;
    let _lock = lock_installation(&paths.home)?;
    if let Some(agent) = args.agent.or_else(|| codex_agent().filter(|_| args.codex)) {
        return carry_out(&plan_uninstall(agent, env, &shell, &paths)?, &paths, None, env, args.dry_run);
    }
    let state = CurrentState::read(env, &shell)?;
    if args.purge && paths.data.dir().exists() && !args.dry_run {
        let folder = paths.data.dir().display();
        confirm(&format!("Delete all data in {folder}? This cannot be undone."), args.yes)?;
    }
    let mut plan = uninstall::plan(&state, if args.purge { Data::Purge } else { Data::Keep })?;
    for agent in longhaul_agents::ALL.into_iter().filter(|agent| AgentSetup::is_there(agent, env, &shell)) {
        // Its hooks would start a program that is gone: nothing is uninstalled before they can be removed.
        let removed = plan_uninstall(agent, env, &shell, &paths);
        let removed = removed.with_context(|| format!("the hooks of {} cannot be removed", agent.title))?;
        plan.steps.splice(0..0, removed.steps);
    }
    carry_out(&plan, &paths, state.client.as_deref(), env, args.dry_run)?;
    if !args.dry_run {
        out::message(if plan.steps.is_empty() { "Longhaul was not installed." } else { "Longhaul is uninstalled." });
    }
    Ok(())
}

/// Returns the table of Codex, for the option `--codex`.
pub(crate) fn codex_agent() -> Option<&'static Agent> {
    find("codex")
}

fn agent_names() -> String {
    ALL.map(|agent| agent.name).join(", ")
}

pub(crate) fn parse_agent(name: &str) -> Result<&'static Agent, String> {
    find(name).ok_or_else(|| match name {
        "claude" => "Claude Code needs no --agent".to_owned(),
        _ => format!("no such agent; use one of {}", agent_names()),
    })
}
