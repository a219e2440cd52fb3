//! `longhaul memory stats`, `export`, `purge` and `upkeep`. The fields of an exported record are in `Record::to_json`
//! (`store/src/memory/records.rs`).

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use longhaul_runtime::ErrorLog;
use longhaul_runtime::memory::folder_of;
use longhaul_runtime::memory::upkeep::{build_index, cut_long_texts, drop_old_text, merge_index};
use longhaul_snapshot_store::Dropped;
use longhaul_store::{IndexProgress, KnownProject, Stats, Store, VectorStats};
use serde_json::{Value, json};

use super::open_memory::{Memory, ProjectFilter};
use super::render::when;
use super::vector_upkeep::{model_problems, report_vectors};
use crate::cli::ask::confirm;
use crate::cli::{Exit, out};

/// How many raw texts are deleted in one transaction.
const PRUNED_AT_ONCE: usize = 5_000;

/// How many projects are listed without `--json`.
const LISTED: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    projects: ProjectFilter,
    /// Write to FILE instead of standard output; only you can read the file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON, one line for each record; this is the only format
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Purge {
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

pub(crate) fn stats(memory: &Memory<'_>, tables: bool, json: bool) -> Result<Exit> {
    let Some(store) = memory.existing()? else {
        if json {
            out::json(&stats_json(&Stats::default(), &[], &[], IndexProgress::default(), (&[], &[])))?;
        } else {
            out::message("The memory is empty. `longhaul memory import` reads every past session.");
        }
        return Ok(Exit::Success);
    };
    let (stats, sizes, projects) = (store.stats()?, store.sizes()?, store.projects()?);
    let (index, vectors) = (store.index_progress()?, store.vector_stats()?);
    let problems = model_problems(memory);
    if json {
        out::json(&stats_json(&stats, &sizes, &projects, index, (&vectors, &problems)))?;
        return Ok(Exit::Success);
    }
    let rows = [
        ("sessions", stats.sessions),
        ("prompts", stats.prompts),
        ("observations", stats.observations),
        ("summaries", stats.summaries),
        ("raw texts", stats.details),
        ("projects", stats.projects),
    ];
    for (label, count) in rows {
        out::line(&format!("{label:14} {count:>12}"))?;
    }
    if let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) {
        out::line(&format!("{:14} {} to {}", "from", when(oldest), when(newest)))?;
    }
    out::line(&format!("{:14} {:>12}, {} of it free", "file", bytes(stats.bytes), bytes(stats.free_bytes)))?;
    if !index.is_complete() {
        let IndexProgress { done, total } = index;
        out::line(&format!("{:14} {:>11}%, {done} of {total} records", "search index", index.percent()))?;
        out::message(
            "The search index is being built. Until it is complete, a search finds only records with every word.",
        );
        out::message("`longhaul memory upkeep` completes it now; every new session also continues it.");
    }
    for (table, size) in sizes.iter().filter(|(_, size)| tables && *size >= stats.bytes / 100) {
        out::text(&format!("  {table:30} {:>12}", bytes(*size)))?;
    }
    for VectorStats { model, vectors, looked_at, records, .. } in &vectors {
        let share = 100.0 * *looked_at as f64 / (*records).max(1) as f64;
        out::text(&format!("{:14} {vectors:>12} of {model}, {share:.0} % of the records processed", "vectors"))?;
    }
    for problem in &problems {
        out::text(&format!("{:14} {problem}", "problem"))?;
    }
    for project in projects.iter().take(LISTED) {
        let KnownProject { key, name, sessions, observations } = project;
        out::text(&format!("  {name}: {observations} observations, {sessions} sessions, {}", folder_of(key)))?;
    }
    if projects.len() > LISTED {
        out::line(&format!("  and {} more projects", projects.len() - LISTED))?;
    }
    Ok(Exit::Success)
}

fn stats_json(
    stats: &Stats,
    sizes: &[(String, u64)],
    projects: &[KnownProject],
    index: IndexProgress,
    (vectors, problems): (&[VectorStats], &[String]),
) -> Value {
    let vector = |model: &VectorStats| {
        json!({
            "model": model.model,
            "vectors": model.vectors,
            "bytes": model.bytes,
            "records_looked_at": model.looked_at,
            "records": model.records,
        })
    };
    let project = |project: &KnownProject| {
        json!({
            "name": project.name,
            "project_key": project.key,
            "sessions": project.sessions,
            "observations": project.observations,
        })
    };
    json!({
        "sessions": stats.sessions,
        "projects": projects.iter().map(project).collect::<Vec<Value>>(),
        "rows": {
            "user_prompts": stats.prompts,
            "observations": stats.observations,
            "session_summaries": stats.summaries,
            "details": stats.details,
        },
        "table_bytes": sizes.iter().map(|(table, size)| (table.clone(), json!(size))).collect::<serde_json::Map<_, _>>(),
        "oldest": stats.oldest.map(|at| at.0),
        "newest": stats.newest.map(|at| at.0),
        "bytes": stats.bytes,
        "free_bytes": stats.free_bytes,
        "search_index": { "complete": index.is_complete(), "done": index.done, "total": index.total },
        "vectors": vectors.iter().map(vector).collect::<Vec<Value>>(),
        "vector_problems": problems,
    })
}

