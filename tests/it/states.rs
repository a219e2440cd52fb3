//! States that are easily wrong: what the real client did in each case, replayed through the hooks.
//!
//! A recording in `tests/states` holds the payloads of the hooks and the changes of the client's own record, with the time
//! of each in milliseconds. tmux refreshes the status every [`INTERVAL`]. Whatever the client's record has said for a whole
//! interval must be the state that is shown after the refresh: no state is wrong for longer.

mod made_by_hand;
mod recorded;
mod replay;

/// tmux's status interval, in milliseconds.
const INTERVAL: u64 = 5_000;
