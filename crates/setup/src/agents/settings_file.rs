//! Longhaul's hooks and MCP server in the settings of an agent. The lists of hooks are edited by `settings/hooks.rs`.

use std::path::Path;

use longhaul_agents::{Agent, ConfigShape, EventRule};
use longhaul_core::catalog::CODEX_EXECUTABLE;
use longhaul_core::json_text::Object;
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

use super::ConfigRecord;
use crate::json_comments::Commented;
use crate::settings::{self, Change, Refusal, change_hooks, parse};

/// The member with the MCP servers.
pub(super) const SERVERS: &str = "mcpServers";

/// What follows the program in the command of a hook. Codex's form must stay: its trust is in the text of the command.
pub(super) const STARTS_HOOK: [&str; 2] = [" hook --agent ", " hook --codex "];

/// Returns the settings with the hooks of `agent` and the MCP server, which start `program`.
pub(crate) fn with_agent(text: Option<&str>, agent: &Agent, program: &Path) -> Change {
    let program = program.to_string_lossy();
    let word = word(&program);
    let group = |rule: &EventRule| {
        let command = format!("{word} hook {} {}", agent.option, rule.argument);
        let timeout = agent.timeout.of_seconds(rule.seconds);
        let hook = match agent.config.shape {
            ConfigShape::CodexHooks => json!({ "type": "command", "command": command, "timeout": timeout }),
            ConfigShape::HookGroups | ConfigShape::Module => {
                json!({ "name": "longhaul", "type": "command", "command": command, "timeout": timeout })
            }
        };
        json!({ "hooks": [hook] })
    };
    let wanted: Vec<_> = agent.events.iter().map(|rule| (rule.theirs, group(rule))).collect();
    let with_hooks = change_hooks(text, &wanted, is_ours)?;
    if agent.config.shape == ConfigShape::CodexHooks {
        return Ok(with_hooks);
    }
    let server = json!({ "command": program, "args": ["mcp"] });
    let with_server = change_server(with_hooks.as_deref().or(text), Some(&server))?;
    Ok(with_server.or(with_hooks))
}

/// Returns the settings without what [`with_agent`] adds, or an empty text if they hold nothing else. Comments stay.
pub(crate) fn without_agent(text: &str) -> Change {
    match remove(text) {
        Err(Refusal::NotJson) => {
            let commented = Commented::parse(text).ok_or(Refusal::NotJson)?;
            Ok(remove(&commented.json)?.map(|left| commented.restore(&left)))
        }
        left => Ok(left?.map(|left| if settings::names(&left).is_empty() { String::new() } else { left })),
    }
}

fn remove(text: &str) -> Change {
    let hookless = change_hooks(Some(text), &[], is_ours)?;
    let serverless = change_server(Some(hookless.as_deref().unwrap_or(text)), None)?;
    Ok(serverless.or(hookless))
}

/// Returns the settings as they were before the installation.
pub(crate) fn restored(text: &str, record: Option<&ConfigRecord>) -> Change {
    match record.and_then(|record| record.original(text)) {
        Some(original) => Ok(Some(original)),
        None => without_agent(text),
    }
}

/// Returns whether a command is one of Longhaul's, of any version and in any folder.
pub(crate) fn is_ours(command: &str) -> bool {
    let name = |program: &str| program.rsplit('/').next().map(str::to_owned);
    // A plugin of Codex starts the executable itself.
    let direct = || command.rsplit_once(' ').and_then(|(program, _)| name(&unquoted(program)));
    program_of(command).is_some_and(|program| name(&program).as_deref() == Some(crate::PLUGIN))
        || direct().as_deref() == Some(CODEX_EXECUTABLE)
}

/// Returns the program that a command of Longhaul's form starts.
pub(super) fn program_of(command: &str) -> Option<String> {
    let program = |starts: &str| command.split_once(starts).map(|(program, _)| unquoted(program));
    STARTS_HOOK.into_iter().find_map(program)
}

fn unquoted(program: &str) -> String {
    program.trim().trim_matches(['\'', '"']).replace("'\\''", "'")
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

pub(super) fn is_our_server(server: &Value) -> bool {
    let program = server["command"].as_str().and_then(|command| command.rsplit('/').next());
    program == Some(crate::PLUGIN) && server["args"] == json!(["mcp"])
}

/// Returns a path quoted for a shell, if that is necessary.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { shell_single_quote(path) }
}
