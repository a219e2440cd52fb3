//! The baton, and memory in three layers.

use longhaul_core::event::{HookEvent, PreCompact, SessionEnd, SessionStart, Stop, UserPromptSubmit};
use longhaul_core::guard::{in_subagent, is_task_notification};
use longhaul_core::{Reply, SessionId, privacy};
use longhaul_handoff::{Trigger, baton_command};
use longhaul_store::{NewInjection, Session, Store};

use crate::handoff::{Heir, Inheritance, Project, catch_up, register, render_session};
use crate::{Error, Flow, Hook, surroundings};

/// What SessionEnd takes in at most: it has 1.5 s for all plugins together, and the next start catches up.
const AT_END: u64 = 1024 * 1024;

/// What any other hook takes in at most; a transcript that has grown by more is caught up with step by step.
const AT_ONCE: u64 = 64 * 1024 * 1024;

/// What the user is told when a baton is written by hand.
const WRITTEN: &str = "baton written: the next session in this project goes on from here";

/// Shows a session what the one before handed over.
///
/// The claim is provisional until its first prompt: the client can start a session that never lives.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled {
        return Ok(Flow::Next);
    }
    let mut store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    if hook.event.source == "compact" || session.prompts > 0 {
        return Ok(Flow::Next);
    }
    let cleared = hook.event.source == "clear";
    if let Some((text, message)) = hook.inherit(&mut store, &session, cleared)? {
        hook.show(&text);
        hook.tell(&message);
    }
    Ok(Flow::Next)
}

/// Writes a baton when the prompt is a command for it, and answers so that no request is made.
pub fn on_baton_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let command = baton_command(&hook.event.prompt).filter(|_| hook.config.handoff.enabled);
    let Some(trigger) = command else { return Ok(Flow::Next) };
    let mut store = hook.store()?;
    if let Some(session) = register(&store, &hook.env, &hook.event.common)? {
        // What it was shown is its own from now on, and goes with it.
        hook.settle(&mut store, &session)?;
    }
    hook.write_baton(&store, trigger)?;
    match trigger {
        Trigger::Tl => {
            hook.reply = Reply::end(WRITTEN);
            Ok(Flow::Done)
        }
        // The client clears by itself.
        Trigger::Clear | Trigger::SessionEnd | Trigger::Continuation => Ok(Flow::Next),
    }
}

/// Counts the prompt; the first one makes an inheritance final.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.config.handoff.enabled || in_subagent(common) || is_task_notification(&hook.event.prompt) {
        return Ok(Flow::Next);
    }
    let mut store = hook.store()?;
    let Some(session) = register(&store, &hook.env, common)? else { return Ok(Flow::Next) };
    let prompt = privacy::strip(&hook.event.prompt);
    let kept = Some(prompt.trim()).filter(|prompt| !prompt.is_empty());
    if store.count_prompt(&session.session, kept)? > 0 {
        return Ok(Flow::Next);
    }
    if session.inherits.is_none() {
        // Another session of this client was shown the memory and never lived: this one is shown it now.
        if let Some((text, message)) = hook.inherit(&mut store, &session, false)? {
            hook.show(&text);
            hook.tell(&message);
        }
    }
    if let Some(session) = store.session(&session.session)? {
        hook.settle(&mut store, &session)?;
    }
    Ok(Flow::Next)
}

/// Takes the turn in; its last reply is mostly not in the transcript yet.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled {
        return Ok(Flow::Next);
    }
    let mut store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    let read = hook.take_in(&mut store, &session, AT_ONCE);
    let reply = hook.event.last_assistant_message.as_deref().map(privacy::strip).unwrap_or_default();
    // A session whose prompt may not be kept keeps nothing of its turn either.
    let is_private = session.prompts > 0 && session.last_prompt.is_none();
    if !reply.trim().is_empty() && !is_private {
        let turn = format!("hook:{}", hook.event.common.prompt_id.as_deref().unwrap_or("unknown"));
        store.keep_reply(&session.session, &turn, session.last_prompt.as_deref(), reply.trim(), hook.env.now)?;
    }
    match read {
        // A session that has only begun has none yet.
        Err(error) if error.is_missing_file() => Ok(Flow::Next),
        read => read.map(|()| Flow::Next),
    }
}

/// Takes the conversation in before it is compacted.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.config.handoff.enabled {
        let mut store = hook.store()?;
        if let Some(session) = register(&store, &hook.env, &hook.event.common)? {
            hook.take_in_if_there(&mut store, &session, AT_ONCE)?;
        }
    }
    Ok(Flow::Next)
}

