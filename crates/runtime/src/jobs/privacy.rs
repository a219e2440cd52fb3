//! Private turns, of which nothing may be stored.

use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{Common, EventName, HookEvent, SubagentStart, UserPromptSubmit};
use longhaul_core::{SessionId, private_tags};

use crate::private_turns::{self, PrivateTurns};
use crate::{Error, Flow, Home, Hook};

/// Records whether the prompt starts a private turn.
///
/// This job runs before all others, because tools may run while they still write. A public prompt during a private turn
/// has the id of that turn and does not make it public. A private prompt during a public turn makes the rest of it
/// private.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    note_prompt(&hook.home, &hook.event.common, &hook.event.prompt)?;
    Ok(Flow::Next)
}

/// Records what an event says about private turns, where no job runs.
pub(crate) fn note<E: HookEvent<'static>>(home: &Home, event: &E) -> Result<(), Error> {
    match event.prompt() {
        Some(prompt) => note_prompt(home, event.common(), prompt),
        None if E::NAME == EventName::SubagentStart => note_subagent(home, event.common()),
        None => Ok(()),
    }
}

fn note_prompt(home: &Home, common: &Common, prompt: &str) -> Result<(), Error> {
    if in_subagent(common) {
        return Ok(());
    }
    let known = PrivateTurns::load(home, &common.session);
    let is_private = if is_task_notification(prompt) {
        // The result of a subagent of a private turn is private as well.
        known.are_named_in(prompt)
    } else {
        is_wholly_private(prompt)
    };
    mark(home, &common.session, common.prompt_id.as_deref(), is_private)?;
    if !is_private && private_tags::hold_passage(prompt) {
        private_turns::begin_partly(home, &common.session, common.prompt_id.as_deref())?;
    }
    Ok(())
}

/// Records a subagent of a private turn, which it may outlive.
pub fn on_subagent_start(hook: &mut Hook<SubagentStart>) -> Result<Flow, Error> {
    note_subagent(&hook.home, &hook.event.common)?;
    Ok(Flow::Next)
}

fn note_subagent(home: &Home, common: &Common) -> Result<(), Error> {
    let is_private = || PrivateTurns::load(home, &common.session).include(common);
    match common.agent_id.as_deref().filter(|_| is_private()) {
        Some(agent) => private_turns::add_agent(home, &common.session, agent),
        None => Ok(()),
    }
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether nothing of this event's turn may be stored.
    pub(crate) fn is_private(&self) -> bool {
        let common = self.event.common();
        PrivateTurns::load(&self.home, &common.session).include(common)
    }

    /// Returns whether only the name of a tool may be said of the calls of this event's turn.
    pub(crate) fn hides_calls(&self) -> bool {
        let common = self.event.common();
        PrivateTurns::load(&self.home, &common.session).hide_calls(common)
    }
}

/// Returns whether nothing of a prompt may be stored.
pub(crate) fn is_wholly_private(prompt: &str) -> bool {
    !prompt.trim().is_empty() && private_tags::strip(prompt).trim().is_empty()
}

/// Records whether the turn that a prompt starts, or is typed into, is private.
pub(crate) fn mark(home: &Home, session: &SessionId, prompt_id: Option<&str>, is_private: bool) -> Result<(), Error> {
    let known = PrivateTurns::load(home, session);
    if is_private {
        return private_turns::begin(home, session, prompt_id);
    }
    if known.end_with(prompt_id) {
        return private_turns::end(home, session);
    }
    Ok(())
}

/// Returns whether nothing may be stored of the work for a prompt, which need not be the running one.
pub(crate) fn is_private(home: &Home, session: &SessionId, prompt_id: Option<&str>) -> bool {
    PrivateTurns::load(home, session).include_prompt(prompt_id)
}

/// Returns whether this prompt itself is recorded as private.
pub(crate) fn is_marked(home: &Home, session: &SessionId, prompt_id: &str) -> bool {
    PrivateTurns::load(home, session).has_prompt(prompt_id)
}
