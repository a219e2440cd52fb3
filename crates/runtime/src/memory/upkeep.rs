//! Background work for the memory. Once a day, old raw text is deleted, its space is freed, and long prompts and
//! replies are cut. Records that are missing in the search index are added.

use longhaul_core::clock::DAY_MS;
use longhaul_core::{Config, Env, Millis};

use crate::{Error, Home, bounded_read, files, process, waiting_times};

/// Number of texts deleted per transaction, so that other processes can write in between.
const AT_ONCE: usize = 500;

/// Maximum number of texts deleted per day, several times more than a busy day adds.
const MOST: usize = 20_000;

/// Number of records added to the search index per transaction.
const INDEXED_AT_ONCE: usize = 200;

/// What the file [`Home::upkeep`] contains: when upkeep last ran, and since when the clock has not jumped.
///
/// Upkeep runs once a day: a clock that shows a day more than that, or an earlier day, may be wrong, and what is old by it may be
/// new. Nothing is deleted until the clock has gone on for a day. A machine that was off for days waits that day, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    last: Millis,
    steady_since: Millis,
}

impl Mark {
    const DAY: u64 = DAY_MS.unsigned_abs();

    /// Returns the mark of the last run; `None` before the first one.
    fn read(home: &Home) -> Option<Self> {
        let text = bounded_read::text(&home.upkeep(), bounded_read::SMALL).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().map(Millis));
        let last = numbers.next()?.ok()?;
        let steady_since = numbers.next()?.ok()?;
        Some(Self { last, steady_since })
    }

    /// Returns the mark of a run that follows this one.
    fn next(before: Option<Self>, now: Millis) -> Self {
        let steady_since = match before {
            Some(before) if before.has_jumped(now) => now,
            Some(before) => before.steady_since,
            // The first run: there is nothing that the clock could differ from.
            None => Millis(0),
        };
        Self { last: now, steady_since }
    }

    fn has_jumped(self, now: Millis) -> bool {
        // A machine may be off for weeks. What a smaller jump ahead could delete, the newest record protects.
        now.since(self.last) > 30 * Self::DAY || self.last.since(now) > Self::DAY
    }

    fn may_delete(self, now: Millis) -> bool {
        !self.has_jumped(now) && now.since(self.steady_since) >= Self::DAY
    }

    fn write(self, home: &Home) -> Result<(), Error> {
        files::replace(&home.upkeep(), format!("{} {}", self.last.0, self.steady_since.0).as_bytes())
    }
}

/// Records that upkeep runs now.
pub fn note_run(home: &Home, now: Millis) -> Result<(), Error> {
    Mark::next(Mark::read(home), now).write(home)
}

/// Returns whether upkeep may delete what is old by the clock: not if the clock has jumped since the last run.
pub fn may_delete(home: &Home, now: Millis) -> bool {
    Mark::read(home).is_none_or(|mark| mark.may_delete(now))
}

/// Starts upkeep in the background if the last run was a day ago or the search index is not complete.
pub(crate) fn begin(home: &Home, now: Millis, is_indexed: bool) -> Result<(), Error> {
    if !is_indexed {
        return start();
    }
    let mark = Mark::read(home);
    // A clock that was once far ahead must not delay it for years.
    if mark.is_some_and(|mark| mark.last.0.abs_diff(now.0) < Mark::DAY) {
        return Ok(());
    }
    Mark::next(mark, now).write(home)?;
    // A new memory contains nothing old.
    if mark.is_none() {
        return Ok(());
    }
    start()
}

/// Starts upkeep in the background. If another process builds the search index, this one does not.
pub(crate) fn start() -> Result<(), Error> {
    process::spawn_own("memory", &["upkeep".to_owned()]).map(drop)
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
    let Some(_lock) = files::try_lock(&home.locks().join("upkeep"))? else { return Ok(None) };
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
    if kept_ms == 0 || !may_delete(home, env.now) {
        return Ok(0);
    }
    // A clock that is ahead makes nothing old: the newest record shows that it was not that late yet.
    let Some(newest) = store.newest_record()? else { return Ok(0) };
    let before = Millis(env.now.min(newest).0.saturating_sub(kept_ms));
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

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::Mark;

    #[test]
    fn nothing_is_deleted_for_a_day_after_the_clock_has_jumped() {
        let day = |days: u64| Millis(days * Mark::DAY);
        let mut mark = Mark::next(None, day(1_000));
        assert!(mark.may_delete(day(1_000)), "the first run");
        mark = Mark::next(Some(mark), day(1_001));
        assert!(mark.may_delete(day(1_001)));
        // 400 days ahead, a second run there, and back.
        assert!(!mark.may_delete(day(1_401)));
        for at in [1_401, 1_401, 1_001, 1_001] {
            mark = Mark::next(Some(mark), day(at));
            assert!(!mark.may_delete(day(at)), "{at}");
        }
        mark = Mark::next(Some(mark), day(1_002));
        assert!(mark.may_delete(day(1_002)));
    }
}
