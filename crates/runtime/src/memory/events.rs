//! What the memory does at events: stores the work of every session, and shows it to later ones. Records tool calls and replies,
//! reported by a hook or by a host, or of a transcript, as a hook would have recorded them.

use std::path::Path;

use longhaul_core::config::MemoryPart;
use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{
    HookEvent, PostToolUse, PostToolUseFailure, SessionEnd, SessionStart, StartSource, Stop, UserPromptSubmit,
};
use longhaul_core::{Config, Millis, SessionId};
use longhaul_memory::{Call, PAGE_MIN_CHARS, RawCall, is_skipped};
use longhaul_store::{Session, Store};
use longhaul_transcript::{self as transcript, Turn};

use super::meaning::lacks_vectors;
use super::{
    Reader, Spool, clean_prompt, is_excluded, noted_prompt, render_page, sum_up, take_in, take_in_all, upkeep,
};
use crate::clock_and_env::{self, patient};
use crate::handoff::register;
use crate::{Deadline, Error, Flow, Home, Hook, Sanitizer, waiting_times};

/// Shows a session the page of its project.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    // After a compaction, the session is given back its own work: the page would only repeat what it began with.
    if !hook.remembers() || hook.event.source == StartSource::Compact {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    // What a killed session has left is the most useful for the next one.
    let time = patient(waiting_times::SPOOLS_AT_START).min(hook.deadline.left() / 2);
    for error in take_in_all(&store, &hook.home, &hook.env, Some(Deadline::after(time))) {
        hook.log.write(&format!("session {}: {}", session.session, error.chain()));
    }
    let room = hook.room();
    if !hook.config.memory.show.contains(MemoryPart::Page) || room < PAGE_MIN_CHARS {
        return Ok(Flow::Next);
    }
    let offset = clock_and_env::utc_offset_seconds(hook.env.now);
    let reader = Reader {
        project_key: &session.project_key,
        project: &session.project,
        session: Some(&session.session),
        has_seen: hook.done.inherited.as_deref(),
        now: hook.env.now,
        offset_seconds: offset,
    };
    let page = render_page(&store, reader, room)?;
    if !page.text.is_empty() {
        hook.show(&page.text);
        store.note_shown_records(&session.session, page.sessions + page.records)?;
        hook.notify(&format!("longhaul: {}", page.notice(&session.project)));
    }
    Ok(Flow::Next)
}

/// Starts upkeep, after the answer, to delete old raw text and to complete the search index and the vectors: the first
/// prompt may be about the last session.
pub fn drop_old_text(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.remembers() {
        let store = hook.store()?;
        // An unusable model must not prevent the rest of upkeep.
        let lacks_vectors = lacks_vectors(&hook.env, &hook.home, &hook.config, &store).unwrap_or_else(|error| {
            hook.log.write(&format!("session {}: {}", hook.event.common.session, error.chain()));
            false
        });
        let is_complete = store.index_progress()?.is_complete() && !lacks_vectors;
        upkeep::begin(&hook.home, hook.env.now, is_complete)?;
    }
    Ok(Flow::Next)
}

pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.remembers() || in_subagent(common) || is_task_notification(&hook.event.prompt) {
        return Ok(Flow::Next);
    }
    let kept = clean_prompt(&hook.event.prompt, hook.sanitizer());
    let Some(prompt) = kept.filter(|_| !hook.is_private()) else { return Ok(Flow::Next) };
    let stored = hook.store().and_then(|store| {
        register(&store, &hook.env, common)?;
        store.remember_prompt(common.session.as_str(), common.prompt_id.as_deref(), &prompt, hook.env.now)?;
        Ok(())
    });
    if stored.is_err() {
        // It is stored with the tool calls when the database is available again.
        Spool::of(&hook.home, &common.session).append(&noted_prompt(common, prompt, hook.env.now))?;
    }
    stored.map(|()| Flow::Next)
}

/// Writes a tool call to the spool.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    let event = &hook.event;
    let call = ReportedCall {
        id: event.tool_use_id.as_deref().unwrap_or_default(),
        tool: &event.tool_name,
        prompt_id: event.common.prompt_id.as_deref(),
        input: event.tool_input.map_or("", serde_json::value::RawValue::get),
        response: event.tool_response.unwrap_or_default(),
        is_error: false,
        duration_ms: event.duration_ms,
        in_subagent: in_subagent(&event.common),
    };
    hook.note(&call)
}

/// Writes a failed tool call to the spool.
pub fn on_tool_failure(hook: &mut Hook<PostToolUseFailure<'static>>) -> Result<Flow, Error> {
    let event = &hook.event;
    let input = event.tool_input.map_or("", serde_json::value::RawValue::get);
    let error = serde_json::to_string(event.error.as_deref().unwrap_or_default()).unwrap_or_default();
    let call = ReportedCall {
        id: event.tool_use_id.as_deref().unwrap_or_default(),
        tool: &event.tool_name,
        prompt_id: event.common.prompt_id.as_deref(),
        input,
        response: &error,
        is_error: true,
        duration_ms: event.duration_ms,
        in_subagent: in_subagent(&event.common),
    };
    hook.note(&call)
}

/// Stores the spool, and writes a summary of the session.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.settle_memory(hook.event.stop_hook_active)
}

/// The same at the end of the session. The handoff job has recorded that it has ended.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    hook.settle_memory(false)
}

