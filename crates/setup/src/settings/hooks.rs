//! Our hooks among other people's.

use std::path::Path;

use longhaul_core::catalog::REGISTRATIONS;
use serde_json::{Value, json};

use super::{Change, Refusal, Settings};
use crate::json_text::{Item, List, Object};

const HOOKS: &str = "hooks";

/// What is left of a group of hooks without ours.
enum Rest {
    /// None of them is ours.
    Same,
    /// Some are not.
    Some(Value),
    /// All were.
    Nothing,
}

/// Returns settings with all our hooks in them, their executables in `bin`.
///
/// Ours are replaced where they stand. Other people's stay as they are, in their order.
pub fn with_hooks(text: Option<&str>, bin: &Path) -> Change {
    change(text, &|event| {
        let registrations = REGISTRATIONS.iter().filter(move |registration| registration.event.as_str() == event);
        registrations.map(|registration| group(registration, bin)).collect()
    })
}

/// Returns settings without our hooks; what was empty without them goes with them.
pub fn without_hooks(text: &str) -> Change {
    change(Some(text), &|_| Vec::new())
}

/// Returns the executables of ours that settings, or a plugin's hooks.json, register, each with its event.
///
/// Both the client's exec form and a line for a shell are seen, and `longhaul hook EVENT` too.
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

fn group(registration: &longhaul_core::catalog::Registration, bin: &Path) -> Value {
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

fn change(text: Option<&str>, wanted: &dyn Fn(&str) -> Vec<Value>) -> Change {
    let mut settings = Settings::parse(text)?;
    let shape = || Refusal::Shape(HOOKS.to_owned());
    let had = settings.members.get(HOOKS)?.map(str::to_owned);
    let mut events = match &had {
        Some(hooks) => Object::parse(hooks).ok_or_else(shape)?,
        None => Object::default(),
    };
    let known = REGISTRATIONS.iter().map(|registration| registration.event.as_str().to_owned());
    let mut names: Vec<String> = events.names().map(str::to_owned).collect();
    names.extend(known.filter(|name| !events.names().any(|event| event == name)));
    let mut is_changed = false;
    for event in names {
        let old = events.get(&event)?.map(str::to_owned);
        let list = match &old {
            Some(list) => List::parse(list).ok_or_else(|| Refusal::Shape(format!("{HOOKS}.{event}")))?,
            None => List::default(),
        };
        let Some(new) = regroup(&list, wanted(&event), &settings) else { continue };
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

/// Returns an event's groups with ours as `wanted`, `None` where they are so already.
fn regroup(list: &List, wanted: Vec<Value>, settings: &Settings) -> Option<List> {
    let mut kept = Vec::new();
    let mut place = None;
    let mut ours = Vec::new();
    for item in &list.items {
        let group: Value = serde_json::from_str(&item.text).unwrap_or_default();
        match without_ours(&group) {
            Rest::Same => kept.push(item.clone()),
            Rest::Some(rest) => {
                place.get_or_insert(kept.len());
                ours.push(None);
                kept.push(Item { text: settings.style.write(&rest, 3), ..item.clone() });
            }
            Rest::Nothing => {
                place.get_or_insert(kept.len());
                ours.push(Some(group));
            }
        }
    }
    if ours.len() == wanted.len() && ours.iter().zip(&wanted).all(|(ours, wanted)| ours.as_ref() == Some(wanted)) {
        return None;
    }
    let place = place.unwrap_or(kept.len());
    let wanted = wanted.iter().map(|group| Item::new(settings.style.write(group, 3)));
    kept.splice(place..place, wanted);
    Some(list.with(kept))
}

fn without_ours(group: &Value) -> Rest {
    let Some(hooks) = group[HOOKS].as_array() else { return Rest::Same };
    let theirs: Vec<Value> =
        hooks.iter().filter(|hook| !hook["command"].as_str().is_some_and(is_ours)).cloned().collect();
    match theirs.len() {
        count if count == hooks.len() => Rest::Same,
        0 => Rest::Nothing,
        _ => {
            let mut rest = group.clone();
            rest[HOOKS] = Value::Array(theirs);
            Rest::Some(rest)
        }
    }
}

/// Returns whether a hook's command starts one of our executables.
fn is_ours(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command).trim_end_matches(['\'', '"', ' ']);
    REGISTRATIONS.iter().any(|registration| registration.executable == name)
}

/// Returns whether somebody has wired a hook by hand.
fn is_by_hand(command: &str) -> bool {
    command.split_once(" hook ").is_some_and(|(program, _)| program.rsplit('/').next() == Some("longhaul"))
}
