//! Longhaul's hooks and MCP server in the settings of an agent.

use std::path::Path;

use longhaul_agents::Agent;
use longhaul_core::json_text::Object;
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

use super::ConfigRecord;
use crate::settings::{self, Change, Refusal, change_hooks, parse};

/// The member with the MCP servers.
const SERVERS: &str = "mcpServers";

/// Returns the settings with the hooks of `agent` and the MCP server, which start `program`.
pub(crate) fn with_agent(text: Option<&str>, agent: &Agent, program: &Path) -> Change {
    let program = program.to_string_lossy();
    let word = word(&program);
    let group = |theirs: &str, seconds| {
        let command = format!("{word} hook --agent {} {theirs}", agent.name);
        let timeout = agent.timeout.of_seconds(seconds);
        json!({ "hooks": [{ "name": "longhaul", "type": "command", "command": command, "timeout": timeout }] })
    };
    let wanted: Vec<_> = agent.events.iter().map(|rule| (rule.theirs, group(rule.theirs, rule.seconds))).collect();
    let with_hooks = change_hooks(text, &wanted, is_ours)?;
    let server = json!({ "command": program, "args": ["mcp"] });
    let with_server = change_server(with_hooks.as_deref().or(text), Some(&server))?;
    Ok(with_server.or(with_hooks))
}

/// Returns the settings without what [`with_agent`] adds, or an empty text if they hold nothing else.
pub(crate) fn without_agent(text: &str) -> Change {
    let hookless = change_hooks(Some(text), &[], is_ours)?;
    let serverless = change_server(Some(hookless.as_deref().unwrap_or(text)), None)?;
    let left = serverless.or(hookless);
    Ok(left.map(|left| if settings::names(&left).is_empty() { String::new() } else { left }))
}

/// Returns the settings as they were before the installation.
pub(crate) fn restored(text: &str, record: Option<&ConfigRecord>) -> Change {
    match record.and_then(|record| record.original(text)) {
        Some(original) => Ok(Some(original)),
        None => without_agent(text),
    }
}

/// Returns the events whose hooks start Longhaul.
pub(crate) fn registered_events(text: &str) -> Vec<String> {
    let settings: Value = serde_json::from_str(text).unwrap_or_default();
    let starts_longhaul = |groups: &Value| {
        let hooks = groups.as_array().into_iter().flatten().filter_map(|group| group["hooks"].as_array()).flatten();
        hooks.filter_map(|hook| hook["command"].as_str()).any(is_ours)
    };
    let events = settings["hooks"].as_object().into_iter().flatten();
    events.filter(|(_, groups)| starts_longhaul(groups)).map(|(event, _)| event.clone()).collect()
}

/// Returns whether a command is one of Longhaul's, of any version and in any folder.
pub(crate) fn is_ours(command: &str) -> bool {
    let program = command.split_once(" hook --agent ").map(|(program, _)| program.trim().trim_matches(['\'', '"']));
    program.and_then(|program| program.rsplit('/').next()) == Some(crate::PLUGIN)
}

/// Adds, replaces or removes Longhaul's MCP server. A server of that name that Longhaul has not added stays.
fn change_server(text: Option<&str>, wanted: Option<&Value>) -> Change {
    let mut settings = parse(text)?;
    let had = settings.members.get(SERVERS)?.map(str::to_owned);
    let mut servers = match &had {
        Some(servers) => Object::parse(servers).ok_or_else(|| Refusal::Shape(SERVERS.to_owned()))?,
        None => Object::default(),
    };
    let old: Option<Value> = servers.get(crate::PLUGIN)?.and_then(|old| serde_json::from_str(old).ok());
    if old.as_ref() == wanted || old.as_ref().is_some_and(|old| !is_our_server(old)) {
        return Ok(None);
    }
    match wanted {
        Some(server) => servers.set(crate::PLUGIN, settings.style.write(server, 2)),
        None => servers.retain(|name, _| name != crate::PLUGIN),
    }
    if servers.is_empty() {
        settings.members.retain(|name, _| name != SERVERS);
    } else {
        let servers = servers.write(&settings.style, 1);
        settings.members.set(SERVERS, servers);
    }
    Ok(Some(settings.write()))
}

fn is_our_server(server: &Value) -> bool {
    let program = server["command"].as_str().and_then(|command| command.rsplit('/').next());
    program == Some(crate::PLUGIN) && server["args"] == json!(["mcp"])
}

/// Returns a path quoted for a shell, if that is necessary.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { shell_single_quote(path) }
}
