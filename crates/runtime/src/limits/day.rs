//! What all sessions have spent in a day: `limits/<start of the day>`, in which each session has a slot of 48 bytes that only
//! its own hooks write. A background process adds those whose hooks were not running or had no limit.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use fs2::FileExt;
use longhaul_core::hash::fnv1a;
use longhaul_core::{Config, Env, Millis};
use longhaul_cost::limits::Spent;
use longhaul_cost::{By, Cost, Filter, Prices};

use crate::cost::{AllUsage, transcript_folders, usage_files};
use crate::{Error, Home, bounded_read, files, local_days, midnight};

/// The number of bytes of a slot.
const SLOT: usize = 48;

/// How long the count of other sessions is good, in milliseconds. Those with hooks write their slots themselves.
const COUNT_AGAIN_MS: u64 = 600_000;

/// No day is longer, in milliseconds: 24 hours, and one at the end of the summer time.
const LONGEST_DAY_MS: u64 = 25 * 3_600_000;

/// What a session has spent in a day. The first slot of the file belongs to no session: its project is the time of the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slot {
    pub(super) session: u64,
    pub(super) project: u64,
    pub(super) spent: Spent,
}

impl Slot {
    fn to_bytes(self) -> [u8; SLOT] {
        let Spent { cost, tokens, unpriced_tokens } = self.spent;
        let numbers = [self.session, self.project, cost.0, tokens, unpriced_tokens, 0];
        let mut bytes = [0; SLOT];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let mut numbers = bytes.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap_or_default()));
        let mut next = || numbers.next().unwrap_or_default();
        let (session, project) = (next(), next());
        Self { session, project, spent: Spent { cost: Cost(next()), tokens: next(), unpriced_tokens: next() } }
    }
}

/// Returns the beginning and the end of the day of a time, in local time.
pub(super) fn of(now: Millis) -> (Millis, Millis) {
    let days = local_days();
    let begins = midnight(days(now));
    let next = midnight(days(Millis(begins.0 + LONGEST_DAY_MS + 3_600_000)));
    (begins, next)
}

fn path(home: &Home, day: Millis) -> PathBuf {
    home.limits().join(day.0.to_string())
}

fn slots(home: &Home, day: Millis) -> Vec<Slot> {
    let bytes = bounded_read::bytes(&path(home, day), bounded_read::LARGE).unwrap_or_default();
    bytes.chunks_exact(SLOT).map(Slot::of_bytes).collect()
}

/// Returns what all sessions, and those of a project, have spent in a day.
pub(super) fn sums(home: &Home, day: Millis, project: u64) -> (Spent, Spent) {
    let (mut all, mut of_project) = (Spent::default(), Spent::default());
    for slot in slots(home, day).iter().skip(1) {
        all.add(&slot.spent);
        if slot.project == project {
            of_project.add(&slot.spent);
        }
    }
    (all, of_project)
}

/// Returns what all sessions have spent today, as far as it was counted.
pub fn spent_today(home: &Home, now: Millis) -> Spent {
    sums(home, of(now).0, 0).0
}

/// Writes a slot. Returns its position, by which the next call finds it.
pub(super) fn write(home: &Home, day: Millis, at: Option<u64>, slot: &Slot) -> Result<u64, Error> {
    let path = path(home, day);
    let failed = |source| Error::Write { path: path.clone(), source };
    let file = files::open_in_place(&path)?;
    let has = |at: u64| {
        let mut bytes = [0; SLOT];
        file.read_exact_at(&mut bytes, at).is_ok() && Slot::of_bytes(&bytes).session == slot.session
    };
    let at = match at.filter(|at| has(*at)) {
        Some(at) => at,
        None => {
            file.lock_exclusive().map_err(failed)?;
            place(&file, slot.session).map_err(failed)?
        }
    };
    file.write_all_at(&slot.to_bytes(), at).map_err(failed)?;
    Ok(at)
}

/// Returns the position of a session's slot, or of a new one. The file is locked.
fn place(file: &File, session: u64) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut bytes = vec![0; length.min(bounded_read::LARGE) as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let known = bytes.chunks_exact(SLOT).skip(1).position(|slot| Slot::of_bytes(slot).session == session);
    if length < SLOT as u64 {
        file.write_all_at(&[0; SLOT], 0)?;
    }
    let end = (length as usize / SLOT).max(1);
    Ok((known.map_or(end, |at| at + 1) * SLOT) as u64)
}

/// Returns whether the transcripts should be counted again.
pub(super) fn is_due(home: &Home, now: Millis) -> bool {
    let counted = slots(home, of(now).0).first().map_or(0, |header| header.project);
    now.since(Millis(counted)) > COUNT_AGAIN_MS
}

/// Counts what every session has spent today, from all transcripts that were changed today, and writes their slots.
pub fn count(env: &Env, home: &Home, config: &Config) -> Result<(), Error> {
    let (day, _) = of(env.now);
    // The mark first, so that other sessions that start now do not count, too.
    let path = path(home, day);
    let failed = |source| Error::Write { path: path.clone(), source };
    let file = files::open_in_place(&path)?;
    let mark = Slot { project: env.now.0, ..Slot::default() };
    file.write_all_at(&mark.to_bytes(), 0).map_err(failed)?;
    let mut transcripts = usage_files(&transcript_folders(env));
    transcripts.retain(|file| file.modified >= day);
    let usage = AllUsage::read(&transcripts);
    let prices = Prices::new(&config.models.prices);
    let by = |by, filter: &Filter<'_>| usage.ledger.report(by, &prices, filter, local_days());
    file.lock_exclusive().map_err(failed)?;
    for project in by(By::Project, &Filter { since: Some(day), project: None }).rows {
        for row in by(By::Session, &Filter { since: Some(day), project: Some(&project.key) }).rows {
            let slot = Slot {
                session: fnv1a(row.key.bytes()),
                project: fnv1a(project.key.bytes()),
                spent: Spent::from(&row.sum),
            };
            let at = place(&file, slot.session).map_err(failed)?;
            let mut known = [0; SLOT];
            let known = file.read_exact_at(&mut known, at).map_or(Slot::default(), |()| Slot::of_bytes(&known));
            // The session's own hook may have read more meanwhile.
            if slot.spent.tokens > known.spent.tokens {
                file.write_all_at(&slot.to_bytes(), at).map_err(failed)?;
            }
        }
    }
    Ok(())
}
