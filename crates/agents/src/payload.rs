//! Translates a payload of an agent to the one that Claude Code would have sent. The names of fields and tools are in
//! `table/NAME.rs`.

use longhaul_core::event::EventName;
use longhaul_core::{SessionId, hash};
use serde_json::{Map, Value, json};

use crate::agent::{Agent, Alias, Condition, EventRule, PromptIds, UsageSource};
use crate::tool_call::{self, Outcome};
use crate::usage::ReportedUse;

/// Why a payload cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The agent has no such event, or it is not registered.
    #[error("{agent} has no event {event:?} that is registered")]
    UnknownEvent {
        /// The agent.
        agent: &'static str,
        /// The event.
        event: String,
    },
    /// The payload is not JSON, or is cut off.
    #[error("payload is not a JSON object")]
    NotAnObject(#[source] serde_json::Error),
    /// The payload is that of another event.
    #[error("payload is that of another event: {0}")]
    OtherEvent(String),
    /// The payload has no usable `session_id`.
    #[error("payload has no session_id")]
    NoSession,
}

/// A payload of an agent.
#[derive(Debug, Clone)]
pub struct Payload {
    agent: &'static Agent,
    /// The event of Claude Code.
    event: EventName,
    /// The name that the agent gives the event.
    theirs: &'static str,
    session: SessionId,
    transcript: Option<String>,
    members: Map<String, Value>,
}

impl Payload {
    /// Reads a payload of `event`; `None` for one that does not count.
    pub fn parse(agent: &'static Agent, event: &str, text: &str) -> Result<Option<Self>, PayloadError> {
        let unknown = || PayloadError::UnknownEvent { agent: agent.name, event: event.to_owned() };
        let rule = rule_of(agent, event).ok_or_else(unknown)?;
        let members: Map<String, Value> = serde_json::from_str(text).map_err(PayloadError::NotAnObject)?;
        if let Some(name) = text_in(&members, "hook_event_name").filter(|name| *name != rule.theirs) {
            return Err(PayloadError::OtherEvent(name.to_owned()));
        }
        if !counts(rule, &members) {
            return Ok(None);
        }
        let own = text_in(&members, "session_id").ok_or(PayloadError::NoSession)?;
        let session = SessionId::of_agent(agent.name, own).ok_or(PayloadError::NoSession)?;
        let mut payload = Self { agent, event: rule.ours, theirs: rule.theirs, session, transcript: None, members };
        payload.translate();
        Ok(Some(payload))
    }

    /// Returns the event of Claude Code.
    pub fn event(&self) -> EventName {
        self.event
    }