impl<E: HookEvent<'static>> Hook<E> {
    pub(crate) fn remembers(&self) -> bool {
        self.config.memory.enabled && !self.is_excluded()
    }

    /// Returns whether nothing of this project may be stored, neither for the memory nor for the handoff.
    pub(crate) fn is_excluded(&self) -> bool {
        let memory = &self.config.memory;
        !memory.exclude.0.is_empty()
            // A folder that is not known may be one of them.
            && self.project_dir().is_none_or(|project| is_excluded(memory, &self.env, &project))
    }

    fn note(&self, call: &ReportedCall<'_>) -> Result<Flow, Error> {
        let is_wanted = !call.id.is_empty()
            && self.remembers()
            && !is_skipped(call.tool, &self.config.memory.skip_tools.0)
            && !self.is_private();
        if is_wanted {
            let common = self.event.common();
            note(&self.home, &common.session, common.cwd.as_deref(), call, self.sanitizer(), self.env.now)?;
        }
        Ok(Flow::Next)
    }

    /// Stores the spool of this session, and writes a summary if there is something new.
    ///
    /// `again` means that the turn has continued since the last summary.
    fn settle_memory(&mut self, again: bool) -> Result<Flow, Error> {
        let spool = Spool::of(&self.home, &self.event.common().session);
        if !self.remembers() {
            // A bookmark that found the database locked is there, too.
            if spool.has_more(0) {
                let store = self.store()?;
                take_in(&store, &self.home, &self.event.common().session, &self.env, Some(self.deadline))?;
            }
            return Ok(Flow::Next);
        }
        let store = self.store()?;
        let Some(session) = register(&store, &self.env, self.event.common())? else { return Ok(Flow::Next) };
        let id = self.event.common().session.clone();
        // If many processes are writing, the spool is left to a later hook.
        let taken = !store.is_crowded() && take_in(&store, &self.home, &id, &self.env, Some(self.deadline))?;
        if has_something_to_say(&session)
            && (taken || again || !store.has_summary(id.as_str(), i64::from(session.prompts))?)
        {
            sum_up(&store, &session, self.env.now)?;
        }
        Ok(Flow::Next)
    }
}

/// Returns whether a session can have a summary. One whose prompt may not be stored has none.
pub(crate) fn has_something_to_say(session: &Session) -> bool {
    session.prompts > 0 && session.last_prompt.is_some()
}

#[derive(Debug, Clone, Copy)]
pub struct ReportedCall<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    pub prompt_id: Option<&'a str>,
    /// The input as JSON text; empty if there is none.
    pub input: &'a str,
    /// The output.
    pub response: &'a str,
    /// Whether it failed.
    pub is_error: bool,
    pub duration_ms: Option<u64>,
    pub in_subagent: bool,
}

/// Appends a tool call to the spool of its session.
pub(crate) fn note(
    home: &Home,
    session: &SessionId,
    cwd: Option<&Path>,
    call: &ReportedCall<'_>,
    sanitizer: Sanitizer,
    at: Millis,
) -> Result<(), Error> {
    let cwd = cwd.map(|cwd| cwd.to_string_lossy()).unwrap_or_default();
    let mut raw = RawCall::new(call.id, call.tool);
    raw.prompt_id = call.prompt_id.unwrap_or_default();
    raw.input = call.input;
    raw.response = call.response;
    raw.is_error = call.is_error;
    raw.cwd = &cwd;
    raw.at = at;
    raw.duration_ms = call.duration_ms;
    raw.in_subagent = call.in_subagent;
    raw.secrets = sanitizer.secrets();
    Spool::of(home, session).append(&Call::new(&raw))
}

/// Stores the last reply of a turn until the transcript contains it, unless the prompt of the session may not be
/// stored.
pub(crate) fn keep_last_reply(
    store: &Store,
    session: &Session,
    prompt_id: Option<&str>,
    reply: &str,
    sanitizer: Sanitizer,
    now: Millis,
) -> Result<(), Error> {
    let reply = sanitizer.reply(reply);
    let is_private = session.prompts > 0 && session.last_prompt.is_none();
    if !reply.trim().is_empty() && !is_private {
        let turn = format!("hook:{}", prompt_id.unwrap_or("unknown"));
        store.keep_reply(&session.session, &turn, session.last_prompt.as_deref(), reply.trim(), now)?;
    }
    Ok(())
}

/// Returns a call of a transcript as a hook would have recorded it; `None` if it is skipped, or input or output is
/// missing.
pub fn recorded_call(
    call: transcript::ToolCall,
    turn: &Turn,
    root: &str,
    otherwise_at: Millis,
    config: &Config,
    sanitizer: Sanitizer,
) -> Option<Call> {
    let (tool, input, output) = (call.name?, call.input?, call.output?);
    if is_skipped(&tool, &config.memory.skip_tools.0) {
        return None;
    }
    // For a failed call, a hook gets only its error message.
    let result = call.result.filter(|_| !call.is_error);
    let response = result.unwrap_or_else(|| serde_json::Value::from(output).to_string());
    let mut raw = RawCall::new(&call.id, &tool);
    raw.prompt_id = turn.prompt_id.as_deref().unwrap_or_default();
    raw.input = &input;
    raw.response = &response;
    raw.is_error = call.is_error;
    raw.cwd = root;
    raw.at = call.at.or(turn.at).unwrap_or(otherwise_at);
    raw.secrets = sanitizer.secrets();
    Some(Call::new(&raw))
}
