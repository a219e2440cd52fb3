//! Our hooks among other people's, in Codex's hooks.json. Texts in, texts out.

use longhaul_core::catalog::{CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration};
use longhaul_inject::shell_single_quote;
use serde_json::{Map, Value, json};

const HOOKS: &str = "hooks";

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// It is no JSON, or breaks off.
    #[error("it is not JSON ({0}): mend it, or move it away")]
    NotJson(String),
    /// Something in it is not what Codex reads.
    #[error("`{0}` in it is not {1}: mend it, or move the file away")]
    Shape(String, &'static str),
}

/// Returns the file with our hooks, which start `program`; `None` where they are there already.
///
/// Ours are put where they stood. Everything else stays, in its order.
pub(super) fn with_hooks(text: Option<&str>, program: &str) -> Result<Option<String>, Refusal> {
    change(text, &|event| {
        let hooks = CODEX_REGISTRATIONS.iter().filter(|hook| hook.event.as_str() == event);
        hooks.map(|hook| group(hook, program)).collect()
    })
}

/// Returns the file without our hooks, empty where nothing is left; `None` where there are none.
pub(super) fn without_hooks(text: Option<&str>) -> Result<Option<String>, Refusal> {
    change(text, &|_| Vec::new())
}

fn group(hook: &CodexRegistration, program: &str) -> Value {
    let command = format!("{} hook --codex {}", word(program), hook.argument);
    json!({ HOOKS: [{ "type": "command", "command": command, "timeout": hook.timeout_seconds }] })
}

/// Returns a path as one word of a shell.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { shell_single_quote(path) }
}

fn change(text: Option<&str>, wanted: &dyn Fn(&str) -> Vec<Value>) -> Result<Option<String>, Refusal> {
    let text = text.unwrap_or_default();
    let mut file = match text.trim() {
        "" => Map::new(),
        text => match serde_json::from_str(text) {
            Ok(Value::Object(file)) => file,
            Ok(_) => return Err(Refusal::Shape("the whole".to_owned(), "an object")),
            Err(error) => return Err(Refusal::NotJson(error.to_string())),
        },
    };
    let mut events = match file.get(HOOKS) {
        None => Map::new(),
        Some(Value::Object(events)) => events.clone(),
        Some(_) => return Err(Refusal::Shape(HOOKS.to_owned(), "an object")),
    };
    let before = events.clone();
    let mut names: Vec<String> = events.keys().cloned().collect();
    let known = CODEX_REGISTRATIONS.iter().map(|hook| hook.event.as_str().to_owned());
    names.extend(known.filter(|name| !before.contains_key(name)));
    for event in names {
        let groups = match events.get(&event) {
            None => Vec::new(),
            Some(Value::Array(groups)) => groups.clone(),
            Some(_) => return Err(Refusal::Shape(format!("{HOOKS}.{event}"), "a list")),
        };
        let had_none = groups.is_empty();
        let groups = regroup(groups, wanted(&event));
        match groups.is_empty() {
            true if had_none => {}
            true => drop(events.shift_remove(&event)),
            false => drop(events.insert(event, groups.into())),
        }
    }
    if events == before {
        return Ok(None);
    }
    match events.is_empty() {
        true => drop(file.shift_remove(HOOKS)),
        false => drop(file.insert(HOOKS.to_owned(), events.into())),
    }
    let text = serde_json::to_string_pretty(&Value::Object(file.clone())).unwrap_or_default();
    Ok(Some(if file.is_empty() { String::new() } else { text + "\n" }))
}

/// Returns an event's groups with ours as `wanted`, where the first of ours was, else behind the others.
fn regroup(groups: Vec<Value>, wanted: Vec<Value>) -> Vec<Value> {
    let mut kept = Vec::new();
    let mut place = None;
    for mut group in groups {
        let hooks = group.get_mut(HOOKS).and_then(Value::as_array_mut);
        let is_emptied = hooks.is_some_and(|hooks| {
            let count = hooks.len();
            hooks.retain(|hook| !hook["command"].as_str().is_some_and(is_ours));
            if hooks.len() < count {
                place.get_or_insert(kept.len());
            }
            hooks.is_empty() && count > 0
        });
        if !is_emptied {
            kept.push(group);
        }
    }
    let place = place.unwrap_or(kept.len());
    kept.splice(place..place, wanted);
    kept
}

/// Returns whether a command is one of ours, of whatever version and wherever it lies.
fn is_ours(command: &str) -> bool {
    let starts = |program: &str| {
        let program = program.trim().trim_matches(['\'', '"']);
        program.rsplit('/').next().map(str::to_owned)
    };
    let by_name = command.split_once(" hook --codex ").and_then(|(program, _)| starts(program));
    let direct = command.rsplit_once(' ').and_then(|(program, _)| starts(program));
    by_name.as_deref() == Some("longhaul") || direct.as_deref() == Some(CODEX_EXECUTABLE)
}

#[cfg(test)]
mod tests;
