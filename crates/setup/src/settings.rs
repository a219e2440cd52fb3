//! Adds Longhaul's hooks and status line to the text of Claude Code's settings.json, and notifications to that of its own
//! configuration, and removes them.

pub(crate) use self::change as change_hooks;

use std::path::Path;

use longhaul_core::catalog::{REGISTRATIONS, Registration};
use longhaul_core::config::{Choice, NotifyWay};
use longhaul_core::json_text::{
    DuplicateName, Item, JsonFile, List, NotEditable, Object, Style, with_value, without_byte_order_mark,
};
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has comments, is incomplete, or is something else.
    #[error("is not JSON: correct it or move it away")]
    NotJson,
    /// It is JSON, but not an object.
    #[error("is not a JSON object: correct it or move it away")]
    NotSettings,
    /// A part that would have to be changed is not what Claude Code expects there.
    #[error("has an unexpected value for {0:?}: correct it first")]
    Shape(String),
    /// A key is there twice, and it is not clear which one is meant.
    #[error("has {0:?} twice: remove one of them first")]
    Twice(String),
    /// A file that only Longhaul writes was written by something else.
    #[error("was not written by longhaul: move it away first")]
    NotFromLonghaul,
}

impl From<DuplicateName> for Refusal {
    fn from(twice: DuplicateName) -> Self {
        Self::Twice(twice.0)
    }
}

/// The result of a change: the new text, or `None` if nothing changes.
pub type Change = Result<Option<String>, Refusal>;

/// Parses the text of a file. A file that is missing or empty has no settings.
pub(crate) fn parse(text: Option<&str>) -> Result<JsonFile, Refusal> {
    JsonFile::parse(text.unwrap_or_default()).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotSettings,
    })
}

/// Removes the members `names` that are empty objects, which Claude Code leaves behind after a plugin is uninstalled.
///
/// Returns an empty text if nothing else is in the file.
pub fn without_empty(text: &str, names: &[String]) -> Change {
    let mut settings = parse(Some(text))?;
    let is_empty = |text: &str| Object::parse(text).is_some_and(|object| object.is_empty());
    let before = settings.members.clone();
    settings.members.retain(|name, text| !(names.iter().any(|known| known == name) && is_empty(text)));
    if settings.members.is_empty() {
        return Ok(Some(String::new()));
    }
    Ok((settings.members != before).then(|| settings.write()))
}

/// Returns the names of the members of settings; an empty list if the text is not a JSON object.
pub fn names(text: &str) -> Vec<String> {
    Object::parse(without_byte_order_mark(text)).unwrap_or_default().names().map(str::to_owned).collect()
}

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
        "args": registration.arguments,
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

const KEY: &str = "statusLine";
const COMMAND: &str = "command";

/// The text between Longhaul's command and the user's own.
const AROUND: &str = " -- sh -c ";

/// Returns settings in which `program`, as a shell reads it, prints the status line.
///
/// An existing status line command becomes an argument of Longhaul's, which passes its input on and shows its output.
pub fn with_status_line(text: Option<&str>, program: &str) -> Change {
    let mut settings = parse(text)?;
    let shape = || Refusal::Shape(KEY.to_owned());
    let ours = format!("{program} statusline");
    let line = match settings.members.get(KEY)? {
        None => settings.style.write(&json!({ "type": COMMAND, COMMAND: ours }), 1),
        Some(text) => {
            let theirs = command(text).ok_or_else(shape)?;
            if is_our_status_line(&theirs) {
                return Ok(None);
            }
            let around = format!("{ours}{AROUND}{}", shell_single_quote(&theirs));
            with_value(text, COMMAND, &Value::from(around)).ok_or_else(shape)?
        }
    };
    settings.members.set(KEY, line);
    Ok(Some(settings.write()))
}

/// Returns settings with the status line that was there before Longhaul's.
pub fn without_status_line(text: &str) -> Change {
    let mut settings = parse(Some(text))?;
    let Some(line) = settings.members.get(KEY)?.map(str::to_owned) else { return Ok(None) };
    let Some(ours) = command(&line).filter(|command| is_our_status_line(command)) else { return Ok(None) };
    let theirs = ours.split_once(AROUND).and_then(|(_, word)| unquote(word));
    match theirs.and_then(|theirs| with_value(&line, COMMAND, &Value::from(theirs))) {
        Some(line) => settings.members.set(KEY, line),
        None => settings.members.retain(|name, _| name != KEY),
    }
    Ok(Some(settings.write()))
}

/// Returns whether a command is Longhaul's status line, with or without a command of the user.
pub fn is_our_status_line(command: &str) -> bool {
    let Some((program, rest)) = command.split_once(" statusline") else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches('\'');
    name == "longhaul" && (rest.is_empty() || rest.starts_with(' '))
}

fn command(line: &str) -> Option<String> {
    serde_json::from_str(Object::parse(line)?.get(COMMAND).ok()??).ok()
}

/// Returns the text that [`shell_single_quote`] has quoted.
fn unquote(word: &str) -> Option<String> {
    Some(word.trim().strip_prefix('\'')?.strip_suffix('\'')?.replace(r"'\''", "'"))
}

const NOTIFY_SECTION: &str = "notify";

/// What the user has chosen about notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NotifyChoice {
    /// The user was not asked.
    #[default]
    NotAsked,
    /// The user wants none.
    No,
    /// The user wants them by this way.
    By(NotifyWay),
}

/// Returns the configuration with notifications by `way`: when a session waits, and when a turn takes long or ends
/// in an error.
///
/// `None` if the file has a section `notify` already: it is the user's own.
pub fn with_notifications(text: Option<&str>, way: NotifyWay) -> Change {
    let mut file = parse_config(text.unwrap_or_default())?;
    if file.members.get(NOTIFY_SECTION)?.is_some() {
        return Ok(None);
    }
    let section = file.style.write(&notify_section(way), 1);
    file.members.set(NOTIFY_SECTION, section);
    Ok(Some(file.write()))
}

/// Returns the configuration without the section that [`with_notifications`] has added, or an empty text if nothing else is
/// in the file. A section that was changed since stays.
pub fn without_notifications(text: &str) -> Change {
    let mut file = parse_config(text)?;
    let found = file.members.get(NOTIFY_SECTION)?.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if !found.is_some_and(|found| NotifyWay::ALL.iter().any(|way| notify_section(*way) == found)) {
        return Ok(None);
    }
    file.members.retain(|name, _| name != NOTIFY_SECTION);
    Ok(Some(if file.members.is_empty() { String::new() } else { file.write() }))
}

fn notify_section(way: NotifyWay) -> Value {
    let ways = [way.as_str()];
    json!({ "blocked": ways, "completed": ways })
}

fn parse_config(text: &str) -> Result<JsonFile, Refusal> {
    JsonFile::parse(text).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotSettings,
    })
}
