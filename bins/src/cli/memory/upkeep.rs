//! The state of the memory: `upkeep`, the daily work in the background; `stats`; and `salvage`, which takes what can be
//! read of a damaged database.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use longhaul_core::clock::DAY_MS;
use longhaul_core::{Millis, counted};
use longhaul_runtime::memory::folder_of;
use longhaul_runtime::memory::meaning::{Effort, Meaning, ModelsState};
use longhaul_runtime::memory::salvage::{Outcome, SetAside, describe, salvage};
use longhaul_runtime::memory::upkeep::{build_index, drop_old_text, may_delete, merge_index, note_run};
use longhaul_runtime::{Error, ErrorLog};
use longhaul_snapshot_store::Dropped;
use longhaul_store::{IndexProgress, KnownProject, Salvaged, Stats, StoreError, VectorStats};
use serde_json::{Value, json};

use super::open_memory::Memory;
use super::render::when;
use crate::cli::{Exit, out};

/// Runs in the background, so errors are written to the error log.
pub(crate) fn run(memory: &Memory<'_>) -> Result<Exit> {
    let log = |problem: &str| ErrorLog::new(memory.env, "upkeep").write(problem);
    let logged = |done: Result<(), Error>| done.unwrap_or_else(|error| log(&error.chain()));
    logged(build_index(&memory.home).map(|built| match built {
        Some(_) => out::message("The search index is complete."),
        None => out::message("Another process is building the search index."),
    }));
    logged(note_run(&memory.home, memory.env.now));
    if !may_delete(&memory.home, memory.env.now) {
        out::message("The clock has jumped since the last upkeep: nothing is deleted because of its age for a day.");
    }
    let dropped = drop_old_text(memory.env, &memory.home, &memory.config);
    logged(dropped.map(|dropped| out::message(&format!("Deleted {dropped} raw texts."))));
    logged(merge_index(&memory.home));
    let failures = match drop_old_snapshots(memory) {
        Ok(dropped) => {
            out::message(&format!("Dropped {} snapshots.", dropped.snapshots));
            dropped.failures
        }
        Err(error) => vec![error.chain()],
    };
    for failure in &failures {
        log(failure);
        out::message(&format!("longhaul: {failure}"));
    }
    logged(drop_old_notifications(memory));
    let are_computed = report_vectors(memory);
    Ok(if failures.is_empty() && are_computed { Exit::Success } else { Exit::Problem })
}

