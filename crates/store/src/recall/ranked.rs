//! A search result with its score.

use std::mem;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use longhaul_memory::{Look, Looker, WEIGHTS};

use super::candidate::Candidate;

/// Number of records from which two threads read faster than one. A search at the prompt reads fewer.
const SHARED: usize = 24;

/// A record with its score.
pub(super) struct Ranked {
    pub(super) one: Candidate,
    pub(super) look: Look,
    /// The score of its own text, without its neighbours.
    pub(super) own: f64,
    pub(super) score: f64,
    /// The score by words, compared with the rarity of a word that one record has. Infinite if nothing was ranked.
    pub(super) evidence: f64,
    /// Whether a newer record answers the same question.
    pub(super) is_older: bool,
    /// The similarity of its meaning to the query's, if it is among the most similar.
    pub(super) similarity: Option<f32>,
    /// How much of the question its meaning covers, as far as that is more than of an unrelated record.
    pub(super) meant: f64,
    /// The other parts of the score.
    pub(super) parts: Parts,
}

/// The parts of a score besides a record's own text: sums, then factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parts {
    /// From the passages before and after it.
    pub(super) neighbours: f64,
    /// From its tool calls.
    pub(super) calls: f64,
    /// From its similarity.
    pub(super) meaning: f64,
    /// The factor for its age.
    pub(super) age: f64,
    /// The factor for a day that the query names.
    pub(super) date: f64,
}

impl Default for Parts {
    fn default() -> Self {
        Self { neighbours: 0.0, calls: 0.0, meaning: 0.0, age: 1.0, date: 1.0 }
    }
}

impl Ranked {
    /// Returns a record with the score of its own text.
    pub(super) fn new(one: Candidate, looker: &mut Looker) -> Self {
        let look = looker.look(&one.fields());
        let own = look.total() * one.weight();
        Self { own, score: own, ..Self::of(one, look) }
    }

    /// Returns records with the scores of their own texts, in any order. If there is much to read, two threads share it.
    pub(super) fn all(found: Vec<Candidate>, looker: &mut Looker) -> Vec<Self> {
        let read = |found: Vec<Candidate>, looker: &mut Looker| -> Vec<Self> {
            found.into_iter().map(|one| Self::new(one, looker)).collect()
        };
        if found.len() < SHARED {
            return read(found, looker);
        }
        // Every second one, because the best come first, and both threads should read those to the end.
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (number, one) in found.into_iter().enumerate() {
            if number % 2 == 0 { own.push(one) } else { others.push(one) }
        }
        let mut second = looker.share_reading();
        let others = Mutex::new(others);
        let take_others = || mem::take(&mut *others.lock().unwrap_or_else(PoisonError::into_inner));
        let mut ranked = thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, || read(take_others(), &mut second));
            let mut ranked = read(own, looker);
            match started.map(ScopedJoinHandle::join) {
                Ok(Ok(others)) => ranked.extend(others),
                Ok(Err(panic)) => resume_unwind(panic),
                // The system allows no more threads.
                Err(_) => {}
            }
            ranked
        });
        looker.take_back(&second);
        ranked.extend(read(take_others(), looker));
        ranked
    }

    /// Returns a record without a score.
    pub(super) fn of(one: Candidate, look: Look) -> Self {
        let evidence = f64::INFINITY;
        Self {
            one,
            look,
            own: 0.0,
            score: 0.0,
            evidence,
            is_older: false,
            similarity: None,
            meant: 0.0,
            parts: Parts::default(),
        }
    }

    /// Returns whether it has too little of the query to be called an answer.
    pub(super) fn is_weak(&self) -> bool {
        let is_telling = self.look.covered >= WEIGHTS.telling_share && self.evidence >= WEIGHTS.telling;
        self.look.covered < WEIGHTS.weak && !is_telling
    }

    /// Returns whether it is not about a question at all, though it has a word of it.
    pub(super) fn is_unrelated(&self) -> bool {
        let has_one_word = self.look.has.iter().filter(|has| **has).count() <= 1;
        let says_little =
            has_one_word && self.look.covered < WEIGHTS.related_share && self.evidence < WEIGHTS.related_score;
        // Without evidence, only words were found that every text has.
        let is_by_words = says_little || self.evidence <= 0.0;
        is_by_words && self.similarity.is_none_or(|similarity| similarity < WEIGHTS.related_meaning)
    }
}
