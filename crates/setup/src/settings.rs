//! Adds Longhaul's hooks and status line to the text of Claude Code's settings.json, and notifications to that of its own
//! configuration, and removes them.

pub(crate) use self::change as change_hooks;

use std::path::Path;

use longhaul_core::catalog::{REGISTRATIONS, Registration};
use longhaul_core::config::NotifyWay;
use longhaul_core::json_text::{
    self, DuplicateName, Item, JsonFile, List, NotEditable, Object, Style, without_byte_order_mark,
};
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

use crate::step::Edit;

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is not JSON: correct it or move it away")]
    NotJson,
    #[error("is not a JSON object: correct it or move it away")]
    NotSettings,
    #[error("has an unexpected value for {0:?}: correct it first")]
    Shape(String),
    #[error("has {0:?} twice: remove one of them first")]
    Twice(String),
    #[error("was not written by longhaul: move it away first")]
    NotFromLonghaul,
}

impl From<DuplicateName> for Refusal {
    fn from(twice: DuplicateName) -> Self {
        Self::Twice(twice.0)
    }
}

impl From<NotEditable> for Refusal {
    fn from(unfit: NotEditable) -> Self {
        match unfit {
            NotEditable::NotJson => Self::NotJson,
            NotEditable::NotObject => Self::NotSettings,
        }
    }
}

impl Refusal {
    /// Refuses a member whose value is not what Claude Code expects there.
    pub(crate) fn shape(name: &str) -> Self {
        Self::Shape(name.to_owned())
    }
}

/// The result of a change: the new text, or `None` if nothing changes.
pub type Change = Result<Option<String>, Refusal>;

/// Removes the members `names` that are empty objects, which Claude Code leaves behind after a plugin is uninstalled.
///
/// Returns an empty text if nothing else is in the file.
pub fn without_empty(text: &str, names: &[String]) -> Change {
    let mut settings = JsonFile::parse(text)?;
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

/// Returns settings with all of Longhaul's hooks, whose executables are in `bin`.
///
/// Existing ones are replaced in place. The hooks of others are not changed.
pub fn with_hooks(text: Option<&str>, bin: &Path) -> Change {
    let wanted: Vec<_> =
        REGISTRATIONS.iter().map(|registration| (registration.event.as_str(), group(registration, bin))).collect();
    change(text, &wanted, is_ours)
}

pub(crate) fn removal_of_hooks() -> Edit {
    Edit::removal("remove the hooks from", without_hooks)
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
    let mut settings = JsonFile::parse(text.unwrap_or_default())?;
    let mut events = match settings.members.get(HOOKS)? {
        Some(hooks) => Object::parse(hooks).ok_or_else(|| Refusal::shape(HOOKS))?,
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
        let list = match events.get(&event)? {
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
        let Some(left) = without_ours(&item.text, is_ours, style) else {
            kept.push(item.clone());
            continue;
        };
        place.get_or_insert(kept.len());
        ours.push(if left.is_none() { serde_json::from_str::<Value>(&item.text).ok() } else { None });
        kept.extend(left.map(|text| Item { text, ..item.clone() }));
    }
    if ours.len() == wanted.len() && ours.iter().zip(wanted).all(|(ours, wanted)| ours.as_ref() == Some(wanted)) {
        return None;
    }
    let place = place.unwrap_or(kept.len());
    kept.splice(place..place, wanted.iter().map(|group| Item::new(style.write(group, 3))));
    Some(list.with(kept))
}

/// Returns what is left of a group: `None` if no hook in it is Longhaul's, `Some(None)` if all are.
fn without_ours(group: &str, is_ours: fn(&str) -> bool, style: &Style) -> Option<Option<String>> {
    let mut group = Object::parse(group)?;
    // A group of an unknown shape is not Longhaul's.
    let hooks = group.get(HOOKS).ok().flatten().and_then(List::parse)?;
    let is_theirs = |hook: &&Item| {
        let hook: Value = serde_json::from_str(&hook.text).unwrap_or_default();
        !hook["command"].as_str().is_some_and(is_ours)
    };
    let theirs: Vec<Item> = hooks.items.iter().filter(is_theirs).cloned().collect();
    match theirs.len() {
        count if count == hooks.items.len() => None,
        0 => Some(None),
        _ => {
            group.set(HOOKS, hooks.with(theirs).write(style, 4));
            Some(Some(group.write(style, 3)))
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
    let text = text.unwrap_or_default();
    let ours = format!("{program} statusline");
    match JsonFile::parse(text)?.members.get(KEY)? {
        None => Ok(json_text::set(text, &[KEY], &json!({ "type": COMMAND, COMMAND: ours }))),
        Some(line) => {
            let theirs = command(line).ok_or_else(|| Refusal::shape(KEY))?;
            let around = format!("{ours}{AROUND}{}", shell_single_quote(&theirs));
            let is_there = is_our_status_line(&theirs);
            Ok(if is_there { None } else { json_text::set(text, &[KEY, COMMAND], &Value::from(around)) })
        }
    }
}

/// Returns settings with the status line that was there before Longhaul's.
pub fn without_status_line(text: &str) -> Change {
    let settings = JsonFile::parse(text)?;
    let ours = settings.members.get(KEY)?.and_then(command).filter(|command| is_our_status_line(command));
    let Some(ours) = ours else { return Ok(None) };
    Ok(match ours.split_once(AROUND).and_then(|(_, word)| unquote(word)) {
        Some(theirs) => json_text::set(text, &[KEY, COMMAND], &Value::from(theirs)),
        None => json_text::remove(text, &[KEY]),
    })
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyChoice {
    NotAsked,
    /// The user wants none.
    No,
    By(NotifyWay),
}

/// Returns the configuration with notifications by `way`: when a session waits, and when a turn takes long or ends
/// in an error.
///
/// `None` if the file has a section `notify` already: it is the user's own.
pub fn with_notifications(text: Option<&str>, way: NotifyWay) -> Change {
    let text = text.unwrap_or_default();
    let is_there = JsonFile::parse(text)?.members.get(NOTIFY_SECTION)?.is_some();
    Ok(if is_there { None } else { json_text::set(text, &[NOTIFY_SECTION], &notify_section(way)) })
}

/// Returns the configuration without the section that [`with_notifications`] has added, or an empty text if nothing else is
/// in the file. A section that was changed since stays.
pub fn without_notifications(text: &str) -> Change {
    let file = JsonFile::parse(text)?;
    let found = file.members.get(NOTIFY_SECTION)?.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if !found.is_some_and(|found| NotifyWay::ALL.iter().any(|way| notify_section(*way) == found)) {
        return Ok(None);
    }
    let left = json_text::remove(text, &[NOTIFY_SECTION]);
    Ok(left.map(|left| if file.members.names().count() > 1 { left } else { String::new() }))
}

fn notify_section(way: NotifyWay) -> Value {
    let ways = [way.as_str()];
    json!({ "blocked": ways, "completed": ways })
}