/// Drops old snapshots, and deletes the files of those that are no longer listed.
fn drop_old_snapshots(memory: &Memory<'_>) -> Result<Dropped, longhaul_snapshot_store::Error> {
    // What a damaged database lists is listed here when it is salvaged.
    if memory.home.set_aside_databases().iter().any(SetAside::is_under_way) {
        return Ok(Dropped { in_use: 1, ..Dropped::default() });
    }
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
fn drop_old_notifications(memory: &Memory<'_>) -> Result<(), Error> {
    if !may_delete(&memory.home, memory.env.now) {
        return Ok(());
    }
    let oldest = memory.env.now.0.saturating_sub(longhaul_notifications::KEPT_DAYS * DAY_MS.unsigned_abs());
    if let Some(store) = memory.home.existing_store()? {
        store.prune_notifications(Millis(oldest))?;
    }
    Ok(())
}

/// Computes missing vectors and returns how many, or `None` if there is no model.
pub(crate) fn compute_vectors(memory: &Memory<'_>) -> Result<Option<usize>, Error> {
    let Some(meaning) = Meaning::open(memory.env, &memory.home, &memory.config)? else { return Ok(None) };
    let Some(store) = memory.home.existing_store()? else { return Ok(None) };
    let computed = meaning.catch_up(&store, memory.env.now, Effort::Upkeep)?;
    meaning.drop_unused(&store, memory.env.now)?;
    if computed > 0 {
        store.settle_writes()?;
    }
    Ok(Some(computed))
}

/// Computes missing vectors and prints the result. Returns whether they could be computed.
///
/// The failure of an endpoint is printed as well: only the worker calls it, and that prints nothing.
fn report_vectors(memory: &Memory<'_>) -> bool {
    let computed = compute_vectors(memory);
    let mut problems = models(memory).map(|models| models.problems()).unwrap_or_default();
    match &computed {
        Ok(Some(computed)) => out::message(&format!("Computed {computed} vectors.")),
        Ok(None) => {}
        Err(error) => {
            let problem = error.chain();
            ErrorLog::new(memory.env, "upkeep").write(&problem);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    for problem in &problems {
        out::message(&format!("longhaul: {problem}"));
    }
    computed.is_ok()
}

/// Returns the models that compute vectors; `None` if meanings are not compared.
fn models(memory: &Memory<'_>) -> Option<ModelsState> {
    ModelsState::read(memory.env, &memory.home, &memory.config)
}

/// Says which model compares meanings, where no record has a vector of it.
fn without_vectors(models: Option<&ModelsState>, vectors: &[VectorStats]) -> Option<String> {
    let Some(models) = models else { return Some("off, by memory.enabled or memory.embeddings".to_owned()) };
    let (used, when) = match (&models.endpoint, &models.file) {
        (Some(endpoint), _) => (&endpoint.model, "the worker computes them"),
        (None, Some(Ok(id))) => (id, "the first search computes them"),
        // Said as a problem.
        (None, Some(Err(_))) => return None,
        (None, None) => return Some("no model: every bundle has one, `longhaul install`".to_owned()),
    };
    let has_some = vectors.iter().any(|known| known.model == *used);
    (!has_some).then(|| format!("none yet of {used}: {when}"))
}

/// How many projects are listed without `--json`.
const LISTED: usize = 20;

pub(crate) fn stats(memory: &Memory<'_>, tables: bool, json: bool) -> Result<()> {
    let Some(store) = memory.existing()? else {
        if json {
            return out::json(&stats_json(&Stats::default(), &[], &[], IndexProgress::default(), (&[], &[])));
        }
        out::message("The memory is empty. `longhaul memory import` reads every past session.");
        return Ok(());
    };
    let (stats, sizes, projects) = (store.stats()?, store.sizes()?, store.projects()?);
    let (index, vectors) = (store.index_progress()?, store.vector_stats()?);
    let maps = store.line_map_stats()?;
    let models = models(memory);
    let problems = models.as_ref().map(ModelsState::problems).unwrap_or_default();
    if json {
        let mut value = stats_json(&stats, &sizes, &projects, index, (&vectors, &problems));
        value["line_maps"] = json!({ "files": maps.files, "bytes": maps.bytes });
        return out::json(&value);
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
    if maps.files > 0 {
        let files = counted(maps.files as usize, "file");
        out::line(&format!("{:14} {:>12} of {files}", "line maps", bytes(maps.bytes)))?;
    }
    out::line(&format!("{:14} {:>12}, {} of it free", "file", bytes(stats.bytes), bytes(stats.free_bytes)))?;
    if !index.is_complete() {
        let IndexProgress { done, total } = index;
        out::line(&format!("{:14} {:>11}%, {done} of {total} records", "search index", index.percent()))?;
        out::message("The search index is being built. Until it is complete, a search does not find everything.");
        out::message("`longhaul memory upkeep` completes it now; every new session also continues it.");
    }
    for (table, size) in sizes.iter().filter(|(_, size)| tables && *size >= stats.bytes / 100) {
        out::text(&format!("  {table:30} {:>12}", bytes(*size)))?;
    }
    for VectorStats { model, vectors, looked_at, records, .. } in &vectors {
        let share = 100.0 * *looked_at as f64 / (*records).max(1) as f64;
        out::text(&format!("{:14} {vectors:>12} of {model}, {share:.0} % of the records processed", "vectors"))?;
    }
    if let Some(why) = without_vectors(models.as_ref(), &vectors) {
        out::text(&format!("{:14} {why}", "vectors"))?;
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
    Ok(())
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

/// Returns a size with its unit, such as `1.5 MB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{:.1} MB", count as f64 / 1_000_000.0),
    }
}

#[derive(clap::Args)]
pub(crate) struct SalvageArgs {
    /// The damaged database, such as longhaul.db.damaged-1
    file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn salvage_files(memory: &Memory<'_>, args: &SalvageArgs) -> Result<()> {
    let file = args.file.as_path();
    // As after an import, there may be very many new records.
    let finish = || {
        if let Err(error) = merge_index(&memory.home).and_then(|()| compute_vectors(memory).map(drop)) {
            ErrorLog::new(memory.env, "salvage").write(&error.chain());
        }
    };
    let salvaged = match salvage(memory.env, &memory.home, &memory.config, file, finish) {
        Ok(Outcome::Done(salvaged)) => Some(salvaged),
        Ok(Outcome::DoneBefore) => None,
        Ok(Outcome::Busy) => bail!("another process salvages a damaged database now: run this again when it has ended"),
        Err(error) => {
            // It may run in the background. What is foreign is recorded already, if the file was renamed.
            if !matches!(error, Error::Store(StoreError::Foreign { .. })) {
                ErrorLog::new(memory.env, "salvage").write(&error.chain());
            }
            return Err(error.into());
        }
    };
    if args.json {
        return out::json(&salvage_json(file, salvaged.as_ref()));
    }
    out::message(&match &salvaged {
        Some(salvaged) => describe(file, salvaged),
        None => format!("{} was salvaged before: nothing has changed", file.display()),
    });
    Ok(())
}

fn salvage_json(file: &Path, salvaged: Option<&Salvaged>) -> Value {
    let was_salvaged_before = salvaged.is_none();
    let salvaged = salvaged.copied().unwrap_or_default();
    json!({
        "file": file,
        "was_salvaged_before": was_salvaged_before,
        "prompts": salvaged.prompts,
        "observations": salvaged.observations,
        "summaries": salvaged.summaries,
        "bookmarks": salvaged.bookmarks,
        "snapshots": salvaged.snapshots,
        "known": salvaged.known,
        "of_other_machines": salvaged.others,
        "damaged_rows": salvaged.damaged_rows,
        "damaged_pages": salvaged.damaged_pages,
        "missing_tables": salvaged.missing_tables,
    })
}
