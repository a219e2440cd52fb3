//! `longhaul diff`: shows what differs between two snapshots, or between one and the current files.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use longhaul_core::Env;
use longhaul_runtime::{Home, waiting_times};
use longhaul_snapshot_store::{Error, encoded_path, file_changes, is_selected, limits, now_tree, show_diff};
use longhaul_store::Snapshot;
use serde_json::json;

use super::snapshots::{Choice, here, inside};
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A snapshot: its number, a time (14:03 or "2026-01-31 14:03"), or `last`
    #[arg(value_name = "A")]
    first: String,
    /// Another snapshot; by default the current files
    #[arg(value_name = "B")]
    second: Option<String>,
    /// Only these files and folders
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<OsString>,
    /// Show the number of changed lines of each file instead of the lines
    #[arg(long)]
    stat: bool,
    /// The session whose id begins with ID; by default the session in which the command runs, or else the session of the newest snapshot of this work tree
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array of the files
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let failed = |error: Error| anyhow!("{}", error.chain());
    let place = here(env)?;
    let store = Home::of(env)?.existing_store()?.context("no snapshot was taken yet")?;
    let session = args.session.as_deref();
    let choice = Choice { env, store: &store, place: &place, session, from_session: None };
    let tree = |snapshot: Snapshot| snapshot.tree.with_context(|| format!("snapshot {} has no files", snapshot.id));
    let first = tree(choice.choose(&args.first)?)?;
    let second = match &args.second {
        Some(second) => tree(choice.choose(second)?)?,
        None => {
            let (config, _) = longhaul_runtime::config(env)?;
            now_tree(env, &place, &limits(&config), waiting_times::SNAPSHOT_FOR_DIFF, waiting_times::GIT_DIFF)
                .map_err(failed)?
                .0
        }
    };
    let paths = inside(&place, &args.paths)?;
    let git = place.git(Instant::now() + waiting_times::GIT_DIFF);
    if args.json {
        let changes = file_changes(&git, &first, &second).map_err(failed)?;
        let rows: Vec<_> = changes
            .iter()
            .filter(|change| is_selected(&change.path, &paths))
            .map(|change| {
                json!({
                    "path": encoded_path(&change.path),
                    "status": change.status.to_string(),
                    "added": change.added,
                    "removed": change.removed,
                })
            })
            .collect();
        out::json(&rows)?;
        return Ok(Exit::Success);
    }
    let options: &[&str] = if args.stat { &["--stat"] } else { &[] };
    let is_done = show_diff(env, &git, &first, &second, options, &paths).map_err(failed)?;
    Ok(if is_done { Exit::Success } else { Exit::Problem })
}
