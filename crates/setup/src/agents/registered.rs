//! What an agent's file has of Longhaul, for the doctor.

use std::collections::BTreeSet;
use std::path::PathBuf;

use longhaul_agents::{Agent, ConfigShape};
use serde_json::Value;

use super::module;
use super::settings_file::{SERVERS, STARTS_HOOK, is_ours, program_of};
use crate::PLUGIN;
use crate::json_comments::Commented;

/// What an agent's file has of Longhaul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Nothing.
    Nothing,
    /// Its hooks, but the file is not JSON: the agent does not read it.
    Unreadable,
    /// Its hooks.
    Hooks(RegisteredHooks),
}

/// Longhaul's hooks in the file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RegisteredHooks {
    /// The events.
    pub(crate) events: Vec<String>,
    /// The programs that are started.
    pub(crate) programs: BTreeSet<PathBuf>,
    /// Whether the MCP server is registered, and not excluded.
    pub(crate) has_server: bool,
    /// Whether the settings disable every hook.
    pub(crate) all_disabled: bool,
    /// Whether the settings disable Longhaul's hooks, by their name.
    pub(crate) is_disabled: bool,
}

/// Returns what a file has of Longhaul.
pub(crate) fn registered(agent: &Agent, text: &str) -> Registered {
    match agent.config.shape {
        ConfigShape::HookGroups | ConfigShape::CodexHooks => in_settings(text),
        ConfigShape::Module if module::is_ours(text) => Registered::Hooks(RegisteredHooks {
            events: agent.events.iter().map(|rule| rule.theirs.to_owned()).collect(),
            programs: module::program(text).into_iter().collect(),
            // The module adds it when opencode starts.
            has_server: true,
            ..RegisteredHooks::default()
        }),
        ConfigShape::Module => Registered::Nothing,
    }
}

fn in_settings(text: &str) -> Registered {
    let commented = || serde_json::from_str(&Commented::parse(text)?.json).ok();
    let Some(settings) = serde_json::from_str::<Value>(text).ok().or_else(commented) else {
        let is_named = STARTS_HOOK.into_iter().any(|starts| text.contains(starts));
        return if is_named { Registered::Unreadable } else { Registered::Nothing };
    };
    let mut found = RegisteredHooks::default();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let hooks = groups.as_array().into_iter().flatten().filter_map(|group| group["hooks"].as_array()).flatten();
        let ours: Vec<&str> = hooks.filter_map(|hook| hook["command"].as_str()).filter(|text| is_ours(text)).collect();
        if !ours.is_empty() {
            found.events.push(event.clone());
        }
        found.programs.extend(ours.into_iter().filter_map(program_of).map(PathBuf::from));
    }
    if found.events.is_empty() {
        return Registered::Nothing;
    }
    let has_name = |list: &Value| list.as_array().is_some_and(|names| names.iter().any(|name| name == PLUGIN));
    found.has_server = settings[SERVERS][PLUGIN].is_object() && !has_name(&settings["mcp"]["excluded"]);
    found.all_disabled = settings["hooksConfig"]["enabled"] == false || settings["disableAllHooks"] == true;
    found.is_disabled = has_name(&settings["hooksConfig"]["disabled"]);
    Registered::Hooks(found)
}
