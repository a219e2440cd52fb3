//! `longhaul memory upkeep`: the daily work in the background.

use anyhow::{Result, anyhow, bail};
use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use longhaul_runtime::ErrorLog;
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_runtime::memory::upkeep::{build_index, drop_old_text, may_delete, merge_index, note_run};
use longhaul_snapshot_store::Dropped;

use super::open_memory::Memory;
use super::vector_upkeep::report_vectors;
use crate::cli::{Exit, out};

/// Runs in the background, so errors are written to the error log.
pub(crate) fn run(memory: &Memory<'_>) -> Result<Exit> {
    match build_index(&memory.home) {
        Ok(Some(_)) => out::message("The search index is complete."),
        Ok(None) => out::message("Another process is building the search index."),
        Err(error) => ErrorLog::new(memory.env, "upkeep").write(&error.chain()),
    }
    let log = |error: &longhaul_runtime::Error| ErrorLog::new(memory.env, "upkeep").write(&error.chain());
    if let Err(error) = note_run(&memory.home, memory.env.now) {
        log(&error);
    }
    if !may_delete(&memory.home, memory.env.now) {
        out::message("The clock has jumped since the last upkeep: nothing is deleted because of its age for a day.");
    }
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
fn drop_old_notifications(memory: &Memory<'_>) -> Result<(), longhaul_runtime::Error> {
    if !may_delete(&memory.home, memory.env.now) {
        return Ok(());
    }
    let oldest = memory.env.now.0.saturating_sub(longhaul_notify_ways::KEPT_DAYS * DAY_MS.unsigned_abs());
    if let Some(store) = memory.home.existing_store()? {
        store.prune_notifications(Millis(oldest))?;
    }
    Ok(())
}
