//! The cost of writing to a large memory through the library: a prompt, the calls of a turn, forgetting.

use std::time::Instant;

use anyhow::Result;
use longhaul_core::Millis;
use longhaul_store::{RecordId, Store, What};

use super::super::report::Sample;
use super::library::{Hand, Library, Made, NOW, PER_PROMPT, new_observations, register};
use super::words::{Dice, Words};

/// Number of measurements of each kind.
const WRITES: usize = 40;

/// Measures the writes of a running session, and forgetting.
pub(super) fn measure(store: &Store, library: &Library, words: &Words) -> Result<[Sample; 3]> {
    let mut dice = Dice(7);
    let raw = words.sentence(&mut dice, 20_000);
    let mut hand = Hand { words, dice, raw: &raw, files: &library.files };
    let session = "running-session";
    register(store, session, &library.projects[0], NOW)?;
    let (mut prompts, mut turns, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..WRITES {
        let text = hand.words.sentence(&mut hand.dice, 40);
        let began = Instant::now();
        store.remember_prompt(session, Some(&format!("prompt-{n}")), &text, Millis(NOW + n as u64))?;
        prompts.push(began.elapsed());
        let made: Vec<Made<'_>> = (0..PER_PROMPT).map(|call| hand.call(0, usize::MAX - n, call)).collect();
        let new = new_observations(&made, NOW + n as u64);
        let began = Instant::now();
        store.take_in(session, &new, None)?;
        turns.push(began.elapsed());
        let records = store.page_records(&library.projects[1 + n % 20], 50, 0)?;
        let Some(id) = records.last().map(|record| record.id) else { continue };
        let began = Instant::now();
        store.forget(RecordId { what: What::Observation, id })?;
        forgets.push(began.elapsed());
    }
    Ok([
        Sample::new("storing a prompt", prompts),
        Sample::new("storing the 20 calls of a turn", turns),
        Sample::new("forgetting one observation", forgets),
    ])
}
