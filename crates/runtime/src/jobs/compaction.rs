//! Gives a session back, after a compaction, what the summary lacks.
//!
//! Claude Code sends PreCompact, then SubagentStop with the summary, then SessionStart. Qwen Code sends PostCompact with the
//! summary instead of SubagentStop, and Codex writes the summary into its rollout. What the session may need is collected
//! first, because the summary takes seconds and the last hook should not. The summary itself is not stored here: it repeats
//! private turns without their tags.

use std::path::Path;

use longhaul_core::Millis;
use longhaul_core::event::predicates::{in_subagent, is_compaction};
use longhaul_core::event::{HookEvent, PostCompact, PreCompact, SessionStart, StartSource, SubagentStop};
use longhaul_handoff::CompactionFacts;
use longhaul_store::{NewInjection, Session, Store};
use serde::{Deserialize, Serialize};

use crate::compaction::{CompactedTurn, compaction_facts, compaction_footer};
use crate::handoff::register;
use crate::memory::take_in;
use crate::{Error, Flow, Hook, context};

/// How long a compaction may take. What an older one has left, which was interrupted, is not shown.
const LONGEST: u64 = 20 * 60 * 1000;

/// Number of bytes at the end of a transcript that may be unread: it lags.
const UNREAD: u64 = 256 * 1024;

/// What is kept from PreCompact to SessionStart.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// When it was collected, in milliseconds.
    at: u64,
    facts: CompactionFacts,
}

impl Kept {
    fn read(json: &str, now: Millis) -> Option<Self> {
        serde_json::from_str(json).ok().filter(|kept: &Self| now.0.abs_diff(kept.at) < LONGEST)
    }
}

fn keep(store: &Store, session: &str, kept: &Kept) -> Result<(), Error> {
    Ok(store.keep_compaction(session, &serde_json::to_string(kept).unwrap_or_default())?)
}

/// Collects what the session may need afterwards. The handoff job has stored the transcript.
pub fn collect(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if !hook.gives_back() || in_subagent(&hook.event.common) {
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
    let session = store.session(&session.session)?.unwrap_or(session);
    let length =
        session.transcript.as_deref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
    let turn = CompactedTurn {
        prompt_id: hook.event.common.prompt_id.as_deref(),
        has_ended: hook.event.trigger == "manual",
        is_partial: length.saturating_sub(session.cursor.offset) > UNREAD,
    };
    let facts = compaction_facts(&store, &session, turn)?;
    keep(&store, &session.session, &Kept { at: hook.env.now.0, facts })?;
    Ok(Flow::Next)
}

/// Leaves out what the summary contains.
pub fn on_summary(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if !is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.reduce(|hook, facts| {
        facts.leave_out(hook.event.last_assistant_message.as_deref().unwrap_or_default());
        let tasks = hook.event.background_tasks.iter().flatten();
        let others = tasks.filter(|task| Some(task.id.as_str()) != hook.event.common.agent_id.as_deref());
        facts.set_running(others.map(|task| (task.kind.as_str(), task.id.as_str(), task.about.as_str())));
    })
}

/// As [`on_summary`], where an agent reports the summary after the compaction.
pub fn on_compacted(hook: &mut Hook<PostCompact>) -> Result<Flow, Error> {
    hook.reduce(|hook, facts| facts.leave_out(&hook.event.compact_summary))
}

/// Shows the session what the summary lacks.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    give_back(hook, |_, _| ())
}

/// As [`on_session_start`], in Codex: what the model is still shown is in the rollout.
pub fn on_codex_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    give_back(hook, |facts, session| {
        let rollout = session.transcript.as_deref().map(Path::new);
        let Some(compacted) = rollout.and_then(context::compacted) else { return };
        facts.leave_out(&compacted.summary);
        facts.leave_out_prompts(&compacted.prompts.join("\n"));
    })
}

fn give_back(
    hook: &mut Hook<SessionStart>,
    leave_out: impl FnOnce(&mut CompactionFacts, &Session),
) -> Result<Flow, Error> {
    if hook.event.source != StartSource::Compact || !hook.gives_back() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    let kept = store.take_compaction(&session.session)?;
    let Some(Kept { mut facts, .. }) = kept.and_then(|json| Kept::read(&json, hook.env.now)) else {
        // Another copy of this hook has shown it, or PreCompact did not run or could not store it, which is in the log.
        return Ok(Flow::Next);
    };
    leave_out(&mut facts, &session);
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
    /// Changes what was collected, with what is known since.
    fn reduce(&self, change: impl FnOnce(&Self, &mut CompactionFacts)) -> Result<Flow, Error> {
        if !self.gives_back() {
            return Ok(Flow::Next);
        }
        let (store, session) = (self.store()?, self.event.common().session.as_str());
        let kept = store.compaction(session)?;
        if let Some(Kept { at, mut facts }) = kept.and_then(|json| Kept::read(&json, self.env.now)) {
            // The snapshot of the compaction shows what commands have changed since the one before.
            if let Some(known) = store.session(session)? {
                facts.add_changed(&store.changed_files(session, &known.project_path)?);
            }
            change(self, &mut facts);
            keep(&store, session, &Kept { at, facts })?;
        }
        Ok(Flow::Next)
    }

    fn gives_back(&self) -> bool {
        self.config.handoff.enabled && self.keeps_turns()
    }
}
