//! Starts the exchange with other machines in the background, at the events of a session. Nothing waits for it. How often at
//! most is in `sync/src/automatic_exchange.rs`.

use std::time::Duration;

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{HookEvent, SessionEnd, SessionStart, Stop};
use longhaul_sync::{AFTER_TURN, AT_SESSION_START};

use crate::{Error, Flow, Hook, sync};

/// Before the page of the session is made: what other machines did since may be on it the next time.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    hook.start_exchange(AT_SESSION_START)
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
    /// Starts an exchange, if this machine has a circle and none was started within `interval`.
    fn start_exchange(&self, interval: Duration) -> Result<Flow, Error> {
        if self.config.sync.enabled && self.config.memory.enabled {
            sync::start_exchange(&self.home, self.env.now, interval)?;
        }
        Ok(Flow::Next)
    }
}
