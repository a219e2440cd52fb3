//! Records tool calls and replies, reported by a hook or by a host.

use std::path::Path;

use longhaul_core::{Millis, SessionId};
use longhaul_memory::{Call, RawCall};
use longhaul_store::{Session, Store};

use super::Spool;
use crate::{Error, Home, Sanitizer};

/// A tool call as reported.
#[derive(Debug, Clone, Copy)]
pub struct ReportedCall<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The id of the prompt.
    pub prompt_id: Option<&'a str>,
    /// The input as JSON text; empty if there is none.
    pub input: &'a str,
    /// The output.
    pub response: &'a str,
    /// Whether it failed.
    pub is_error: bool,
    /// The duration.
    pub duration_ms: Option<u64>,
    /// Whether a subagent made it.
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
