//! Summaries by a model (`memory.model.enabled`), written by the worker in the background.

use longhaul_core::event::HookEvent;

use crate::worker::start_for_model;
use crate::{Error, Flow, Hook};

/// Starts the worker if a model is to write summaries and no worker runs. Nothing waits for it.
pub fn start_worker<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    if hook.config.memory.model.enabled && hook.remembers() {
        start_for_model(&hook.home, hook.env.now)?;
    }
    Ok(Flow::Next)
}
