//! `longhaul memory stats`: numbers of records, sizes, projects and models.

use anyhow::Result;
use longhaul_runtime::memory::folder_of;
use longhaul_store::{IndexProgress, KnownProject, Stats, VectorStats};
use serde_json::{Value, json};

use super::open_memory::Memory;
use super::render::when;
use super::vector_upkeep::model_problems;
use crate::cli::{Exit, out};

/// How many projects are listed without `--json`.
const LISTED: usize = 20;

pub(crate) fn run(memory: &Memory<'_>, tables: bool, json: bool) -> Result<Exit> {
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

/// Returns a size with its unit, such as `1.5 MB`.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{:.1} MB", count as f64 / 1_000_000.0),
    }
}