/// Leaves a baton after `/clear`, which today's client tells no prompt hook.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled {
        return Ok(Flow::Next);
    }
    let mut store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    // One that was never prompted has nothing to hand over, and must not take the place of one that has.
    if hook.event.reason == "clear" && session.prompts > 0 {
        hook.write_baton(&store, Trigger::SessionEnd)?;
    }
    store.complete_session(&session.session, &hook.event.reason, hook.env.now)?;
    hook.take_in_if_there(&mut store, &session, AT_END)?;
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    pub(super) fn write_baton(&self, store: &Store, trigger: Trigger) -> Result<(), Error> {
        let common = self.event.common();
        let project = Project::of(&self.env, common.cwd.as_deref());
        let pid = self.env.client_pid.unwrap_or_default();
        Ok(store.write_baton(&project.path, pid, common.session.as_str(), trigger.as_str(), self.env.now)?)
    }

    /// Takes in what there is; a session that was never prompted has no transcript.
    fn take_in_if_there(&self, store: &mut Store, session: &Session, most: u64) -> Result<(), Error> {
        match self.take_in(store, session, most) {
            Err(error) if error.is_missing_file() => Ok(()),
            read => read,
        }
    }

    fn take_in(&self, store: &mut Store, session: &Session, most: u64) -> Result<(), Error> {
        let read = catch_up(store, session, self.env.now, most, Some(self.deadline))?;
        let stuck = read >= AT_ONCE
            && store.session(&session.session)?.is_some_and(|after| after.cursor.offset == session.cursor.offset);
        if stuck {
            self.log
                .write(&format!("session {}: its transcript has a line of more than {read} bytes", session.session));
        }
        Ok(())
    }

    /// Finds whom the session inherits, notes it, and returns what the session is shown, and the user told.
    fn inherit(&self, store: &mut Store, session: &Session, cleared: bool) -> Result<Option<(String, String)>, Error> {
        let heir = Heir { session, env: &self.env };
        let (from, by) = match heir.find(store, cleared)? {
            Inheritance::From { session, by } => (session, by),
            Inheritance::Nothing(reason) => {
                if cleared || reason != "no_baton" {
                    self.note(store, session, "refused", None, reason)?;
                }
                return Ok(None);
            }
        };
        let completed = heir.complete(store, &from, self.deadline);
        // What was taken in before is still worth showing.
        if let Err(error) = completed.or_else(|error| if error.is_missing_file() { Ok(()) } else { Err(error) }) {
            self.log.write(&format!("session {}: {}", session.session, error.chain()));
        }
        store.set_heir(&session.session, Some(from.as_str()))?;
        let offset = surroundings::utc_offset_seconds(self.env.now);
        let rendered = render_session(store, &self.env, &from, offset, self.room(), self.handed_over.as_deref())?;
        if rendered.text.is_empty() {
            self.note(store, session, "refused", Some(&from), "nothing_to_say")?;
            return Ok(None);
        }
        store.log_injection(
            &NewInjection {
                session: &session.session,
                event: "injected",
                predecessor: Some(from.as_str()),
                reason: Some(by),
                turns: rendered.turns_l2 + rendered.turns_l1,
                chars: rendered.chars,
                tokens_saved: rendered.tokens_saved,
            },
            self.env.now,
        )?;
        let message =
            format!("longhaul: went on from session {}, {} turns", short(&from), rendered.turns_l2 + rendered.turns_l1);
        Ok(Some((rendered.text, message)))
    }

    /// Makes an inheritance final: the predecessor's turns are the session's own from now on.
    fn settle(&self, store: &mut Store, session: &Session) -> Result<(), Error> {
        let Some(wanted) = session.inherits.as_deref() else { return Ok(()) };
        let heir = Heir { session, env: &self.env };
        match heir.judge(store, wanted, "merged")? {
            // Another heir has prompted first, and has it.
            Inheritance::From { session: from, .. } if from.as_str() != wanted => {
                store.set_heir(&session.session, None)?;
                self.note(store, session, "refused", SessionId::new(wanted).as_ref(), "already_merged")
            }
            Inheritance::From { session: from, .. } => {
                let merged = store.merge(from.as_str(), &session.session)?;
                let reason = if merged { "first_prompt" } else { "already_merged" };
                self.note(store, session, if merged { "merged" } else { "refused" }, Some(&from), reason)
            }
            Inheritance::Nothing(reason) => {
                store.set_heir(&session.session, None)?;
                self.note(store, session, "refused", SessionId::new(wanted).as_ref(), reason)
            }
        }
    }

    fn note(
        &self,
        store: &Store,
        session: &Session,
        event: &str,
        predecessor: Option<&SessionId>,
        reason: &str,
    ) -> Result<(), Error> {
        let new = NewInjection {
            session: &session.session,
            event,
            predecessor: predecessor.map(SessionId::as_str),
            reason: Some(reason),
            ..NewInjection::default()
        };
        Ok(store.log_injection(&new, self.env.now)?)
    }
}

fn short(session: &SessionId) -> String {
    session.as_str().chars().take(8).collect()
}
