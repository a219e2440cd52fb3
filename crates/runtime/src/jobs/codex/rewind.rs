//! Records that the user of Codex went back to an earlier prompt.

use std::path::Path;

use longhaul_core::event::SessionStart;

use crate::codex::turns_left_out;
use crate::{Error, Flow, Hook};

/// Marks the turns that a rewind took back. Codex then writes a new rollout, and starts the session again with it.
///
/// Must run before the session is registered, which replaces the path of the earlier rollout.
pub fn follow_rewind(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    let Some(new) = common.transcript.as_deref().filter(|_| hook.keeps_turns()) else { return Ok(Flow::Next) };
    let store = hook.store()?;
    let Some(session) = store.session(common.session.as_str())? else { return Ok(Flow::Next) };
    let Some(old) = session.transcript.as_deref().map(Path::new).filter(|old| *old != new) else {
        return Ok(Flow::Next);
    };
    let own = common.session.own();
    let turns = match turns_left_out(own, old, new) {
        Err(error) if error.is_missing_file() => return Ok(Flow::Next),
        turns => turns?,
    };
    store.leave_out(&session.session, &turns)?;
    Ok(Flow::Next)
}
