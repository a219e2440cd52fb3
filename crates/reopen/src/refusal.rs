//! Why a session cannot be reopened: the conditions, and their texts.

use longhaul_core::OTHER_AGENTS;

use crate::SessionPlace;
use crate::client_command::{is_safe_id, own_id};

/// What the folder of a session is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderState {
    /// The folder in which the session was started.
    Same,
    /// There is no folder at that path.
    Gone,
    /// The path, or a part of it, is now a link to another folder.
    LeadsTo(String),
    /// It belongs to another user than before.
    OtherOwner,
}

/// What is known of a session at the time of reopening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The state of its folder.
    pub folder: FolderState,
    /// Whether its transcript exists.
    pub has_transcript: bool,
    /// The path of the client's executable.
    pub program: Option<String>,
}

/// Why a session cannot be reopened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The id could be mistaken for an option, or is no id at all.
    #[error("its id is not one that {client} uses")]
    UnusableId {
        /// The client.
        client: String,
    },
    /// The client has no command that resumes a session.
    #[error("{client} cannot resume a session by its id")]
    UnknownClient {
        /// The client.
        client: String,
    },
    /// Another session started it, and starts it again.
    #[error("it is a teammate, which its own session starts again")]
    Teammate,
    /// No hook has reported the folder.
    #[error("its folder is not known")]
    NoFolder,
    /// The folder does not exist any more.
    #[error("its folder {folder} does not exist any more")]
    FolderGone {
        /// The folder.
        folder: String,
    },
    /// The path leads to another folder now.
    #[error("its folder {folder} is now a link to {target}")]
    FolderReplaced {
        /// The folder.
        folder: String,
        /// Where the path leads.
        target: String,
    },
    /// The folder belongs to another user now.
    #[error("its folder {folder} now belongs to another user")]
    FolderOfAnother {
        /// The folder.
        folder: String,
    },
    /// The transcript does not exist.
    #[error("it has no transcript: no prompt was sent yet, or the file was deleted")]
    NoTranscript,
    /// The session did not run in tmux.
    #[error("it did not run in tmux")]
    NoTmux,
    /// The client is not installed.
    #[error("there is no {client} on the PATH")]
    NoProgram {
        /// The client.
        client: String,
    },
}

/// Returns why a session cannot be reopened; `None` if it can.
pub fn refusal(place: &SessionPlace, facts: &Facts) -> Option<Refusal> {
    let client = || place.client.clone();
    let has_transcript_of_ours = matches!(place.client.as_str(), "claude" | "codex");
    if !has_transcript_of_ours && !OTHER_AGENTS.contains(&place.client.as_str()) {
        return Some(Refusal::UnknownClient { client: client() });
    }
    if !is_safe_id(own_id(place)) {
        return Some(Refusal::UnusableId { client: client() });
    }
    if place.agent_type.as_deref() == Some("teammate") {
        return Some(Refusal::Teammate);
    }
    let Some(folder) = place.folder.clone() else { return Some(Refusal::NoFolder) };
    match &facts.folder {
        FolderState::Same => {}
        FolderState::Gone => return Some(Refusal::FolderGone { folder }),
        FolderState::LeadsTo(target) => return Some(Refusal::FolderReplaced { folder, target: target.clone() }),
        FolderState::OtherOwner => return Some(Refusal::FolderOfAnother { folder }),
    }
    // Longhaul does not know where the other agents keep their conversations.
    if has_transcript_of_ours && !facts.has_transcript {
        return Some(Refusal::NoTranscript);
    }
    if place.server.is_none() {
        return Some(Refusal::NoTmux);
    }
    facts.program.is_none().then(|| Refusal::NoProgram { client: client() })
}
