//! Adds chords to the text of Claude Code's keybindings.json, and removes them.

use longhaul_core::json_text::{Item, JsonFile, List, Object};
use longhaul_inject::{
    BindingState, CONTEXT, Chord, Keybindings, KeybindingsError, STASH, STASH_CHORDS, SUBMIT, SUBMIT_CHORDS,
};
use serde_json::{Map, Value, json};

use crate::settings::{Change, Refusal};

const BINDINGS: &str = "bindings";

/// Returns the file with a chord that submits and one that stashes, in a block of their own at the end.
///
/// `None` if both are bound already, or every possible chord is taken. No other line of the file is changed.
pub fn with_chords(text: Option<&str>) -> Change {
    let block = missing_chords(text)?;
    if block.is_empty() {
        return Ok(None);
    }
    let mut file = JsonFile::parse(text.unwrap_or_default())?;
    let mut list = blocks(&file)?;
    let block = json!({ "context": CONTEXT, BINDINGS: block });
    list.items.push(Item::new(file.style.write(&block, 2)));
    let list = list.write(&file.style, 1);
    file.members.set(BINDINGS, list);
    Ok(Some(file.write()))
}

/// Returns the chords that [`with_chords`] adds to a file, with their actions.
pub fn missing_chords(text: Option<&str>) -> Result<Map<String, Value>, Refusal> {
    let known = match text.map(Keybindings::parse) {
        None | Some(Err(KeybindingsError::NoList)) => Keybindings::default(),
        Some(Ok(known)) => known,
        Some(Err(KeybindingsError::NotJson)) => return Err(Refusal::NotJson),
        Some(Err(KeybindingsError::BadBlock)) => return Err(Refusal::shape(BINDINGS)),
    };
    let mut block = Map::new();
    for (action, chords) in [(SUBMIT, &SUBMIT_CHORDS[..]), (STASH, &STASH_CHORDS[..])] {
        let chord = match known.bound(action, chords) {
            BindingState::To(_) => None,
            BindingState::Missing | BindingState::Shadowed { .. } => known.free(chords),
        };
        if let Some(chord) = chord {
            block.insert(chord.to_owned(), Value::from(action));
        }
    }
    // A draft is stashed only before a text is submitted: without a submit chord it is of no use.
    let has_submit = block.values().any(|action| action == SUBMIT)
        || matches!(known.bound(SUBMIT, &SUBMIT_CHORDS), BindingState::To(_));
    Ok(if has_submit { block } else { Map::new() })
}

/// Returns the file without the added chords, or an empty text if it holds nothing else and did not exist `before`.
///
/// `added` are the chords that were added, if that is recorded. Every other line stays, even one with the same action. A
/// file that was not changed since is restored to the byte.
pub fn without_chords(text: &str, before: Option<&str>, added: Option<&[String]>) -> Change {
    // A backup that already holds an added chord is from a later installation: the first one has created the file.
    let before = before.filter(|before| !binds_any(before, added.unwrap_or_default()));
    if added.is_some_and(<[String]>::is_empty) {
        return Ok(None);
    }
    if before.is_some_and(|before| with_chords(Some(before)).ok().flatten().as_deref() == Some(text)) {
        return Ok(before.map(str::to_owned));
    }
    // A file that Claude Code cannot read has no effect. Repairing it is left to the user.
    let Ok(mut file) = JsonFile::parse(text) else { return Ok(None) };
    let Ok(list) = blocks(&file) else { return Ok(None) };
    let theirs = before.and_then(|before| Keybindings::parse(before).ok()).unwrap_or_default();
    let mut is_changed = false;
    let mut kept = Vec::new();
    for item in &list.items {
        match without_ours(&item.text, &theirs, added, &file) {
            None => kept.push(item.clone()),
            Some(left) => {
                is_changed = true;
                kept.extend(left.map(|text| Item { text, ..item.clone() }));
            }
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let is_all = kept.is_empty() && file.members.names().count() == 1;
    if is_all && before.is_none() {
        return Ok(Some(String::new()));
    }
    let list = list.with(kept).write(&file.style, 1);
    file.members.set(BINDINGS, list);
    Ok(Some(file.write()))
}

/// Returns what is left of a block: `None` if no binding in it was added, `Some(None)` if all were.
fn without_ours(
    block: &str,
    theirs: &Keybindings,
    added: Option<&[String]>,
    file: &JsonFile,
) -> Option<Option<String>> {
    let mut block = Object::parse(block)?;
    let context: String = serde_json::from_str(block.get("context").ok()??).ok()?;
    let mut bindings = Object::parse(block.get(BINDINGS).ok()??)?;
    let had = bindings.names().count();
    let is_ours = |chord: &str, action: &str| {
        let action: Option<String> = serde_json::from_str(action).ok();
        let of = |name: &str, chords: &[&'static str]| {
            action.as_deref() == Some(name)
                && Chord::parse(chord).is_some_and(|chord| match added {
                    Some(added) => added.contains(&chord.to_string()),
                    None => is_added(&chord, name, chords, theirs),
                })
        };
        of(SUBMIT, &SUBMIT_CHORDS) || of(STASH, &STASH_CHORDS)
    };
    bindings.retain(|chord, action| context != CONTEXT || !is_ours(chord, action));
    match bindings.names().count() {
        count if count == had => None,
        0 => Some(None),
        _ => {
            block.set(BINDINGS, bindings.write(&file.style, 3));
            Some(Some(block.write(&file.style, 2)))
        }
    }
}

/// Returns whether `chord` is one that `install` binds, and was not bound to `action` before.
fn is_added(chord: &Chord, action: &str, chords: &[&'static str], theirs: &Keybindings) -> bool {
    let name = chord.to_string();
    chords.iter().any(|ours| *ours == name) && theirs.bound(action, &[&name]) == BindingState::Missing
}

/// Returns whether a file binds one of `chords` to submit or stash.
fn binds_any(text: &str, chords: &[String]) -> bool {
    let Ok(keybindings) = Keybindings::parse(text) else { return false };
    let is_bound = |chord: &String, action| keybindings.bound(action, &[chord.as_str()]) != BindingState::Missing;
    chords.iter().any(|chord| is_bound(chord, SUBMIT) || is_bound(chord, STASH))
}

fn blocks(file: &JsonFile) -> Result<List, Refusal> {
    match file.members.get(BINDINGS)? {
        Some(list) => List::parse(list).ok_or_else(|| Refusal::shape(BINDINGS)),
        None => Ok(List::default()),
    }
}
