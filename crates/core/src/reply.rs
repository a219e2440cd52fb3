//! The answer of a hook: one JSON object on standard output.

use serde::Serialize;

use crate::event::EventName;
use crate::record;

/// The separator between two messages for the user.
const BETWEEN_MESSAGES: &str = "; ";

/// A hook's answer, with every field that Claude Code accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reply {
    /// `false` ends the turn. At a prompt, the message stays in the conversation and no request is made.
    #[serde(rename = "continue")]
    pub goes_on: bool,
    /// The reason that is shown to the user where `continue` is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Whether Claude Code hides the hook's output in its transcript view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// A message to the user that the model does not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// At Stop, `block` makes the model continue, with `reason` as its instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The reason for `decision`, which is shown to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fields that belong to one kind of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<HookSpecific>,
}

/// The decision of a hook. The only one is to block; a hook that does not block has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Continue instead of stopping, or reject the prompt.
    Block,
}

/// The fields of an answer that belong to one kind of event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HookSpecific {
    /// The event's name. Claude Code ignores these fields where it does not match.
    pub hook_event_name: &'static str,
    /// Text for the model. Claude Code cuts it at 10,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// At PreToolUse, whether the tool may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<Permission>,
    /// The reason for the decision, which is shown to the model where the tool is denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision_reason: Option<String>,
}

/// Whether a tool may run; the last is the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// It runs without asking.
    Allow,
    /// The user decides.
    Ask,
    /// It does not run.
    Deny,
}

impl HookSpecific {
    /// Returns the fields for `event`, none of which is set.
    pub fn new(event: EventName) -> Self {
        Self {
            hook_event_name: event.as_str(),
            additional_context: None,
            permission_decision: None,
            permission_decision_reason: None,
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
    /// Returns a reply that gives the model `text` to read.
    pub fn context(event: EventName, text: impl Into<String>) -> Self {
        Self {
            hook_specific_output: Some(HookSpecific {
                additional_context: Some(text.into()),
                ..HookSpecific::new(event)
            }),
            ..Self::default()
        }
    }

    /// Returns a reply that ends the turn. At a prompt, the message stays in the conversation and no request is made.
    pub fn end(reason: impl Into<String>) -> Self {
        Self { goes_on: false, stop_reason: Some(reason.into()), ..Self::default() }
    }

    /// Returns a reply that denies the tool call.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            hook_specific_output: Some(HookSpecific {
                permission_decision: Some(Permission::Deny),
                permission_decision_reason: Some(reason.into()),
                ..HookSpecific::new(EventName::PreToolUse)
            }),
            ..Self::default()
        }
    }

    /// Returns a reply that makes the model continue at Stop, with `reason` as its instruction.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Block), reason: Some(reason.into()), ..Self::default() }
    }

    /// Appends `text` to the text for the model.
    pub fn add_context(&mut self, event: EventName, text: &str) {
        let specific = self.hook_specific_output.get_or_insert_with(|| HookSpecific::new(event));
        specific.additional_context = Some(match specific.additional_context.take() {
            Some(before) => record::join(&before, text),
            None => text.to_owned(),
        });
    }

    /// Adds a message to the user, unless the reply already has the same message.
    pub fn add_message(&mut self, message: &str) {
        let messages = self.system_message.get_or_insert_default();
        // A message may contain the separator, so the text is not split into messages.
        let whole = |text: &str| format!("{BETWEEN_MESSAGES}{text}{BETWEEN_MESSAGES}");
        if messages.is_empty() {
            messages.push_str(message);
        } else if !whole(messages).contains(&whole(message)) {
            messages.push_str(BETWEEN_MESSAGES);
            messages.push_str(message);
        }
    }

    /// Merges another reply into this one.
    ///
    /// Context is appended and messages are joined. Of two decisions the stricter one wins, and of two equal ones the
    /// earlier. The order, strictest first, is: end the turn (`continue: false`), block, neither; and for a tool: deny,
    /// ask, allow, neither. A reason stays with its decision.
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
                if other.permission_decision > own.permission_decision {
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

    /// Returns the text for the model.
    pub fn context_text(&self) -> Option<&str> {
        self.hook_specific_output.as_ref()?.additional_context.as_deref()
    }

    /// Returns the JSON object to print on standard output.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| PLAIN.to_owned())
    }
}

/// The answer that changes nothing. A hook also prints it after any failure.
pub const PLAIN: &str = r#"{"continue":true}"#;
