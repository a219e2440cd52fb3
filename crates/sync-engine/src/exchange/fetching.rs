//! Fetches records of other hosts, and takes them in.

use longhaul_store::TakenIn;
use longhaul_sync::{IdxRange, Incoming, KeyRing, SealedRecord};

use super::{AT_ONCE, Interruption, Progress, Run, name_of};
use crate::PageLimit;

/// How many records are decrypted and then taken in at once. Between two times, hooks can write.
const TAKEN_AT_ONCE: usize = 100;

/// How many damaged records are fetched again at most.
const DAMAGED_AT_ONCE: usize = 1_000;

impl Run<'_, '_> {
    /// Fetches the records of a range, and takes them in.
    pub(super) fn fetch(&mut self, ring: &KeyRing, mut range: IdxRange, total: u64) -> Result<(), Interruption> {
        while !range.is_empty() {
            let page = self.engine.fetch(range, PageLimit::EXCHANGE)?;
            // In a folder, a file may not be complete yet, or be damaged.
            let Some(last) = page.last() else {
                self.exchanged.incomplete.push(range);
                return Ok(());
            };
            range.after = last.idx;
            if !self.take_in(ring, page, total)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes in a page of new records; returns whether all of it was taken.
    fn take_in(&mut self, ring: &KeyRing, page: Vec<SealedRecord>, total: u64) -> Result<bool, Interruption> {
        let (length, mut records) = (page.len() as u64, 0);
        let mut page = page.into_iter();
        loop {
            let some = page.by_ref().take(TAKEN_AT_ONCE).map(|sealed| Incoming::open(ring, sealed));
            let some: Vec<Incoming> = some.collect();
            if some.is_empty() {
                // Otherwise another process takes in the same records, or a key is missing.
                return Ok(records == length);
            }
            let taken = self.participant.store.take_in_records(&some, self.now())?;
            records += taken.records;
            self.exchanged.fetched += taken.records;
            self.count(&taken);
            self.note_clocks(&taken)?;
            if taken.without_key > 0 {
                self.exchanged.remarks.push(
                    "Some records were written with a newer key of the circle: they are fetched with the next exchange."
                        .to_owned(),
                );
            }
            (self.progress)(Progress { fetched: self.exchanged.fetched, total });
        }
    }

    /// Records whose clock is ahead by the times of the records, if the engine has no clock to compare with.
    fn note_clocks(&mut self, taken: &TakenIn) -> Result<(), Interruption> {
        for (host, ahead) in taken.clocks_ahead.iter().filter(|_| !self.has_clock) {
            let minutes = i64::try_from(ahead / 60_000).unwrap_or_default();
            let is_new = self.participant.store.note_clock(*host, minutes.saturating_mul(60_000))?;
            if is_new && minutes > 0 {
                let name = name_of(self.participant.store, *host)?;
                self.exchanged.remarks.push(format!("The clock of {name} is {minutes} minutes ahead."));
            }
        }
        Ok(())
    }

    /// Fetches records again that could not be read: the engine may have been repaired.
    pub(super) fn fetch_damaged(&mut self, ring: &KeyRing) -> Result<(), Interruption> {
        for mut range in self.participant.store.damaged_ranges(self.now(), DAMAGED_AT_ONCE)? {
            while !range.is_empty() {
                let page = self.engine.fetch(range, PageLimit::EXCHANGE)?;
                let Some(last) = page.last() else { break };
                range.after = last.idx;
                let page: Vec<Incoming> = page.into_iter().map(|sealed| Incoming::open(ring, sealed)).collect();
                let taken = self.participant.store.take_in_waiting(&page, self.now())?;
                self.count(&taken);
            }
        }
        Ok(())
    }

    /// Applies what has waited until its project was shared here, or this version was installed.
    pub(super) fn apply_waiting(&mut self, ring: &KeyRing) -> Result<(), Interruption> {
        let store = self.participant.store;
        loop {
            let page = store.records_that_wait(AT_ONCE)?;
            let page: Vec<Incoming> = page.into_iter().map(|sealed| Incoming::open(ring, sealed)).collect();
            let taken = store.take_in_waiting(&page, self.now())?;
            self.count(&taken);
            if taken.records == 0 {
                return Ok(());
            }
        }
    }

    fn count(&mut self, taken: &TakenIn) {
        self.exchanged.applied += taken.applied;
        self.exchanged.forgotten += taken.forgotten;
    }
}
