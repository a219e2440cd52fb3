//! Translates a payload of an agent to the one that Claude Code would have sent. The names of fields and tools are in
//! `table.rs`.

use std::collections::BTreeMap;

use longhaul_core::event::EventName;
use longhaul_core::{SessionId, hash};
use serde_json::value::{RawValue, to_raw_value};

use crate::agent::{Agent, Aliases, Condition, EventRule, ReportedUse, UsageSource};

/// Why a payload cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The agent has no such event, or it is not registered.
    #[error("{agent} has no event {event:?} that is registered")]
    #[expect(missing_docs, reason = "the message says it")]
    UnknownEvent { agent: &'static str, event: String },
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
#[non_exhaustive]
pub struct Payload {
    agent: &'static Agent,
    /// The event of Claude Code.
    pub event: EventName,
    /// The name that the agent gives the event.
    pub theirs: &'static str,
    /// The session.
    pub session: SessionId,
    /// The path of the agent's own transcript. Longhaul reads nothing but the use of the context in it.
    pub transcript: Option<String>,
    members: Members,
}

impl Payload {
    /// Reads a payload of `event`; `None` for one that does not count.
    pub fn parse(agent: &'static Agent, event: &str, text: &str) -> Result<Option<Self>, PayloadError> {
        let unknown = || PayloadError::UnknownEvent { agent: agent.name, event: event.to_owned() };
        let rule = rule_of(agent, event).ok_or_else(unknown)?;
        let members = Members::parse(text).map_err(PayloadError::NotAnObject)?;
        if let Some(name) = members.text("hook_event_name").filter(|name| *name != rule.theirs) {
            return Err(PayloadError::OtherEvent(name));
        }
        if !counts(rule, &members) {
            return Ok(None);
        }
        let own = members.text("session_id").ok_or(PayloadError::NoSession)?;
        let session = SessionId::of_agent(agent.name, &own).ok_or(PayloadError::NoSession)?;
        let mut payload = Self { agent, event: rule.ours, theirs: rule.theirs, session, transcript: None, members };
        payload.translate();
        Ok(Some(payload))
    }

    /// Returns the text of a field, under Claude Code's name; `None` if it is blank or not a text.
    pub fn text(&self, field: &str) -> Option<String> {
        self.members.text(field)
    }

    /// Returns the payload as Claude Code would have sent it.
    pub fn to_claude(&self) -> String {
        serde_json::to_string(&self.members.0).expect("texts and JSON can be written as JSON")
    }

    /// Returns whether the id of its prompt must be taken from the record of the session.
    pub fn lacks_prompt_id(&self) -> bool {
        !self.agent.sends_prompt_ids && self.text("prompt_id").is_none()
    }

    /// Sets the id of the prompt that the event belongs to.
    pub fn set_prompt_id(&mut self, id: &str) {
        self.members.set_text("prompt_id", id);
    }

    /// Removes the last reply of the model, of which nothing may be stored.
    pub fn remove_reply(&mut self) {
        self.members.remove("last_assistant_message");
    }

    /// Returns whether the agent does not show the model what the hook answers to this event.
    pub fn is_not_shown(&self) -> bool {
        self.event == EventName::SessionStart
            && self.agent.deaf_at_start.is_some_and(|source| self.text("source").as_deref() == Some(source))
    }

    /// Returns the use of the context, if the payload reports it.
    pub fn usage(&self) -> Option<ReportedUse> {
        let number = |name: &str| self.members.integer(name).and_then(|number| u64::try_from(number).ok());
        let number = |name: &str| number(name).filter(|number| *number > 0);
        let is_told = self.agent.usage == UsageSource::StopPayload && self.event == EventName::Stop;
        let tokens = number("input_tokens").filter(|_| is_told)?;
        Some(ReportedUse { model: self.text("model"), tokens, window: number("context_limit") })
    }

    fn translate(&mut self) {
        let agent = self.agent;
        self.transcript = self.text("transcript_path");
        self.members.remove("transcript_path");
        self.members.rename(agent.fields);
        self.describe_dialog();
        self.translate_call();
        let timestamp = self.text("timestamp");
        if let Some(at) = timestamp.filter(|_| self.event == EventName::UserPromptSubmit && self.lacks_prompt_id()) {
            self.set_prompt_id(&at);
        }
        self.members.set_text("session_id", self.session.as_str());
        self.members.set_text("hook_event_name", self.event.as_str());
    }

    /// Replaces the details of a permission dialog by the tool and its input.
    fn describe_dialog(&mut self) {
        let Some(details) = self.members.remove("details").filter(|_| self.event == EventName::PermissionRequest)
        else {
            return;
        };
        let details = Members::of(Some(&details));
        let member = |name: &str| details.text(name).unwrap_or_default();
        let kind = member("type");
        let mut input = Members::default();
        let tool = match self.agent.dialogs.iter().find(|dialog| dialog.kind == kind) {
            Some(dialog) => {
                input.set_text(dialog.shown.1, &member(dialog.shown.0));
                dialog.tool.to_owned()
            }
            None if details.text("serverName").is_some() => {
                format!("mcp__{}__{}", member("serverName"), member("toolName"))
            }
            None => kind,
        };
        self.members.set_text("tool_name", &tool);
        self.members.set_members("tool_input", &input);
    }

    /// Gives a tool, its input and its result the names and the shape of Claude Code's.
    fn translate_call(&mut self) {
        let Some(name) = self.text("tool_name") else { return };
        let alias = self.agent.tools.iter().find(|(theirs, _)| *theirs == name);
        let tool = alias.map_or(name, |(_, ours)| (*ours).to_owned());
        self.rename_inputs();
        if matches!(self.event, EventName::PostToolUse | EventName::PostToolUseFailure)
            && self.text("tool_use_id").is_none()
        {
            let id = self.made_up_id(&tool);
            self.members.set_text("tool_use_id", &id);
        }
        if let Some(response) = self.members.remove("tool_response").filter(|_| self.event == EventName::PostToolUse) {
            match outcome(&tool, &response) {
                Ok(text) => self.members.set_text("tool_response", &text),
                Err(message) => {
                    self.event = EventName::PostToolUseFailure;
                    self.members.set_text("error", &message);
                }
            }
        } else if let Some(error) = self.text("error").filter(|_| self.event == EventName::PostToolUseFailure) {
            let message = failure(&tool, &error);
            self.members.set_text("error", &message);
        }
        self.members.set_text("tool_name", &tool);
    }

    /// Gives the members of a tool's input Claude Code's names.
    fn rename_inputs(&mut self) {
        let Some(input) = self.members.get("tool_input").filter(|_| !self.agent.inputs.is_empty()) else { return };
        if let Ok(mut input) = Members::parse(input.get()) {
            input.rename(self.agent.inputs);
            self.members.set_members("tool_input", &input);
        }
    }

    /// Returns an id for a call that has none: the same for the same call, and different for the next one.
    fn made_up_id(&self, tool: &str) -> String {
        let input = self.members.get("tool_input").map_or("", |input| input.get());
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

fn counts(rule: &EventRule, members: &Members) -> bool {
    match rule.condition {
        Condition::Always => true,
        Condition::Filled(field) => members.text(field).is_some(),
        Condition::Equals(field, value) => members.text(field).as_deref() == Some(value),
    }
}

// The members of a JSON object, each as the text that was sent.
//
// Only what must be translated is parsed. A tool may return any amount of JSON at any depth, and a tree of values would
// take many times the memory of the text, and refuse what is deeper than 128 levels.

/// The members of an object.
#[derive(Debug, Clone, Default)]
struct Members(BTreeMap<String, Box<RawValue>>);

impl Members {
    fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json).map(Self)
    }

    /// Returns the members of an object, and none for any other value.
    fn of(value: Option<&RawValue>) -> Self {
        value.and_then(|value| Self::parse(value.get()).ok()).unwrap_or_default()
    }

    fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).map(Box::as_ref)
    }

    /// Returns a member that is a text and not blank.
    fn text(&self, name: &str) -> Option<String> {
        text(self.get(name)?).filter(|text| !text.trim().is_empty())
    }

    fn integer(&self, name: &str) -> Option<i64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }

    fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, to_raw_value(text));
    }

    fn set_members(&mut self, name: &str, members: &Self) {
        self.set(name, to_raw_value(&members.0));
    }

    /// Gives members Claude Code's names, unless there is a member of that name already.
    fn rename(&mut self, aliases: Aliases) {
        for (theirs, ours) in aliases {
            if !self.0.contains_key(*ours)
                && let Some(value) = self.0.remove(*theirs)
            {
                self.0.insert((*ours).to_owned(), value);
            }
        }
    }

    fn set(&mut self, name: &str, value: Result<Box<RawValue>, serde_json::Error>) {
        self.0.insert(name.to_owned(), value.expect("texts and JSON can be written as JSON"));
    }
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The lines that begin the parts of a report about a command, in the text for the model.
const PARTS: [&str; 7] =
    ["Output:", "Error:", EXIT_CODE, "Signal:", "Background PIDs:", "Process Group PGID:", "Sandbox:"];

