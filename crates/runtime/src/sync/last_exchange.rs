//! How the last exchange went, for `sync status`, the doctor and the viewer. How long to pause after one that has failed is
//! decided in `sync/src/automatic_exchange.rs`.

use std::path::PathBuf;

use longhaul_core::Millis;
use longhaul_sync::{is_pause_over, paused_until};
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files};

/// How much of a text is kept, in characters. A server can send more than the file may have.
const TEXT: usize = 1_000;

/// How the last exchange went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExchangeState {
    /// When the last exchange ended, in milliseconds.
    pub at: Option<u64>,
    /// When the last successful one ended, in milliseconds.
    pub succeeded_at: Option<u64>,
    /// Why the last one failed; `None` if it did not.
    pub error: Option<String>,
    /// How many have failed in a row.
    pub failures: u32,
    /// Before this time, in milliseconds, no exchange starts by itself.
    pub not_before: u64,
    /// What the user should know, such as that this machine got a new id.
    pub remark: Option<String>,
    /// What the last one could not fetch, although the engine has it; `None` if it fetched everything.
    pub incomplete: Option<String>,
    /// How many records the last successful one has sent.
    pub sent: u64,
    /// How many records the last successful one has fetched.
    pub fetched: u64,
}

impl ExchangeState {
    pub(super) fn file(home: &Home) -> PathBuf {
        home.sync().join("state.json")
    }

    /// Reads the state. A file that is missing or damaged is an empty state.
    pub fn read(home: &Home) -> Self {
        let text = bounded_read::text(&Self::file(home), bounded_read::SMALL);
        text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Writes the state.
    pub fn write(&self, home: &Home) -> Result<(), Error> {
        let text = serde_json::to_string(self).unwrap_or_default();
        files::replace(&Self::file(home), text.as_bytes())
    }

    /// Returns the state after a success.
    #[must_use]
    pub fn succeeded(self, now: Millis, sent: u64, fetched: u64, remark: Option<String>) -> Self {
        // A remark stays until the next one: it may have come while no one looked.
        let remark = remark.map(cut).or(self.remark);
        let (at, succeeded_at) = (Some(now.0), Some(now.0));
        Self { at, succeeded_at, remark, sent, fetched, ..Self::default() }
    }

    /// Returns the state with what could not be fetched.
    #[must_use]
    pub fn with_incomplete(self, incomplete: Option<String>) -> Self {
        Self { incomplete: incomplete.map(cut), ..self }
    }

    /// Returns the state after a failure: the next attempt is after a pause.
    #[must_use]
    pub fn failed(self, now: Millis, error: String) -> Self {
        let not_before = paused_until(now, self.failures).0;
        let failures = self.failures.saturating_add(1);
        Self { at: Some(now.0), error: Some(cut(error)), failures, not_before, ..self }
    }

    /// Returns whether an exchange may start by itself now.
    pub fn may_start(&self, now: Millis) -> bool {
        is_pause_over(Millis(self.not_before), now)
    }
}

/// Returns the beginning of a text.
fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::{Env, Millis, Platform};
    use tempfile::tempdir;

    use super::ExchangeState;
    use crate::Home;

    /// A server decides how long its message is.
    #[test]
    fn a_long_error_does_not_make_the_state_unreadable() {
        let dir = tempdir().unwrap();
        let data = dir.path().to_str().unwrap().to_owned();
        let env = Env::new(Millis(1), Platform::Unix, |name| (name == "LONGHAUL_HOME").then(|| data.clone()));
        let home = Home::of(&env).unwrap();
        let long = "é".repeat(100_000);
        let state = ExchangeState::default().succeeded(Millis(1), 1, 1, Some(long.clone()));
        let state = state.with_incomplete(Some(long.clone())).failed(Millis(1), long);
        state.write(&home).unwrap();
        assert_eq!(ExchangeState::read(&home), state);
        assert!(!ExchangeState::read(&home).may_start(Millis(2)), "the pause is kept");
    }

    #[test]
    fn the_pause_after_failures_doubles_up_to_an_hour() {
        let mut state = ExchangeState::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            state = state.failed(Millis(1_000_000), "down".to_owned());
            pauses.push((state.not_before - 1_000_000) / 60_000);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert!(!state.may_start(Millis(1_000_000 + 59 * 60_000)));
        assert!(state.may_start(Millis(1_000_000 + 60 * 60_000)));
        assert!(state.may_start(Millis(5)), "the clock was ahead when it failed");
        let state = state.succeeded(Millis(2_000_000), 1, 2, None);
        assert!(state.may_start(Millis(2_000_000)));
        assert_eq!((state.failures, state.error), (0, None));
    }
}
