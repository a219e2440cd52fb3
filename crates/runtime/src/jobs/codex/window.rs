//! Finds the window of a Codex session where several are open in its folder.

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{HookEvent, SessionStart, UserPromptSubmit};

use crate::codex::{own_window, settle, windows_in};
use crate::{Error, Flow, Hook, SessionRecord};

/// Takes the window in which the session was found before.
pub fn find_window<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    hook.look_for_window(None);
    Ok(Flow::Next)
}

/// Notes that the window is not known yet: Codex starts a session with its first prompt, and only its text, in the next
/// event, shows in which window that was. The handoff waits for it, because each window has its own predecessor.
pub fn find_window_of_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let is_among_several = hook.look_for_window(None);
    hook.awaits_window = is_among_several && hook.env.client_pid.is_none();
    Ok(Flow::Next)
}

/// Finds the window by the prompt on its screen, and records it.
pub fn find_window_of_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = hook.event.prompt.clone();
    if !hook.look_for_window(Some(&prompt)) {
        return Ok(Flow::Next);
    }
    let session = hook.event.common.session.clone();
    let Some(mut record) = SessionRecord::load(&hook.home, &session) else { return Ok(Flow::Next) };
    if hook.env.client_pid.is_some() && record.client_pid != hook.env.client_pid {
        hook.was_cleared = record.cleared && record.client_pid.is_none();
        record.client_pid = hook.env.client_pid;
        record.save(&hook.home, &session)?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Sets the window of the session, if there are several and one of them is certainly its own. Returns whether there
    /// are several.
    fn look_for_window(&mut self, prompt: Option<&str>) -> bool {
        let common = self.event.common();
        if self.env.client_pid.is_some() || in_subagent(common) {
            return false;
        }
        let Some(dir) = std::env::current_dir().ok() else { return false };
        let windows = windows_in(&dir);
        if windows.len() < 2 {
            return false;
        }
        let recorded = SessionRecord::load(&self.home, &common.session).and_then(|record| record.client_pid);
        let own = common.session.own();
        if let Some(place) = own_window(&windows, own, prompt, recorded, self.deadline) {
            settle(&mut self.env, place);
        }
        true
    }
}
