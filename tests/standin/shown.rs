//! What hooks answered, as the model and the user see it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::app::{App, Said};
use crate::hooks::Outcome;

/// Who gets to see it, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The model: `additionalContext`, or plain stdout where the event passes it on.
    AdditionalContext,
    /// The person: `systemMessage`.
    SystemMessage,
    /// The reason of a `decision: block`.
    BlockReason,
    /// The person: `stopReason` of a `continue: false`.
    StopReason,
}

/// One such text.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shown {
    /// The session whose event it was.
    pub(crate) session_id: String,
    pub(crate) event: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

impl App {
    /// Takes down what the hooks of `event` said, and draws what a person would see at once.
    pub(crate) fn show(&mut self, event: &str, subject: &str, session_id: &str, outcomes: &[Outcome]) {
        for (kind, text) in outcomes.iter().flat_map(|outcome| texts(event, outcome)) {
            self.log.append("shown", json!({ "name": event, "kind": kind, "text": text }));
            if kind == Kind::SystemMessage {
                let name = if subject.is_empty() { event.to_owned() } else { format!("{event}:{subject}") };
                self.conversation.push(Said::Note(format!("  ⎿ \u{a0}{name} says: {text}")));
            }
            let (session_id, event) = (session_id.to_owned(), event.to_owned());
            self.shown.push(Shown { session_id, event, kind, text });
        }
    }
}

fn texts(event: &str, outcome: &Outcome) -> Vec<(Kind, String)> {
    let reply = outcome.reply();
    if !reply.is_object() {
        let passed_on = matches!(event, "SessionStart" | "UserPromptSubmit") && outcome.status == Some(0);
        let text = outcome.stdout.trim();
        return if passed_on && !text.is_empty() {
            vec![(Kind::AdditionalContext, text.to_owned())]
        } else {
            Vec::new()
        };
    }
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    [
        (Kind::SystemMessage, text(&reply["systemMessage"])),
        (Kind::AdditionalContext, text(&reply["hookSpecificOutput"]["additionalContext"])),
        (Kind::BlockReason, outcome.blocks().then(|| outcome.reason())),
        (Kind::StopReason, text(&reply["stopReason"])),
    ]
    .into_iter()
    .filter_map(|(kind, text)| Some((kind, text?)))
    .collect()
}
