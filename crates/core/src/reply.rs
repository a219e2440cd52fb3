//! What a hook answers: one JSON object on standard output.

use serde::Serialize;

use crate::event::EventName;
use crate::record;

/// What stands between two messages for the user.
const BETWEEN_MESSAGES: &str = "; ";

/// A hook's answer, with everything that the client accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// `false` ends the turn; at a prompt, the message is kept and no request is made.
    #[serde(rename = "continue")]
    pub goes_on: bool,
    /// Shown to the user where `continue` is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Keeps the hook's output out of the client's transcript view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// Shown to the user, not to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// At Stop: `block` sends the model on, with `reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why; shown to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What only one kind of event may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<HookSpecific>,
}

/// The only decision there is at the top level: to let go, a hook says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Do not stop, do not take the prompt.
    Block,
}

/// The part of an answer that belongs to one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookSpecific {
    /// The event; the client ignores the part if it does not match.
    pub hook_event_name: &'static str,
    /// Text for the model, cut by the client at 10,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// At PreToolUse: whether the tool may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<Permission>,
    /// Why; shown to the model when denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision_reason: Option<String>,
}

/// Whether a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Without asking.
    Allow,
    /// Not at all.
    Deny,
    /// If the user says so.
    Ask,
}

impl Permission {
    /// Returns how much it forbids.
    fn rank(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask => 1,
            Self::Deny => 2,
        }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            goes_on: true,
            stop_reason: None,
            suppress_output: None,
            system_message: None,
            decision: None,
            reason: None,
            hook_specific_output: None,
        }
    }
}

impl Reply {
    /// Goes on, and gives the model `text` to read.
    pub fn context(event: EventName, text: impl Into<String>) -> Self {
        Self {
            hook_specific_output: Some(HookSpecific { additional_context: Some(text.into()), ..specific(event) }),
            ..Self::default()
        }
    }

    /// Ends here: at a prompt, the message stays in the conversation and no request is made.
    pub fn end(reason: impl Into<String>) -> Self {
        Self { goes_on: false, stop_reason: Some(reason.into()), ..Self::default() }
    }

    /// Denies the tool call.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            hook_specific_output: Some(HookSpecific {
                permission_decision: Some(Permission::Deny),
                permission_decision_reason: Some(reason.into()),
                ..specific(EventName::PreToolUse)
            }),
            ..Self::default()
        }
    }

    /// Keeps the model going at Stop, for `reason`.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Block), reason: Some(reason.into()), ..Self::default() }
    }

    /// Gives the model `text` to read, below what it is given already.
    pub fn add_context(&mut self, event: EventName, text: &str) {
        let specific = self.hook_specific_output.get_or_insert_with(|| specific(event));
        specific.additional_context = Some(match specific.additional_context.take() {
            Some(before) => record::join(&before, text),
            None => text.to_owned(),
        });
    }

    /// Tells the user something, beside what is told already. The same again changes nothing.
    pub fn add_message(&mut self, message: &str) {
        let told = self.system_message.get_or_insert_default();
        // A message may hold what separates two, so they are not taken apart.
        let whole = |text: &str| format!("{BETWEEN_MESSAGES}{text}{BETWEEN_MESSAGES}");
        if told.is_empty() {
            told.push_str(message);
        } else if !whole(told).contains(&whole(message)) {
            told.push_str(BETWEEN_MESSAGES);
            told.push_str(message);
        }
    }

    /// Takes over what another reply says.
    ///
    /// Context is appended and messages are joined. Of decisions the one that lets less happen wins, and the earlier of
    /// two equal ones: ending the turn (`continue: false`) before blocking before neither; denying a tool before asking
    /// before allowing before neither. A reason goes with its decision.
    pub fn merge(&mut self, other: Self) {
        if let Some(message) = other.system_message {
            self.add_message(&message);
        }
        self.suppress_output = self.suppress_output.or(other.suppress_output);
        if self.goes_on && !other.goes_on {
            (self.goes_on, self.stop_reason) = (false, other.stop_reason);
            (self.decision, self.reason) = (None, None);
        }
        if self.goes_on && self.decision.is_none() {
            (self.decision, self.reason) = (other.decision, other.reason);
        }
        match (&mut self.hook_specific_output, other.hook_specific_output) {
            (own @ None, other) => *own = other,
            (Some(own), Some(other)) => {
                if other.permission_decision.map(Permission::rank) > own.permission_decision.map(Permission::rank) {
                    own.permission_decision = other.permission_decision;
                    own.permission_decision_reason = other.permission_decision_reason;
                }
                own.additional_context = match (own.additional_context.take(), other.additional_context) {
                    (Some(before), Some(text)) => Some(record::join(&before, &text)),
                    (before, text) => before.or(text),
                };
            }
            (Some(_), None) => {}
        }
    }

    /// Returns what the model is given to read.
    pub fn context_text(&self) -> Option<&str> {
        self.hook_specific_output.as_ref()?.additional_context.as_deref()
    }

    /// Returns the JSON object that goes to standard output.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| PLAIN.to_owned())
    }
}

/// The answer that changes nothing; also what a hook prints when all else failed.
pub const PLAIN: &str = r#"{"continue":true}"#;

fn specific(event: EventName) -> HookSpecific {
    HookSpecific {
        hook_event_name: event.as_str(),
        additional_context: None,
        permission_decision: None,
        permission_decision_reason: None,
    }
}
