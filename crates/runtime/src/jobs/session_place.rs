//! Where a session runs, recorded while it is alive, so that it can be reopened after its tmux server has died.

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{Common, EndReason, HookEvent, SessionEnd, SessionStart, Stop, UserPromptSubmit};
use longhaul_core::{Env, Millis};
use longhaul_tracker::reopen::{LISTED_MS, SessionPlace};

use crate::tmux::Server;
use crate::{Error, Flow, Hook, client_records, reopen};

/// Records where the session runs. The tracker then adds its window.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if is_tracked(hook) {
        let mut place = place_of(&hook.env, &hook.event.common);
        place.model = hook.event.model.clone();
        let store = hook.store()?;
        store.note_place(&place)?;
        store.remove_places_before(Millis(hook.env.now.0.saturating_sub(LISTED_MS)))?;
    }
    Ok(Flow::Next)
}

/// Records the permission mode, and the place of a session of which no start was reported.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    note_mode(hook)
}

/// Records the permission mode, which can change during a turn.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    note_mode(hook)
}

/// Forgets where the session ran, unless it ended only because its tmux server did.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    if !hook.config.tracker.enabled {
        return Ok(Flow::Next);
    }
    // `other` is also the reason for a signal, such as the one that a client gets when its terminal disappears.
    let may_be_signal = matches!(hook.event.reason, EndReason::Other(_));
    let lost_its_server = may_be_signal && Server::of(&hook.env).is_some_and(|server| !server.answers());
    if !lost_its_server {
        hook.store()?.remove_place(hook.event.common.session.as_str())?;
    }
    Ok(Flow::Next)
}

fn note_mode<E: HookEvent<'static>>(hook: &Hook<E>) -> Result<Flow, Error> {
    let common = hook.event.common();
    if !hook.config.tracker.enabled || in_subagent(common) {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let is_known = store.set_permission_mode(common.session.as_str(), common.permission_mode.as_deref())?;
    if !is_known && is_tracked(hook) {
        store.note_place(&place_of(&hook.env, common))?;
    }
    Ok(Flow::Next)
}

/// Returns whether sessions are tracked, and a person uses this one: a program that runs a session starts it again itself.
fn is_tracked<E: HookEvent<'static>>(hook: &Hook<E>) -> bool {
    hook.config.tracker.enabled && !hook.env.client_pid.is_some_and(|pid| client_records::is_headless(&hook.env, pid))
}

fn place_of(env: &Env, common: &Common) -> SessionPlace {
    let mut place = SessionPlace::new(common.session.as_str(), common.session.client(), env.now.0);
    place.permission_mode = common.permission_mode.clone();
    place.transcript = common.transcript.as_ref().and_then(|path| path.to_str()).map(str::to_owned);
    place.config_dir = env.client_config_dir.as_ref().and_then(|dir| dir.to_str()).map(str::to_owned);
    reopen::add_process(&mut place, env);
    // Claude Code finds a conversation only in the folder in which it was started.
    let folder = env.project_dir.as_ref().filter(|_| place.client == "claude").or(common.cwd.as_ref());
    if let Some(folder) = folder {
        reopen::add_folder(&mut place, folder);
    }
    place
}
