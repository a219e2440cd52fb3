//! Turns of which nothing may be kept.

use std::fs;
use std::io;
use std::path::PathBuf;

use longhaul_core::event::{HookEvent, UserPromptSubmit};
use longhaul_core::guard::{in_subagent, is_task_notification};

use crate::{Error, Flow, Hook, files};

/// Marks the turn that a wholly private prompt begins, until a prompt of another turn is public.
///
/// Before any other job hears of the prompt: tools may run while they still write.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = &hook.event.prompt;
    if in_subagent(&hook.event.common) || is_task_notification(prompt) {
        return Ok(Flow::Next);
    }
    let is_private = !prompt.trim().is_empty() && hook.keeper().clean(prompt).trim().is_empty();
    hook.mark_private(is_private)?;
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether nothing of the running turn may be kept.
    pub(crate) fn is_private(&self) -> bool {
        self.private_mark().exists()
    }

    fn private_mark(&self) -> PathBuf {
        self.home.session_file(&self.event.common().session, "private")
    }

    /// Sets or removes the mark. A public word in the middle of a private turn does not make the turn public.
    fn mark_private(&self, is_private: bool) -> Result<(), Error> {
        let mark = self.private_mark();
        let prompt = self.event.common().prompt_id.as_deref().unwrap_or_default();
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
}
