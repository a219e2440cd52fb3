//! `longhaul memory forget` deletes records, or everything of a session or project; `purge` deletes old raw text, or everything.

use anyhow::Result;
use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use longhaul_runtime::memory::folder_of;
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_store::{RecordId, Store};
use serde_json::json;

use super::open_memory::{self, Memory};
use super::upkeep::{bytes, forget_files};
use crate::cli::Exit;
use crate::cli::out::{self, confirm};
use crate::cli::sessions::only_one;

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// Records: P12 (prompt), O345 or 345 (observation), S6 (summary)
    #[arg(value_name = "ID", group = "what")]
    ids: Vec<String>,
    /// Delete everything of the session whose id begins with ID
    #[arg(long, value_name = "ID", group = "what")]
    session: Option<String>,
    /// Delete everything of one project; NAME is its name, or the path of a folder in it; what contains a slash (./shop) is a path
    #[arg(long, value_name = "NAME", group = "what")]
    project: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let store = memory.to_delete_from()?;
    if let Some(prefix) = &args.session {
        let id = only_one(prefix, store.session_ids_like(prefix)?, String::as_str)?;
        confirm(&format!("Delete everything of session {id}?"), args.yes)?;
        store.forget_session(&id, memory.env.now)?;
        memory.remove_handoffs(|session| session == id);
        forget_files(memory)?;
        report(args, &format!("Deleted session {id}."), &json!({ "session": id }))?;
        return Ok(Exit::Success);
    }
    if let Some(name) = &args.project {
        let project = memory.named(&store, name)?;
        let folder = folder_of(&project.key);
        confirm(&format!("Delete everything of {folder}, {} sessions?", project.sessions), args.yes)?;
        let known: Vec<String> = store.session_ids(&project.key)?;
        let sessions = store.forget_project(&project.key, memory.env.now)?;
        memory.remove_handoffs(|session| known.iter().any(|id| id == session));
        forget_files(memory)?;
        let what = json!({ "project": project.key, "sessions": sessions });
        report(args, &format!("Deleted {folder}: {sessions} sessions."), &what)?;
        return Ok(Exit::Success);
    }
    records(&store, args)
}

fn records(store: &Store, args: &Args) -> Result<Exit> {
    let wanted = args.ids.iter().map(|id| open_memory::parse_id(id)).collect::<Result<Vec<RecordId>>>()?;
    let found = store.records(&wanted)?;
    let there: Vec<RecordId> = found.iter().map(|record| record.record).collect();
    let names = |ids: &[RecordId]| ids.iter().map(RecordId::to_string).collect::<Vec<_>>();
    let missing: Vec<RecordId> = wanted.iter().copied().filter(|id| !there.contains(id)).collect();
    if !there.is_empty() {
        for record in found.iter().filter(|_| !args.yes) {
            out::message(super::render::record(record).lines().next().unwrap_or_default());
        }
        let count = there.len();
        let what = if count == 1 { "this record".to_owned() } else { format!("these {count} records") };
        confirm(&format!("Delete {what}?"), args.yes)?;
    }
    let mut gone = Vec::new();
    for id in there {
        if store.forget(id)? {
            gone.push(id);
        }
    }
    if !gone.is_empty() || args.json {
        report(args, &format!("Deleted {}.", names(&gone).join(", ")), &json!({ "records": names(&gone) }))?;
    }
    for id in &missing {
        out::message(&format!("longhaul: {}", open_memory::unknown_record(*id)));
    }
    Ok(if missing.is_empty() { Exit::Success } else { Exit::Problem })
}

fn report(args: &Args, message: &str, what: &serde_json::Value) -> Result<()> {
    if args.json {
        return out::json(&json!({ "forgot": what }));
    }
    out::message(message);
    Ok(())
}

/// How many raw texts are deleted in one transaction.
const PRUNED_AT_ONCE: usize = 5_000;

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct PurgeArgs {
    /// Delete raw tool input and output older than DAYS; the records made from it stay
    #[arg(long, value_name = "DAYS", group = "what")]
    older_than: Option<u64>,
    /// Delete everything that was recorded, in all projects
    #[arg(long, group = "what")]
    all: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn purge(memory: &Memory<'_>, args: &PurgeArgs) -> Result<()> {
    let store = memory.to_delete_from()?;
    let before = store.stats()?.bytes;
    let what = match args.older_than {
        Some(days) => {
            confirm(&format!("Delete raw tool text that is older than {days} days?"), args.yes)?;
            let age = days.saturating_mul(DAY_MS.unsigned_abs());
            format!("{} raw texts", drop_raw(&store, Millis(memory.env.now.0.saturating_sub(age)))?)
        }
        None => {
            let projects = store.projects()?;
            confirm(&format!("Delete everything, in {} projects?", projects.len()), args.yes)?;
            let sessions = store.forget_everything(memory.env.now)?;
            memory.remove_handoffs(|_| true);
            // They have copies, which a salvage would bring back.
            memory.home.set_aside_databases().iter().try_for_each(SetAside::delete)?;
            forget_files(memory)?;
            format!("{sessions} sessions in {} projects", projects.len())
        }
    };
    store.vacuum()?;
    let after = store.stats()?.bytes;
    if args.json {
        return out::json(&json!({ "dropped": what, "bytes_before": before, "bytes_after": after }));
    }
    out::message(&format!("Deleted {what}; the file shrank from {} to {}.", bytes(before), bytes(after)));
    Ok(())
}

fn drop_raw(store: &Store, before: Millis) -> Result<usize> {
    let mut dropped = 0;
    loop {
        let pruned = store.prune(before, PRUNED_AT_ONCE)?;
        dropped += pruned.rows;
        if !pruned.more {
            return Ok(dropped);
        }
    }
}
