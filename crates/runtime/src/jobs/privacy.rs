//! Turns of which nothing may be kept.

use std::fs;
use std::io;
use std::path::PathBuf;

use longhaul_core::SessionId;
use longhaul_core::event::{HookEvent, UserPromptSubmit};
use longhaul_core::guard::{in_subagent, is_task_notification};

use crate::{Error, Flow, Home, Hook, Keeper, files};

/// Marks the turn that a wholly private prompt begins, until a prompt of another turn is public.
///
/// Before any other job hears of the prompt: tools may run while they still write.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = &hook.event.prompt;
    if in_subagent(&hook.event.common) || is_task_notification(prompt) {
        return Ok(Flow::Next);
    }
    let common = &hook.event.common;
    mark(&hook.home, &common.session, common.prompt_id.as_deref(), is_wholly_private(prompt, hook.keeper()))?;
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether nothing of the running turn may be kept.
    pub(crate) fn is_private(&self) -> bool {
        is_private(&self.home, &self.event.common().session)
    }
}

/// Returns whether nothing of a prompt may be kept.
pub(crate) fn is_wholly_private(prompt: &str, keeper: Keeper) -> bool {
    !prompt.trim().is_empty() && keeper.clean(prompt).trim().is_empty()
}

/// Returns whether nothing of a session's running turn may be kept.
pub(crate) fn is_private(home: &Home, session: &SessionId) -> bool {
    file(home, session).exists()
}

/// Returns whether this very prompt is the one that nothing may be kept of.
pub(crate) fn is_marked(home: &Home, session: &SessionId, prompt_id: &str) -> bool {
    fs::read(file(home, session)).is_ok_and(|marked| marked == prompt_id.as_bytes())
}

/// Sets or removes the mark. A public word in the middle of a private turn does not make the turn public.
pub(crate) fn mark(home: &Home, session: &SessionId, prompt_id: Option<&str>, is_private: bool) -> Result<(), Error> {
    let mark = file(home, session);
    let prompt = prompt_id.unwrap_or_default();
    if is_private {
        return files::replace(&mark, prompt.as_bytes());
    }
    match fs::read(&mark) {
        Ok(marked) if !prompt.is_empty() && marked == prompt.as_bytes() => Ok(()),
        Ok(_) => fs::remove_file(&mark).map_err(|source| Error::Write { path: mark, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::Read { path: mark, source }),
    }
}

fn file(home: &Home, session: &SessionId) -> PathBuf {
    home.session_file(session, "private")
}
