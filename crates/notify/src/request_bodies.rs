//! The JSON that an ntfy server (with priority and tag) and a webhook receive.

use longhaul_core::Millis;
use longhaul_core::config::{Choice, NotifyState};
use serde_json::{Value, json};

use crate::message::{Message, NAME_CHARS, Subject, clean};

/// Returns the body of a request that publishes a message to a topic of an ntfy server.
pub fn ntfy_body(topic: &str, state: NotifyState, message: &Message) -> Value {
    let (priority, tag) = match state {
        NotifyState::Blocked => (4, "raised_hand"),
        NotifyState::Completed => (3, "white_check_mark"),
        NotifyState::Failed | NotifyState::Limit => (4, "warning"),
    };
    json!({ "topic": topic, "title": message.title, "message": message.text, "priority": priority, "tags": [tag] })
}

/// Returns the body of a request to the user's webhook.
pub fn webhook_body(session: &str, subject: &Subject<'_>, message: &Message, at: Millis) -> Value {
    json!({
        "state": subject.state.as_str(),
        "session": session,
        "project": clean(subject.project, NAME_CHARS),
        "branch": subject.branch.map(|branch| clean(branch, NAME_CHARS)),
        "title": message.title,
        "text": message.text,
        "turn_seconds": subject.turn_ms.map(|ms| ms / 1000),
        "at_ms": at.0,
    })
}