    /// Returns the name that the agent gives the event.
    pub fn theirs(&self) -> &'static str {
        self.theirs
    }

    /// Returns the session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the path of the agent's own transcript. Longhaul reads nothing but the use of the context in it.
    pub fn transcript(&self) -> Option<&str> {
        self.transcript.as_deref()
    }

    /// Returns the text of a field, under Claude Code's name.
    pub fn text(&self, field: &str) -> Option<&str> {
        text_in(&self.members, field)
    }

    /// Returns the payload as Claude Code would have sent it.
    pub fn to_claude(&self) -> String {
        Value::Object(self.members.clone()).to_string()
    }

    /// Returns whether the id of its prompt must be taken from the record of the session.
    pub fn lacks_prompt_id(&self) -> bool {
        self.agent.prompt_ids == PromptIds::TimeOfPrompt && self.text("prompt_id").is_none()
    }

    /// Sets the id of the prompt that the event belongs to.
    pub fn set_prompt_id(&mut self, id: &str) {
        self.members.insert("prompt_id".to_owned(), id.into());
    }

    /// Returns whether the agent does not show the model what the hook answers to this event.
    pub fn is_not_shown(&self) -> bool {
        self.event == EventName::SessionStart
            && self.agent.deaf_at_start.is_some_and(|source| self.text("source") == Some(source))
    }

    /// Returns the use of the context, if the payload reports it.
    pub fn usage(&self) -> Option<ReportedUse> {
        let number = |name: &str| self.members.get(name).and_then(Value::as_u64).filter(|number| *number > 0);
        let is_told = self.agent.usage == UsageSource::StopPayload && self.event == EventName::Stop;
        let tokens = number("input_tokens").filter(|_| is_told)?;
        Some(ReportedUse { model: self.text("model").map(str::to_owned), tokens, window: number("context_limit") })
    }

    fn translate(&mut self) {
        let agent = self.agent;
        self.transcript = self.text("transcript_path").map(str::to_owned);
        self.members.remove("transcript_path");
        rename(&mut self.members, agent.fields);
        self.describe_dialog();
        self.translate_call();
        let timestamp = self.text("timestamp").map(str::to_owned);
        if let Some(at) = timestamp.filter(|_| self.event == EventName::UserPromptSubmit && self.lacks_prompt_id()) {
            self.set_prompt_id(&at);
        }
        self.members.insert("session_id".to_owned(), self.session.as_str().into());
        self.members.insert("hook_event_name".to_owned(), self.event.as_str().into());
    }

    /// Replaces the details of a permission dialog by the tool and its input.
    fn describe_dialog(&mut self) {
        let Some(details) = self.members.remove("details").filter(|_| self.event == EventName::PermissionRequest)
        else {
            return;
        };
        let kind = details["type"].as_str().unwrap_or_default();
        let member = |name: &str| details[name].as_str().unwrap_or_default().to_owned();
        let (tool, input) = match self.agent.dialogs.iter().find(|dialog| dialog.kind == kind) {
            Some(dialog) => (dialog.tool.to_owned(), json!({ dialog.shown.ours: member(dialog.shown.theirs) })),
            None if details["serverName"].is_string() => {
                (format!("mcp__{}__{}", member("serverName"), member("toolName")), json!({}))
            }
            None => (kind.to_owned(), json!({})),
        };
        self.members.insert("tool_name".to_owned(), tool.into());
        self.members.insert("tool_input".to_owned(), input);
    }

    /// Gives a tool, its input and its result the names and the shape of Claude Code's.
    fn translate_call(&mut self) {
        let Some(name) = self.text("tool_name") else { return };
        let tool = ours(self.agent.tools, name).unwrap_or(name).to_owned();
        if let Some(Value::Object(input)) = self.members.get_mut("tool_input") {
            rename(input, self.agent.inputs);
        }
        if matches!(self.event, EventName::PostToolUse | EventName::PostToolUseFailure)
            && self.text("tool_use_id").is_none()
        {
            let id = self.made_up_id(&tool);
            self.members.insert("tool_use_id".to_owned(), id.into());
        }
        if let Some(response) = self.members.remove("tool_response").filter(|_| self.event == EventName::PostToolUse) {
            match tool_call::outcome(&tool, &response) {
                Outcome::Returned(text) => self.members.insert("tool_response".to_owned(), text.into()),
                Outcome::Failed(message) => {
                    self.event = EventName::PostToolUseFailure;
                    self.members.insert("error".to_owned(), message.into())
                }
            };
        } else if let Some(error) = self.text("error").filter(|_| self.event == EventName::PostToolUseFailure) {
            let message = tool_call::failure(&tool, error);
            self.members.insert("error".to_owned(), message.into());
        }
        self.members.insert("tool_name".to_owned(), tool.into());
    }

    /// Returns an id for a call that has none: the same for the same call, and different for the next one.
    fn made_up_id(&self, tool: &str) -> String {
        let input = self.members.get("tool_input").map(Value::to_string).unwrap_or_default();
        let at = self.text("timestamp").unwrap_or_default();
        let call = format!("{}\n{at}\n{tool}\n{input}", self.session);
        format!("{}_{:016x}", self.agent.name, hash::fnv1a(call.bytes()))
    }
}

/// Returns the rule of an event, whose name may also be written with hyphens or in lower case.
fn rule_of(agent: &'static Agent, event: &str) -> Option<&'static EventRule> {
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    agent.events.iter().find(|rule| rule.theirs == event || plain(rule.theirs) == plain(event))
}

fn counts(rule: &EventRule, members: &Map<String, Value>) -> bool {
    match rule.condition {
        Condition::Always => true,
        Condition::Filled(field) => text_in(members, field).is_some(),
        Condition::Equals(field, value) => text_in(members, field) == Some(value),
    }
}

/// Returns a text that is not blank.
fn text_in<'a>(members: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    members.get(field)?.as_str().filter(|text| !text.trim().is_empty())
}

fn ours(aliases: &[Alias], theirs: &str) -> Option<&'static str> {
    aliases.iter().find(|alias| alias.theirs == theirs).map(|alias| alias.ours)
}

/// Gives members Claude Code's names, unless there is a member of that name already.
fn rename(members: &mut Map<String, Value>, aliases: &[Alias]) {
    for alias in aliases {
        if members.contains_key(alias.ours) {
            continue;
        }
        if let Some(value) = members.remove(alias.theirs) {
            members.insert(alias.ours.to_owned(), value);
        }
    }
}
