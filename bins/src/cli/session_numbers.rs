//! The file with the numbers by which sessions can be named.

use longhaul_core::Millis;
use longhaul_runtime::{Home, bounded_read, files};
use longhaul_view::SessionNumbers;

/// Returns the numbers of the sessions. A session without a number gets one, which is stored.
///
/// Numbers are a convenience: if they cannot be stored, the caller can still show the sessions.
pub(crate) fn assign<'a>(home: &Home, running: impl Iterator<Item = &'a str>, now: Millis) -> SessionNumbers {
    let running: Vec<&str> = running.collect();
    // Without a session, this must not create the data folder.
    if running.is_empty() {
        return SessionNumbers::default();
    }
    // Two commands at the same time must not give one number to two sessions.
    let lock = files::open_append(&home.locks().join("session-numbers")).ok();
    let is_locked = lock.as_ref().is_some_and(|lock| lock.lock().is_ok());
    let mut numbers = read(home);
    if numbers.assign(running.into_iter(), now) && is_locked {
        let text = serde_json::to_vec(&numbers).unwrap_or_default();
        let _ = files::replace(&home.session_numbers(), &text);
    }
    numbers
}

/// Returns the numbers that are stored.
pub(crate) fn read(home: &Home) -> SessionNumbers {
    let text = bounded_read::bytes(&home.session_numbers(), bounded_read::LARGE).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