pub(crate) fn export(memory: &Memory<'_>, args: &Export) -> Result<Exit> {
    let store = memory.existing()?;
    match &args.output {
        Some(path) => {
            let failed = || format!("cannot write {}", path.display());
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
            let file = file.with_context(failed)?;
            // Otherwise an existing file would keep its permissions.
            fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(failed)?;
            let count = write(memory, store.as_ref(), &args.projects, BufWriter::new(file)).with_context(failed)?;
            out::message(&format!("Wrote {count} records to {}.", path.display()));
        }
        None => {
            write(memory, store.as_ref(), &args.projects, BufWriter::new(io::stdout().lock()))?;
        }
    }
    Ok(Exit::Success)
}

fn write(memory: &Memory<'_>, store: Option<&Store>, projects: &ProjectFilter, mut to: impl Write) -> Result<usize> {
    let Some(store) = store else { return Ok(0) };
    let key = memory.key(store, projects)?;
    let mut count = 0;
    let mut failed = None;
    store.export(key.as_deref(), |record| match writeln!(to, "{}", record.to_json()) {
        Ok(()) => {
            count += 1;
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(to.flush().map(|()| count)?),
    }
}

pub(crate) fn purge(memory: &Memory<'_>, args: &Purge) -> Result<Exit> {
    let Some(store) = memory.existing()? else { bail!("the memory is empty") };
    memory.empty_spools(&store)?;
    let before = store.stats()?.bytes;
    let what = match args.older_than {
        Some(days) => {
            confirm(&format!("Delete raw tool text that is older than {days} days?"), args.yes)?;
            let age = days.saturating_mul(DAY_MS.unsigned_abs());
            cut_long_texts(&store)?;
            format!("{} raw texts", drop_raw(&store, Millis(memory.env.now.0.saturating_sub(age)))?)
        }
        None => {
            let projects = store.projects()?;
            confirm(&format!("Delete everything, in {} projects?", projects.len()), args.yes)?;
            let sessions = store.forget_everything(memory.env.now)?;
            memory.remove_handoffs(|_| true);
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

/// Runs in the background, so errors are written to the error log.
pub(crate) fn keep_up(memory: &Memory<'_>) -> Result<Exit> {
    match build_index(&memory.home) {
        Ok(Some(_)) => out::message("The search index is complete."),
        Ok(None) => out::message("Another process is building the search index."),
        Err(error) => ErrorLog::new(memory.env, "upkeep").write(&error.chain()),
    }
    let log = |error: &longhaul_runtime::Error| ErrorLog::new(memory.env, "upkeep").write(&error.chain());
    match drop_old_text(memory.env, &memory.home, &memory.config) {
        Ok(dropped) => out::message(&format!("Deleted {dropped} raw texts.")),
        Err(error) => log(&error),
    }
    if let Err(error) = merge_index(&memory.home) {
        log(&error);
    }
    let failures = match drop_old_snapshots(memory) {
        Ok(dropped) => {
            out::message(&format!("Dropped {} snapshots.", dropped.snapshots));
            dropped.failures
        }
        Err(error) => vec![error.chain()],
    };
    for failure in &failures {
        ErrorLog::new(memory.env, "upkeep").write(failure);
        out::message(&format!("longhaul: {failure}"));
    }
    if let Err(error) = drop_old_notifications(memory) {
        log(&error);
    }
    let are_computed = report_vectors(memory);
    Ok(if failures.is_empty() && are_computed { Exit::Success } else { Exit::Problem })
}

/// Drops old snapshots, and deletes the files of those that are no longer listed.
fn drop_old_snapshots(memory: &Memory<'_>) -> Result<Dropped, longhaul_snapshot_store::Error> {
    let Some(store) = memory.home.existing_store()? else { return Ok(Dropped::default()) };
    longhaul_snapshot_store::upkeep(memory.env, &memory.home, &memory.config, &store)
}

/// Deletes the files of snapshots whose sessions were forgotten. It is an error if some remain.
pub(super) fn forget_files(memory: &Memory<'_>) -> Result<()> {
    let remain = "everything else is deleted, but files of its snapshots may remain";
    let again = "`longhaul memory upkeep` deletes them";
    let dropped = drop_old_snapshots(memory).map_err(|error| anyhow!("{remain}: {}; {again}", error.chain()))?;
    if let Some(failure) = dropped.failures.first() {
        bail!("{remain}: {failure}; {again}");
    }
    if dropped.in_use > 0 {
        bail!("{remain}, because a snapshot is being taken or restored, or a restore was interrupted; later, {again}");
    }
    Ok(())
}

/// Deletes old rows of the log of notifications.
fn drop_old_notifications(memory: &Memory<'_>) -> Result<(), longhaul_runtime::Error> {
    let oldest = memory.env.now.0.saturating_sub(longhaul_notify_ways::KEPT_DAYS * DAY_MS.unsigned_abs());
    if let Some(store) = memory.home.existing_store()? {
        store.prune_notifications(Millis(oldest))?;
    }
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

/// Returns a size with its unit, such as `1.5 MB`.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{:.1} MB", count as f64 / 1_000_000.0),
    }
}
