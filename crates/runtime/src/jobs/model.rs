//! A model that puts into words what was stored (`memory.model.enabled`): the worker, started beside the hook.

use longhaul_core::event::HookEvent;

use crate::worker::start_for_model;
use crate::{Error, Flow, Hook};

/// Starts the worker where a model is to put the stored turn into words and none runs. Nothing waits for it.
pub fn start_worker<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    if hook.config.memory.model.enabled && hook.remembers() {
        start_for_model(&hook.home, hook.env.now)?;
    }
    Ok(Flow::Next)
}
