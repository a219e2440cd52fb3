//! Which sessions were alive when their client or their tmux server died, and how long they are listed.

use longhaul_core::Millis;

use crate::{ServerId, SessionPlace};

/// How long a session that was not reopened is listed, in milliseconds.
pub const LISTED_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// A client that runs now, according to its own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningClient<'a> {
    /// The id of its process.
    pub pid: u32,
    /// The session that it shows.
    pub session: &'a str,
}

/// Returns whether a recorded session does not run any more, although it did not end.
///
/// `process_runs` says whether the process that showed the session still exists. Such a process has gone on to another
/// session if it does not show this one.
pub fn is_lost(place: &SessionPlace, process_runs: bool, running: &[RunningClient<'_>]) -> bool {
    !process_runs && !running.iter().any(|client| client.session == place.session)
}

/// Sorts sessions by the time at which they were last seen, the newest first.
pub fn newest_first(places: &mut [SessionPlace]) {
    places.sort_by(|a, b| (b.seen_ms, &a.session).cmp(&(a.seen_ms, &b.session)));
}

/// Returns the tmux server of the newest session that ran in tmux.
pub fn last_server(lost: &[SessionPlace]) -> Option<&ServerId> {
    lost.iter().filter(|place| place.server.is_some()).max_by_key(|place| place.seen_ms)?.server.as_ref()
}

/// Which of the lost sessions to reopen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// All sessions of the last tmux server.
    LastServer,
    /// All sessions that were seen since then, of any server.
    Since(Millis),
    /// The sessions with these ids.
    Sessions(&'a [String]),
}

/// Returns the lost sessions that are wanted, in the same order.
pub fn chosen<'a>(lost: &'a [SessionPlace], wanted: Wanted<'_>) -> Vec<&'a SessionPlace> {
    let last = last_server(lost);
    let is_wanted = |place: &&SessionPlace| match wanted {
        // Without any tmux server, the sessions outside tmux are the last ones.
        Wanted::LastServer => place.server.as_ref() == last,
        Wanted::Since(since) => place.seen_ms >= since.0,
        Wanted::Sessions(ids) => ids.contains(&place.session),
    };
    lost.iter().filter(is_wanted).collect()
}
