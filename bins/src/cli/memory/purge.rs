//! `longhaul memory purge`: deletes old raw text, or everything.

use anyhow::Result;
use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_store::Store;
use serde_json::json;

use super::open_memory::Memory;
use super::stats::bytes;
use super::upkeep::forget_files;
use crate::cli::ask::confirm;
use crate::cli::{Exit, out};

/// How many raw texts are deleted in one transaction.
const PRUNED_AT_ONCE: usize = 5_000;

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
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

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
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
        out::json(&json!({ "dropped": what, "bytes_before": before, "bytes_after": after }))?;
    } else {
        out::message(&format!("Deleted {what}; the file shrank from {} to {}.", bytes(before), bytes(after)));
    }
    Ok(Exit::Success)
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
