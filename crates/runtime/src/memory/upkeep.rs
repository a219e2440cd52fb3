//! What is done for the memory beside the hooks: once a day, raw text that is too old is deleted and its room given back, and
//! prompts and replies that are too long are cut; and the search index takes in what was there before it.

use fs2::FileExt;
use longhaul_core::clock::DAY_MS;
use longhaul_core::cut_text::cut_middle;
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::SAID_CHARS;
use longhaul_store::Store;

use crate::{Error, Home, bounded_read, files, process, waiting_times};

/// How many pieces are dropped at a time: others write in between.
const AT_ONCE: usize = 500;

/// How many are dropped in a day, several times what a busy one brings.
const MOST: usize = 20_000;

/// How many records the search index takes in at a time.
const INDEXED_AT_ONCE: usize = 200;

/// Starts it in a process of its own, where the last time was a day ago or the search index is not complete.
pub(crate) fn begin(home: &Home, now: Millis, is_indexed: bool) -> Result<(), Error> {
    if !is_indexed {
        return start();
    }
    let path = home.upkeep();
    let last = bounded_read::text(&path, bounded_read::SMALL).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // A clock that was far ahead once must not put it off for years.
    if last.is_some_and(|last| last.abs_diff(now.0) < DAY_MS.unsigned_abs()) {
        return Ok(());
    }
    files::replace(&path, now.0.to_string().as_bytes())?;
    // A memory that has just begun has nothing old.
    if last.is_none() {
        return Ok(());
    }
    start()
}

/// Starts it in a process of its own. Where another one builds the search index, this one leaves that to it.
pub(crate) fn start() -> Result<(), Error> {
    let args = ["memory", "upkeep"].map(str::to_owned);
    process::spawn_sibling("longhaul", &args).map(drop)
}

/// Cuts prompts and replies that were stored before there was a limit; returns how many.
pub fn cut_long_texts(store: &Store) -> Result<usize, Error> {
    /// So many may be as large as a request may be; each transaction must be short.
    const LONG_AT_ONCE: usize = 20;

    let mut done = 0;
    loop {
        let cut = store.cut_long_texts(SAID_CHARS, LONG_AT_ONCE, |text| cut_middle(text, SAID_CHARS))?;
        done += cut;
        if cut < LONG_AT_ONCE {
            return Ok(done);
        }
    }
}

/// Completes the search index, in small transactions; returns whether it is complete, and `None` where another process is at
/// it already.
///
/// It may be ended at any moment, and goes on there the next time.
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

/// Merges what many writes have left of the search index: every search looks in each part of it.
///
/// It may be ended at any moment, and goes on there the next time.
pub fn merge_index(home: &Home) -> Result<(), Error> {
    let Some(store) = home.existing_store()? else { return Ok(()) };
    // Each transaction is copied back as it is written: copying all of it back at once would keep hooks waiting.
    Ok(store.merge_index(|| std::thread::sleep(waiting_times::BETWEEN_MERGES))?)
}

/// Drops raw text that has been kept long enough; returns how many pieces. It outlives the session that began it.
pub fn drop_old_text(env: &Env, home: &Home, config: &Config) -> Result<usize, Error> {
    process::leave_session();
    let days = config.memory.retention_days.0;
    let Some(store) = home.existing_store()? else { return Ok(0) };
    if cut_long_texts(&store)? > 0 {
        store.settle_writes()?;
    }
    if days <= 0.0 {
        return Ok(0);
    }
    let before = Millis(env.now.0.saturating_sub((days * DAY_MS as f64) as u64));
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
