//! Starts the exchange with other machines in the background: at which events, and how often at most. Nothing waits for it.

use std::time::Duration;

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{HookEvent, SessionEnd, SessionStart, Stop};

use crate::{Error, Flow, Hook, sync};

/// After a turn, at most once in this time.
const AFTER_TURN: Duration = Duration::from_secs(60);

/// At the start of a session, at most once in this time.
const AT_START: Duration = Duration::from_secs(10 * 60);

/// Before the page of the session is made: what other machines did since may be on it the next time.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    hook.start_exchange(AT_START)
}

/// After a turn.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.start_exchange(AFTER_TURN)
}

/// At the end of a session, however recent the last exchange is: it may be the last one for days.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    hook.start_exchange(Duration::ZERO)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Starts an exchange, if this machine has a circle and none was started within `pause`.
    fn start_exchange(&self, pause: Duration) -> Result<Flow, Error> {
        if self.config.sync.enabled && self.config.memory.enabled {
            sync::start_exchange(&self.home, self.env.now, pause)?;
        }
        Ok(Flow::Next)
    }
}
