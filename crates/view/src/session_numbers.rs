//! The number by which a session can be named, and after how long it is given to another one.

use std::collections::BTreeMap;

use longhaul_core::Millis;
use serde::{Deserialize, Serialize};

/// How long the number of a session that has ended is not given to another one: what a person has read may be old.
const KEPT_MS: u64 = 60 * 60 * 1000;

/// How old the time of a session that still runs may get before it is stored again.
const STALE_MS: u64 = 10 * 60 * 1000;

/// The numbers of the sessions. A session keeps its number as long as it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionNumbers {
    numbers: BTreeMap<u32, Numbered>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Numbered {
    session: String,
    /// When it was last seen running.
    seen: u64,
}

impl SessionNumbers {
    /// Gives every running session a number: the one that it has, or else the smallest one that is free.
    ///
    /// Returns whether something has changed that must be stored.
    pub fn assign<'a>(&mut self, running: impl Iterator<Item = &'a str>, now: Millis) -> bool {
        let before = self.numbers.clone();
        let running: Vec<&str> = running.collect();
        self.numbers.retain(|_, numbered| {
            running.contains(&numbered.session.as_str()) || now.0.saturating_sub(numbered.seen) < KEPT_MS
        });
        for session in running {
            match self.numbers.values_mut().find(|numbered| numbered.session == session) {
                Some(known) if now.0.saturating_sub(known.seen) >= STALE_MS => known.seen = now.0,
                Some(_) => {}
                None => {
                    let free = (1..).find(|number| !self.numbers.contains_key(number)).unwrap_or(u32::MAX);
                    self.numbers.insert(free, Numbered { session: session.to_owned(), seen: now.0 });
                }
            }
        }
        self.numbers != before
    }

    /// Returns the number of a session.
    pub fn of(&self, session: &str) -> Option<u32> {
        self.numbers.iter().find(|(_, numbered)| numbered.session == session).map(|(number, _)| *number)
    }

    /// Returns the session with a number.
    pub fn session(&self, number: u32) -> Option<&str> {
        self.numbers.get(&number).map(|numbered| numbered.session.as_str())
    }
}
