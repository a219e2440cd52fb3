//! Longhaul's hooks in settings.json, and in the settings of other agents, among the hooks of others.

use std::path::Path;

use longhaul_core::catalog::{REGISTRATIONS, Registration};
use longhaul_core::json_text::{Item, List, Object, Style};
use serde_json::{Value, json};

use super::{Change, Refusal, parse};

const HOOKS: &str = "hooks";

/// What is left of a group of hooks without Longhaul's.
enum Rest {
    /// None of them is Longhaul's.
    Same,
    /// Some are not Longhaul's: the group with only these.
    Some(String),
    /// All of them are Longhaul's.
    Nothing,
}

/// Returns settings with all of Longhaul's hooks, whose executables are in `bin`.
///
/// Existing ones are replaced in place. The hooks of others are not changed.
pub fn with_hooks(text: Option<&str>, bin: &Path) -> Change {
    let wanted: Vec<_> =
        REGISTRATIONS.iter().map(|registration| (registration.event.as_str(), group(registration, bin))).collect();
    change(text, &wanted, is_ours)
}

/// Returns settings without Longhaul's hooks, and without the groups and events that are empty then.
pub fn without_hooks(text: &str) -> Change {
    change(Some(text), &[], is_ours)
}

/// Returns Longhaul's executables that settings, or a plugin's hooks.json, register, each with its event.
///
/// It recognises a program with arguments, a shell command, and `longhaul hook EVENT`.
pub fn executables_in(settings: &Value) -> Vec<(String, String)> {
    let events = settings[HOOKS].as_object().into_iter().flatten();
    let mut found = Vec::new();
    for (event, groups) in events {
        let hooks = groups.as_array().into_iter().flatten().filter_map(|group| group[HOOKS].as_array()).flatten();
        for command in hooks.filter_map(|hook| hook["command"].as_str()) {
            if is_ours(command) || is_by_hand(command) {
                found.push((event.clone(), command.to_owned()));
            }
        }
    }
    found
}

fn group(registration: &Registration, bin: &Path) -> Value {
    let hook = json!({
        "type": "command",
        "command": bin.join(registration.executable).to_string_lossy(),
        "args": [],
        "timeout": registration.timeout_seconds,
    });
    match registration.matcher {
        Some(matcher) => json!({ "matcher": matcher, HOOKS: [hook] }),
        None => json!({ HOOKS: [hook] }),
    }
}

/// Returns a file with the groups of hooks `wanted`, each for its event, and no other hooks of Longhaul's.
///
/// `is_ours` recognises the commands of Longhaul's hooks, which are replaced in place. Every other byte stays.
pub(crate) fn change(text: Option<&str>, wanted: &[(&str, Value)], is_ours: fn(&str) -> bool) -> Change {
    let mut settings = parse(text)?;
    let shape = || Refusal::Shape(HOOKS.to_owned());
    let had = settings.members.get(HOOKS)?.map(str::to_owned);
    let mut events = match &had {
        Some(hooks) => Object::parse(hooks).ok_or_else(shape)?,
        None => Object::default(),
    };
    let mut names: Vec<String> = events.names().map(str::to_owned).collect();
    for (event, _) in wanted {
        if !names.iter().any(|name| name == event) {
            names.push((*event).to_owned());
        }
    }
    let mut is_changed = false;
    for event in names {
        let old = events.get(&event)?.map(str::to_owned);
        let list = match &old {
            Some(list) => List::parse(list).ok_or_else(|| Refusal::Shape(format!("{HOOKS}.{event}")))?,
            None => List::default(),
        };
        let wanted: Vec<&Value> = wanted.iter().filter(|(name, _)| *name == event).map(|(_, group)| group).collect();
        let Some(new) = regroup(&list, &wanted, is_ours, &settings.style) else { continue };
        is_changed = true;
        if new.items.is_empty() {
            events.retain(|name, _| name != event)
        } else {
            events.set(&event, new.write(&settings.style, 2))
        }
    }
    if !is_changed {
        return Ok(None);
    }
    if events.is_empty() {
        settings.members.retain(|name, _| name != HOOKS);
    } else {
        let hooks = events.write(&settings.style, 1);
        settings.members.set(HOOKS, hooks);
    }
    Ok(Some(settings.write()))
}

/// Returns an event's groups with Longhaul's replaced by `wanted`, or `None` if nothing changes.
fn regroup(list: &List, wanted: &[&Value], is_ours: fn(&str) -> bool, style: &Style) -> Option<List> {
    let mut kept = Vec::new();
    let mut place = None;
    let mut ours = Vec::new();
    for item in &list.items {
        match without_ours(&item.text, is_ours, style) {
            Rest::Same => kept.push(item.clone()),
            Rest::Some(text) => {
                place.get_or_insert(kept.len());
                ours.push(None);
                kept.push(Item { text, ..item.clone() });
            }
            Rest::Nothing => {
                place.get_or_insert(kept.len());
                ours.push(serde_json::from_str::<Value>(&item.text).ok());
            }
        }
    }
    if ours.len() == wanted.len() && ours.iter().zip(wanted).all(|(ours, wanted)| ours.as_ref() == Some(wanted)) {
        return None;
    }
    let place = place.unwrap_or(kept.len());
    kept.splice(place..place, wanted.iter().map(|group| Item::new(style.write(group, 3))));
    Some(list.with(kept))
}

fn without_ours(group: &str, is_ours: fn(&str) -> bool, style: &Style) -> Rest {
    let Some(mut group) = Object::parse(group) else { return Rest::Same };
    // A group of an unknown shape is not Longhaul's.
    let Some(hooks) = group.get(HOOKS).ok().flatten().and_then(List::parse) else { return Rest::Same };
    let is_theirs = |hook: &&Item| {
        let hook: Value = serde_json::from_str(&hook.text).unwrap_or_default();
        !hook["command"].as_str().is_some_and(is_ours)
    };
    let theirs: Vec<Item> = hooks.items.iter().filter(is_theirs).cloned().collect();
    match theirs.len() {
        count if count == hooks.items.len() => Rest::Same,
        0 => Rest::Nothing,
        _ => {
            group.set(HOOKS, hooks.with(theirs).write(style, 4));
            Rest::Some(group.write(style, 3))
        }
    }
}

/// Returns whether a hook's command starts one of Longhaul's executables.
fn is_ours(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command).trim_end_matches(['\'', '"', ' ']);
    REGISTRATIONS.iter().any(|registration| registration.executable == name)
}

/// Returns whether a hook runs `longhaul hook EVENT`, which users write by hand.
fn is_by_hand(command: &str) -> bool {
    command.split_once(" hook ").is_some_and(|(program, _)| program.rsplit('/').next() == Some("longhaul"))
}
