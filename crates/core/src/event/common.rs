//! The fields that every hook event has.

use std::path::PathBuf;

use super::wire::{EventError, EventWire};
use crate::SessionId;

/// The fields that every event has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Common {
    /// The session's id, in the form that is safe as a file name.
    pub session: SessionId,
    /// The path of the session's transcript.
    pub transcript: Option<PathBuf>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
    /// The id of the prompt that the turn answers.
    pub prompt_id: Option<String>,
    /// The permission mode: `default`, `acceptEdits`, `plan`, `bypassPermissions`, …
    pub permission_mode: Option<String>,
    /// The id of the subagent inside which the event happened; `None` in the main conversation.
    pub agent_id: Option<String>,
    /// The subagent's type; empty for the one that compacts.
    pub agent_type: Option<String>,
}

impl Common {
    /// Returns the fields of an event of `session`, of which nothing else is known.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            transcript: None,
            cwd: None,
            prompt_id: None,
            permission_mode: None,
            agent_id: None,
            agent_type: None,
        }
    }

    pub(super) fn take(wire: &mut EventWire<'_>) -> Result<Self, EventError> {
        let session = wire.session_id.as_deref().and_then(SessionId::new).ok_or(EventError::NoSession)?;
        Ok(Self {
            session,
            transcript: wire.transcript_path.take().map(PathBuf::from),
            cwd: wire.cwd.take().map(PathBuf::from),
            prompt_id: wire.prompt_id.take().or(wire.turn_id.take()),
            permission_mode: wire.permission_mode.take(),
            agent_id: wire.agent_id.take().filter(|id| !id.is_empty()),
            agent_type: wire.agent_type.take(),
        })
    }
}