/// The part with the exit code. Gemini CLI leaves it out if the command succeeded.
const EXIT_CODE: &str = "Exit Code:";

/// The values with which a part of a report says that there is nothing.
const NOTHING: [&str; 2] = ["(empty)", "(none)"];

/// The tags around text from outside, which only tell the model not to trust it.
const TAGS: [&str; 2] = ["<untrusted_context>", "</untrusted_context>"];

/// The tool that runs commands, as Claude Code calls it.
const SHELL: &str = "Bash";

/// Returns what a response says, as an error if the call has failed. `tool` is Claude Code's name of the tool.
fn outcome(tool: &str, response: &RawValue) -> Result<String, String> {
    let members = Members::of(Some(response));
    if let Some(error) = members.get("error").and_then(error_of) {
        return Err(error);
    }
    let text = |name: &str| members.get(name).map(text_of).unwrap_or_default();
    let (for_model, shown) = (text("llmContent"), text("returnDisplay"));
    let mut exit = ["exit", "exit_code", "exitCode"].iter().find_map(|name| members.integer(name));
    let texts = if tool == SHELL {
        exit = exit.or_else(|| exit_code(&for_model, &shown));
        [shown, output_in(&for_model).unwrap_or_default(), text("output")]
    } else {
        [for_model, text("output"), shown]
    };
    let text =
        texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_else(|| other_shape(response, &members));
    match exit {
        Some(exit) if exit != 0 => Err(failed(exit, &text)),
        _ => Ok(text),
    }
}

