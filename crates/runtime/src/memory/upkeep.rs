//! Background work for the memory. Once a day, old raw text is deleted, its space is freed, and long prompts and
//! replies are cut. Records that are missing in the search index are added.

use fs2::FileExt;
use longhaul_core::clock::DAY_MS;
use longhaul_core::{Config, Env, Millis};
use longhaul_store::Store;

use crate::{Error, Home, bounded_read, files, process, waiting_times};

/// Number of texts deleted per transaction, so that other processes can write in between.
const AT_ONCE: usize = 500;

/// Maximum number of texts deleted per day, several times more than a busy day adds.
const MOST: usize = 20_000;

/// Number of records added to the search index per transaction.
const INDEXED_AT_ONCE: usize = 200;

/// Starts upkeep in the background if the last run was a day ago or the search index is not complete.
pub(crate) fn begin(home: &Home, now: Millis, is_indexed: bool) -> Result<(), Error> {
    if !is_indexed {
        return start();
    }
    let path = home.upkeep();
    let last = bounded_read::text(&path, bounded_read::SMALL).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // A clock that was once far ahead must not delay it for years.
    if last.is_some_and(|last| last.abs_diff(now.0) < DAY_MS.unsigned_abs()) {
        return Ok(());
    }
    files::replace(&path, now.0.to_string().as_bytes())?;
    // A new memory contains nothing old.
    if last.is_none() {
        return Ok(());
    }
    start()
}

/// Starts upkeep in the background. If another process builds the search index, this one does not.
pub(crate) fn start() -> Result<(), Error> {
    let args = ["memory", "upkeep"].map(str::to_owned);
    process::spawn_sibling("longhaul", &args).map(drop)
}

/// Cuts prompts and replies that were stored before there was a limit. Returns their number.
pub fn cut_long_texts(store: &Store) -> Result<usize, Error> {
    /// Each text may be as large as a request, and each transaction must be short.
    const LONG_AT_ONCE: usize = 20;

    let mut done = 0;
    loop {
        let cut = store.cut_long_texts(LONG_AT_ONCE)?;
        done += cut;
        if cut < LONG_AT_ONCE {
            return Ok(done);
        }
    }
}

/// Completes the search index in small transactions. Returns whether it is complete; `None` if another process is
/// building it.
///
/// May be killed at any time. The next run continues.
pub fn build_index(home: &Home) -> Result<Option<bool>, Error> {
    let Some(mut store) = home.existing_store()? else { return Ok(Some(true)) };
    if store.index_progress()?.is_complete() && !store.build_index(INDEXED_AT_ONCE)? {
        return Ok(Some(true));
    }
    let lock = files::open_append(&home.locks().join("upkeep"))?;
    if lock.try_lock_exclusive().is_err() {
        return Ok(None);
    }
    process::leave_session();
    while store.build_index(INDEXED_AT_ONCE)? {}
    store.settle_writes()?;
    Ok(Some(true))
}

/// Merges the parts of the search index that many writes have left, because every search reads each of them.
///
/// May be killed at any time. The next run continues.
pub fn merge_index(home: &Home) -> Result<(), Error> {
    let Some(store) = home.existing_store()? else { return Ok(()) };
    // Each transaction is checkpointed at once. Copying everything back at the end would block hooks.
    Ok(store.merge_index(|| std::thread::sleep(waiting_times::BETWEEN_MERGES))?)
}

/// Deletes old raw text. Returns the number of texts. The process outlives the session that started it.
pub fn drop_old_text(env: &Env, home: &Home, config: &Config) -> Result<usize, Error> {
    process::leave_session();
    let kept_ms = config.memory.retention_days.as_millis();
    let Some(store) = home.existing_store()? else { return Ok(0) };
    if cut_long_texts(&store)? > 0 {
        store.settle_writes()?;
    }
    if kept_ms == 0 {
        return Ok(0);
    }
    let before = Millis(env.now.0.saturating_sub(kept_ms));
    let mut dropped = 0;
    while dropped < MOST {
        let pruned = store.prune(before, AT_ONCE)?;
        dropped += pruned.rows;
        if !pruned.more {
            break;
        }
    }
    if dropped > 0 {
        store.settle_writes()?;
    }
    Ok(dropped)
}
