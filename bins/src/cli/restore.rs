//! `longhaul restore`: restores the files of a snapshot; takes a snapshot of the current files first.

use std::ffi::OsString;

use anyhow::{Context, Result, anyhow, bail};
use longhaul_core::{Env, short_session};
use longhaul_runtime::{Home, git_branch};
use longhaul_snapshot_store::{
    Destination, Error, Place, Prepared, RestorePlan, announce, left_out_line, limits, plan_lines, plan_size, prepare,
    prepare_undo, serve_requests, shown_path, unfinished,
};
use longhaul_store::Snapshot;

use super::ask::confirm;
use super::snapshots::{Choice, finish_interrupted, here, inside, interrupted, time};
use super::{Exit, out};

/// How many paths of each kind are listed.
const LISTED: usize = 20;

/// The session of a restore that no session has asked for.
const NO_SESSION: &str = "terminal";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A snapshot: its number, a time (14:03 or "2026-01-31 14:03"), or `last`
    #[arg(value_name = "A", required_unless_present = "undo", conflicts_with = "undo")]
    snapshot: Option<String>,
    /// Only these files and folders
    #[arg(last = true, value_name = "PATH", conflicts_with = "undo")]
    paths: Vec<OsString>,
    /// Undo the last restore, even if it was interrupted
    #[arg(long)]
    undo: bool,
    /// Print what would change without changing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// The session whose id begins with ID; by default the session in which the command runs, or else the session of the newest snapshot of this work tree
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The session that runs this command; a hook sets it
    #[arg(long, hide = true, value_name = "ID")]
    from_session: Option<String>,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let failed = |error: Error| anyhow!("{}", error.chain());
    let home = Home::of(env)?;
    let place = here(env)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let limits = limits(&config);
    let store = home.existing_store()?.context("no snapshot was taken yet")?;
    let (session, from_session) = (args.session.as_deref(), args.from_session.as_deref());
    let choice = Choice { env, store: &store, place: &place, session, from_session };
    if args.undo && unfinished(&place) == Some(Destination::BeforeRestore) {
        // To undo what was half undone would lead to a state that never existed.
        if args.dry_run {
            bail!("{}", interrupted(&place));
        }
        finish_interrupted(env, &place)?;
        return Ok(Exit::Success);
    }
    let mut announced = None;
    let mut target_id = None;
    let mut prepared = if args.undo {
        print("Undoing the last restore")?;
        prepare_undo(env, &place, &limits).map_err(failed)?
    } else {
        let target = choice.choose(args.snapshot.as_deref().unwrap_or_default())?;
        if args.dry_run {
            if unfinished(&place).is_some() {
                bail!("{}", interrupted(&place));
            }
        } else {
            finish_interrupted(env, &place)?;
        }
        describe(&place, &target)?;
        target_id = Some(target.id);
        if args.yes {
            announced = Some(announce(&place, target.id).map_err(failed)?);
        }
        prepare(env, &place, &limits, &target, inside(&place, &args.paths)?).map_err(failed)?
    };
    for line in plan_lines(&prepared.plan, LISTED).into_iter().chain(left_out_line(&prepared.left_out, 5)) {
        print(&line)?;
    }
    if args.dry_run && args.from_session.is_some() && prepared.plan.changes_something() {
        print("Nothing was changed yet: add the word now to do it.")?;
    }
    if !prepared.plan.changes_something() || args.dry_run {
        return Ok(Exit::Success);
    }
    if !args.yes {
        prepared.release();
    }
    confirm(&question(&prepared), args.yes)?;
    if let Some(id) = target_id.filter(|_| announced.is_none()) {
        announced = Some(announce(&place, id).map_err(failed)?);
    }
    let own = choice.own_session()?.unwrap_or_else(|| NO_SESSION.to_owned());
    let restored = prepared.carry_out(env, &store, &limits, &own).map_err(|error| {
        // What was begun is not given up: the next command finishes it or undoes it.
        let begun = if unfinished(&place).is_some() { format!(". {}", interrupted(&place)) } else { String::new() };
        anyhow!("{}{begun}", error.chain())
    })?;
    drop(announced);
    print(&summary(&restored.plan, from_session.is_some()))?;
    for path in &restored.conflicts {
        print(&format!("Not touched, because another program has changed it meanwhile: {}", shown_path(path)))?;
    }
    // A hook may have asked for a snapshot meanwhile.
    let log = longhaul_runtime::ErrorLog::new(env, "restore");
    serve_requests(env, &home, &config, &place, &log).map_err(failed)?;
    Ok(if restored.conflicts.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Prints a line. The reader may be gone, such as a hook whose time was up. That is no reason to stop in the middle.
fn print(line: &str) -> Result<()> {
    match out::text(line) {
        Err(error) if out::is_closed_pipe(&error) => Ok(()),
        printed => printed,
    }
}

/// Says which snapshot it is, and whether another commit is checked out now.
fn describe(place: &Place, target: &Snapshot) -> Result<()> {
    let session = short_session(&target.session);
    let (id, kind, at) = (target.id, target.kind.name(), time(target));
    print(&format!("Snapshot {id}: {kind}, {at}, session {session}"))?;
    let branch = git_branch(&place.tree.top);
    if branch != target.branch {
        let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "no branch".to_owned());
        let (then, now) = (name(&target.branch), name(&branch));
        print(&format!("Then {then} was checked out, now {now} is: only files are restored, not the branch"))?;
    } else if longhaul_runtime::git::commit(&place.tree.top) != target.head {
        print("Another commit is checked out now: only files are restored, commits stay as they are")?;
    }
    if let Some(under_way) = &target.under_way {
        print(&format!("A {under_way} was under way then: its state is not restored"))?;
    }
    Ok(())
}

fn question(prepared: &Prepared) -> String {
    format!("Change {}? A snapshot of the current state is taken first.", plan_size(&prepared.plan))
}

fn summary(plan: &RestorePlan, is_in_session: bool) -> String {
    let done = plan_size(plan);
    let undo = if is_in_session { "/longhaul:restore undo now" } else { "longhaul restore --undo" };
    format!("Restored {done}. `{undo}` undoes it.")
}
