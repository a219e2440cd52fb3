//! Gives a session back, after a compaction, what the summary lacks. What that is, is decided in
//! `handoff/src/compaction.rs`.
//!
//! Claude Code sends PreCompact, then SubagentStop with the summary, then SessionStart. Qwen Code sends PostCompact
//! with the summary instead of SubagentStop, and Codex writes the summary into its rollout. What the session may need
//! is collected first, because the summary takes seconds and the last hook should not. The summary itself is not stored
//! here: it repeats private turns without their tags.

use std::path::Path;

use longhaul_core::event::predicates::{in_subagent, is_compaction};
use longhaul_core::event::{HookEvent, PostCompact, PreCompact, SessionStart, StartSource, SubagentStop};
use longhaul_core::{Millis, short_session};
use longhaul_handoff::{CompactionCall, CompactionFacts, CompactionInput};
use longhaul_memory::{Kind, decisions};
use longhaul_store::{BOOKMARK, NewInjection, Session, SnapshotKind, Store, TurnWords};
use serde::{Deserialize, Serialize};

use crate::handoff::register;
use crate::memory::take_in;
use crate::{Error, Flow, Hook, context};

/// Number of newest turns that are searched for prompts, and of those whose replies are searched for decisions.
const TURNS: usize = 400;
const DECIDING_TURNS: usize = 40;

/// Number of newest prompts among which the one that a hook reported last is looked for.
const RECENT: usize = 8;

/// The turn in which a compaction takes place.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompactedTurn<'a> {
    /// The id of its prompt, where that is known.
    pub prompt_id: Option<&'a str>,
    pub has_ended: bool,
    /// Whether the end of the transcript was not read.
    pub is_partial: bool,
}

/// Collects what a session may need after a compaction, from what is stored of it.
pub fn compaction_facts(store: &Store, session: &Session, turn: CompactedTurn<'_>) -> Result<CompactionFacts, Error> {
    let id = session.session.as_str();
    let turns = store.newest_words(id, TURNS)?;
    let says_something = |text: &str| text.chars().any(char::is_alphanumeric);
    // The turn that runs. A bookmark is set in it and begins no other, and `/compact` begins none.
    let is_side = |turn: &TurnWords| turn.role == BOOKMARK || turn.asked.trim_start().starts_with("/compact");
    let running = turns.iter().rposition(|turn| !is_side(turn)).filter(|_| !turn.has_ended);
    let is_request = |at: usize, turn: &TurnWords| match turn.role.as_str() {
        "user" => true,
        // Unlike a command of the client's own, such as `/compact`, one that the model has answered or works on is a request.
        "command" if is_side(turn) => false,
        "command" => Some(at) == running || !turn.replied.trim().is_empty(),
        _ => false,
    };
    let asked = turns.iter().enumerate().filter(|(at, turn)| is_request(*at, turn) && says_something(&turn.asked));
    let mut prompts: Vec<&str> = asked.map(|(_, turn)| turn.asked.as_str()).collect();
    // The transcript may not contain the newest prompt yet.
    let newest = session.last_prompt.as_deref().filter(|prompt| says_something(prompt) && !prompt.starts_with('/'));
    let newest =
        newest.filter(|newest| !prompts.iter().rev().take(RECENT).any(|prompt| prompt.trim() == newest.trim()));
    prompts.extend(newest);
    let of_turn = turn.prompt_id.map_or(Ok(0), |prompt| store.prompts_of_turn(id, prompt))?;
    let is_private = session.prompts > 0 && session.last_prompt.is_none();
    // A turn that a finished subagent has begun has no request of its own.
    let is_asked = newest.is_some() || running.is_none_or(|at| is_request(at, &turns[at]));
    let calls = store.calls_of(id)?;
    let calls: Vec<CompactionCall<'_>> = calls
        .iter()
        .map(|stored| {
            let mut call = CompactionCall::new(&stored.tool, &stored.input);
            call.output = &stored.output;
            call.is_error = stored.is_error;
            call
        })
        .collect();
    let changed = store.changed_files(id, &session.project_path)?;
    let recorded = store.observations_of(id, TURNS)?.into_iter().filter(|seen| seen.kind == Kind::Decision);
    let said = turns.iter().rev().take(DECIDING_TURNS).flat_map(|turn| decisions(&turn.replied));
    let decided: Vec<String> = said.chain(recorded.rev()).map(|decision| decision.title).collect();
    let mut input = CompactionInput::new(&session.project_path, &prompts, &calls);
    // Nothing of a private prompt is known, and an older one is not at hand.
    input.at_hand = if is_private || !is_asked { 0 } else { of_turn.max(1) };
    input.is_partial = turn.is_partial;
    input.has_ended = turn.has_ended;
    input.changed = &changed;
    input.decisions = &decided;
    Ok(CompactionFacts::new(&input))
}

/// Returns the line that says how a session reads more of what was compacted.
pub fn compaction_footer(store: &Store, session: &str) -> Result<String, Error> {
    let newest = store.snapshots_of_session(session, i64::MAX, 1)?.pop();
    let taken = newest.filter(|newest| newest.kind == SnapshotKind::Compaction && newest.commit.is_some());
    let files = taken.map(|snapshot| format!("; files as they were then: longhaul diff {}", snapshot.id));
    let of_session = short_session(session);
    Ok(format!(
        "[More] longhaul detail HH:MM-HH:MM --session {of_session} prints what was said and done, as do the MCP tools timeline and \
         get_observations{}",
        files.unwrap_or_default()
    ))
}

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
