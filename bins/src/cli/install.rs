//! `longhaul install`.

use std::path::Path;

use anyhow::Context;
use longhaul_core::Env;
use longhaul_runtime::Shell;
use longhaul_setup::install::{Plan, Wishes, may_offer_status_line, may_offer_tmux, plan};
use longhaul_setup::{Bundle, Codex, Found, Places, Way, check, perform, wait_for_turn};

use super::ask::ask;
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Set Codex up instead: its hooks, and the skill
    #[arg(long, conflicts_with_all = ["hooks_only", "tmux", "no_tmux", "statusline", "no_statusline", "keybinding", "no_keybinding"])]
    codex: bool,
    /// Put hooks into the client's settings.json, instead of installing a plugin
    #[arg(long)]
    hooks_only: bool,
    /// Show the sessions in tmux: one line in tmux.conf
    #[arg(long, conflicts_with = "no_tmux")]
    tmux: bool,
    /// Leave tmux alone
    #[arg(long)]
    no_tmux: bool,
    /// Use our status line in Claude Code, around yours if you have one
    #[arg(long, conflicts_with = "no_statusline")]
    statusline: bool,
    /// Leave the status line alone
    #[arg(long)]
    no_statusline: bool,
    /// Bind the chord that submits in keybindings.json, although an earlier --no-keybinding says otherwise
    #[arg(long, conflicts_with = "no_keybinding")]
    keybinding: bool,
    /// Leave keybindings.json alone, now and in later updates: what is typed into a session is submitted by Enter
    #[arg(long)]
    no_keybinding: bool,
    /// Do not ask: all of it
    #[arg(long)]
    yes: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let exe = std::env::current_exe().context("cannot tell where this executable lies")?;
    let shell = Shell::read();
    if args.codex {
        let places = Places::of(env, &shell)?;
        let _turn = wait_for_turn(&places.home)?;
        let plan = Codex::look(env)?.install(env, &exe)?;
        carry_out(&plan, &places, None, env, args.dry_run)?;
        return Ok(Exit::Success);
    }
    let bundle = Bundle::of_executable(&exe)?;
    let _turn = wait_for_turn(&Places::of(env, &shell)?.home)?;
    let found = Found::look(env, &shell)?;
    let wishes = wishes(&found, args)?;
    let plan = plan(&found, &bundle, wishes, env.now.0)?;
    carry_out(&plan, &found.places, found.client.as_deref(), env, args.dry_run)?;
    if !args.dry_run {
        let done = if plan.steps.is_empty() { "was installed already" } else { "is installed" };
        out::message(&format!("Longhaul {} {done}. `longhaul doctor` says whether all is well.", bundle.version));
    }
    Ok(Exit::Success)
}

fn wishes(found: &Found, args: &Args) -> anyhow::Result<Wishes> {
    let tmux = (wanted(args.tmux, args.no_tmux), may_offer_tmux(found));
    let status_line = (wanted(args.statusline, args.no_statusline), may_offer_status_line(found));
    Ok(Wishes {
        way: if args.hooks_only { Way::Hooks } else { Way::Plugin },
        tmux: wish(args, tmux, "Show every session's state in tmux's status line?")?,
        status_line: wish(args, status_line, "Use our status line in Claude Code, around yours if you have one?")?,
        keybinding: wants_keybinding(found, args),
    })
}

/// Returns whether the chord is wanted: as the arguments say, or else as they said at the last installation.
fn wants_keybinding(found: &Found, args: &Args) -> bool {
    let declined = found.manifest.as_ref().is_some_and(|manifest| manifest.no_keybinding);
    wanted(args.keybinding, args.no_keybinding).unwrap_or(!declined)
}

fn wanted(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

/// Asks for what the arguments leave open; where nobody can be asked, nothing is done that was not asked for.
fn wish(args: &Args, (wanted, may_offer): (Option<bool>, bool), question: &str) -> anyhow::Result<bool> {
    match wanted {
        Some(wanted) => Ok(wanted),
        None if !may_offer || args.dry_run => Ok(may_offer && args.yes),
        None if args.yes => Ok(true),
        None => Ok(ask(question)?.unwrap_or(false)),
    }
}

/// Does, or only shows, what was planned.
pub(crate) fn carry_out(
    plan: &Plan,
    places: &Places,
    client: Option<&Path>,
    env: &Env,
    dry_run: bool,
) -> anyhow::Result<()> {
    if !dry_run {
        check(&plan.steps)?;
    }
    for step in &plan.steps {
        if !dry_run {
            perform(step, places, client, env)?;
        }
        out::text(&step.to_string())?;
    }
    for note in &plan.notes {
        out::message(note);
    }
    if dry_run {
        out::message(if plan.steps.is_empty() { "Nothing would be done." } else { "Nothing was done: a dry run." });
    }
    Ok(())
}