/// Returns the message of a failed call: for a command, as Claude Code writes it.
fn failure(tool: &str, error: &str) -> String {
    match exit_code(error, "") {
        Some(exit) if tool == SHELL => failed(exit, &output_in(error).unwrap_or_default()),
        _ => error.to_owned(),
    }
}

fn failed(exit: i64, output: &str) -> String {
    format!("Exit code {exit}\n{output}").trim_end().to_owned()
}

/// Returns the exit code in a report about a command. It is in the last line of that name, because the output comes
/// before it; but not in a line of the output itself, which `shown` is, if it is known.
fn exit_code(report: &str, shown: &str) -> Option<i64> {
    let lines = |text: &str| text.lines().filter(|line| line.starts_with(EXIT_CODE)).count();
    let last = report.lines().rev().find_map(|line| line.strip_prefix(EXIT_CODE))?;
    last.trim().parse().ok().filter(|_| lines(report) > lines(shown))
}

/// Returns the output in a report about a command.
fn output_in(report: &str) -> Option<String> {
    let is_part = |line: &str| PARTS.into_iter().any(|part| line.starts_with(part));
    let mut lines = report.lines();
    let first = lines.find_map(|line| line.strip_prefix("Output:"))?;
    let rest = lines.take_while(|line| !is_part(line) && !TAGS.contains(line));
    let output = [first.trim_start()].into_iter().chain(rest).collect::<Vec<_>>().join("\n");
    Some(output).filter(|output| !NOTHING.contains(&output.trim()))
}

fn error_of(error: &RawValue) -> Option<String> {
    if error.get() == "null" {
        return None;
    }
    let message = || Members::of(Some(error)).get("message").and_then(text);
    Some(text(error).or_else(message).unwrap_or_else(|| error.get().to_owned()))
}

/// Returns a text, or the texts of a list of parts, without the tags around text from outside.
fn text_of(value: &RawValue) -> String {
    let of_part = |part: &RawValue| text(part).or_else(|| Members::of(Some(part)).get("text").and_then(text));
    let of_list = || {
        let parts: Vec<Box<RawValue>> = serde_json::from_str(value.get()).unwrap_or_default();
        parts.iter().filter_map(|part| of_part(part)).collect::<Vec<_>>().join("\n")
    };
    let text = text(value).unwrap_or_else(of_list);
    TAGS.iter().fold(text, |text, tag| text.replace(tag, "")).trim().to_owned()
}

fn other_shape(response: &RawValue, members: &Members) -> String {
    if response.get() == "null" || members.get("llmContent").or(members.get("output")).is_some() {
        return String::new();
    }
    text(response).unwrap_or_else(|| response.get().to_owned())
}
