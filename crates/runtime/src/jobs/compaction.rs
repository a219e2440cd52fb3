//! Gives a session back, after a compaction, what the summary lacks.
//!
//! Claude Code sends PreCompact, then SubagentStop with the summary, then SessionStart. What the session may need is collected
//! first, because the summary takes seconds and the last hook should not. The summary itself is not stored: it repeats private
//! turns without their tags.

use longhaul_core::event::predicates::is_compaction;
use longhaul_core::event::{HookEvent, PreCompact, SessionStart, StartSource, SubagentStop};
use longhaul_handoff::CompactionFacts;
use longhaul_store::NewInjection;

use crate::compaction::{CompactedTurn, compaction_facts, compaction_footer};
use crate::handoff::register;
use crate::memory::take_in;
use crate::{Error, Flow, Hook};

/// Collects what the session may need afterwards. The handoff job has stored the transcript.
pub fn collect(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if !hook.gives_back() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    if hook.remembers()
        && let Err(error) = take_in(&store, &hook.home, &hook.event.common.session, &hook.env, Some(hook.deadline))
    {
        // The transcript has nearly all of it.
        hook.log.write(&format!("session {}: {}", session.session, error.chain()));
    }
    let turn =
        CompactedTurn { prompt_id: hook.event.common.prompt_id.as_deref(), has_ended: hook.event.trigger == "manual" };
    let facts = compaction_facts(&store, &session, turn)?;
    store.keep_compaction(&session.session, &serde_json::to_string(&facts).unwrap_or_default())?;
    Ok(Flow::Next)
}

/// Leaves out what the summary contains.
pub fn on_summary(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if !is_compaction(&hook.event.common) || !hook.gives_back() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let common = &hook.event.common;
    let kept = store.compaction(common.session.as_str())?;
    let Some(mut facts) = kept.and_then(|json| serde_json::from_str::<CompactionFacts>(&json).ok()) else {
        return Ok(Flow::Next);
    };
    facts.leave_out(hook.event.last_assistant_message.as_deref().unwrap_or_default());
    let tasks = hook.event.background_tasks.iter().flatten();
    let others = tasks.filter(|task| Some(task.id.as_str()) != common.agent_id.as_deref());
    facts.set_running(others.map(|task| (task.kind.as_str(), task.id.as_str(), task.about.as_str())));
    store.keep_compaction(common.session.as_str(), &serde_json::to_string(&facts).unwrap_or_default())?;
    Ok(Flow::Next)
}

/// Shows the session what the summary lacks.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.event.source != StartSource::Compact || !hook.gives_back() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    let kept = store.take_compaction(&session.session)?;
    let Some(facts) = kept.and_then(|json| serde_json::from_str::<CompactionFacts>(&json).ok()) else {
        // Another copy of this hook has shown it, or PreCompact did not run or could not store it, which is in the log.
        return Ok(Flow::Next);
    };
    let given = facts.render(hook.room(), &compaction_footer(&store, &session.session)?);
    if given.text.is_empty() {
        return Ok(Flow::Next);
    }
    let line = NewInjection {
        session: &session.session,
        event: "compacted",
        predecessor: None,
        reason: Some(&given.contents()),
        turns: 0,
        chars: given.chars,
        tokens_saved: 0,
    };
    store.log_injection(&line, hook.env.now)?;
    hook.show(&given.text);
    hook.notify(&format!("longhaul: {}", given.notice()));
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    fn gives_back(&self) -> bool {
        let handoff = &self.config.handoff;
        handoff.enabled && handoff.after_compaction && self.keeps_turns()
    }
}
