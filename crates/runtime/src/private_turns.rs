//! Private turns, of which nothing may be stored, identified by the ids of their prompts and of their subagents.
//!
//! The file is `sessions/<id>.private`. Its lines are `+ id` (a private prompt began the turn `id`), `~ id` (a prompt with a
//! private passage began the turn `id`), `@ id` (a subagent of a private turn) and `-` (a prompt began a public turn). It
//! contains ids only. Most sessions have no such file.

use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{Common, EventName, HookEvent, SubagentStart, UserPromptSubmit};
use longhaul_core::{SessionId, private_tags};

use crate::files::{self, word};
use crate::{Error, Flow, Home, Hook, bounded_read};

#[derive(Debug, Default)]
pub(crate) struct PrivateTurns {
    /// Those of which nothing may be stored.
    wholly: Turns,
    /// Those whose prompts contain a private passage.
    partly: Turns,
    agents: Vec<String>,
}

/// Turns of one kind.
#[derive(Debug, Default)]
struct Turns {
    prompts: Vec<String>,
    /// The prompt id of the newest turn if it is one of them; empty if the event had no id.
    running: Option<String>,
}

impl Turns {
    fn begin(&mut self, id: &str) {
        self.prompts.push(id.to_owned());
        self.running = Some(id.to_owned());
    }

    fn has(&self, id: &str) -> bool {
        !id.is_empty() && self.prompts.iter().any(|listed| listed == id)
    }

    /// Returns whether the work for a prompt belongs to one of them: by its id, or without an id if one is running.
    ///
    /// The running turn alone does not decide, because an event may arrive late, while a later turn is running.
    fn include(&self, prompt_id: Option<&str>) -> bool {
        match prompt_id.filter(|id| !id.is_empty()) {
            // A prompt without an id could be any unknown one.
            Some(id) => self.has(id) || self.running.as_deref() == Some(""),
            None => self.running.is_some(),
        }
    }

    /// Returns whether a public prompt with that id ends the newest turn, which is one of them.
    fn end_with(&self, prompt_id: Option<&str>) -> bool {
        self.running.is_some() && !prompt_id.is_some_and(|id| self.has(id))
    }
}

impl PrivateTurns {
    /// Reads the file. Returns no turns if it does not exist.
    pub(crate) fn load(home: &Home, session: &SessionId) -> Self {
        let text = bounded_read::text(&path(home, session), bounded_read::LARGE).unwrap_or_default();
        let mut turns = Self::default();
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("+", id) => turns.wholly.begin(id),
                ("~", id) => turns.partly.begin(id),
                ("@", id) => turns.agents.push(id.to_owned()),
                ("-", _) => (turns.wholly.running, turns.partly.running) = (None, None),
                _ => {}
            }
        }
        turns
    }

    /// Returns whether an event belongs to a private turn: by its subagent, by its prompt, or without a prompt id if a
    /// private turn is running.
    pub(crate) fn include(&self, common: &Common) -> bool {
        let by_agent = common.agent_id.as_deref().is_some_and(|id| self.agents.iter().any(|listed| listed == id));
        by_agent || self.wholly.include(common.prompt_id.as_deref())
    }

    /// Returns whether a text names a subagent of a private turn, as Claude Code's notification of its return does.
    fn are_named_in(&self, text: &str) -> bool {
        self.agents.iter().any(|id| !id.is_empty() && text.contains(id.as_str()))
    }

    pub(crate) fn is_running(&self) -> bool {
        self.wholly.running.is_some()
    }

    /// Returns whether nothing of the tool calls of an event's turn may leave the machine: the turn is private, or its
    /// prompt contains a private passage, which a call may repeat.
    fn hide_calls(&self, common: &Common) -> bool {
        self.partly.include(common.prompt_id.as_deref()) || self.include(common)
    }
}

fn path(home: &Home, session: &SessionId) -> std::path::PathBuf {
    home.session_file(session, "private")
}

fn append(home: &Home, session: &SessionId, line: &str) -> Result<(), Error> {
    files::append_line(&path(home, session), line)
}

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
        let id = word(common.prompt_id.as_deref().unwrap_or_default());
        append(home, &common.session, &format!("~ {id}"))?;
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
        Some(agent) => append(home, &common.session, &format!("@ {}", word(agent))),
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
        append(home, session, &format!("+ {}", word(prompt_id.unwrap_or_default())))
    } else if known.wholly.end_with(prompt_id) || known.partly.end_with(prompt_id) {
        append(home, session, "-")
    } else {
        Ok(())
    }
}

/// Returns whether nothing may be stored of the work for a prompt, which need not be the running one.
pub(crate) fn is_private(home: &Home, session: &SessionId, prompt_id: Option<&str>) -> bool {
    PrivateTurns::load(home, session).wholly.include(prompt_id)
}

/// Returns whether this prompt itself is recorded as private.
pub(crate) fn is_marked(home: &Home, session: &SessionId, prompt_id: &str) -> bool {
    PrivateTurns::load(home, session).wholly.has(prompt_id)
}
