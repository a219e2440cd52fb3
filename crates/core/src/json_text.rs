//! Changing a JSON file that a person has written: what is added is added, and every other byte stays.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// Adds a value at a path of keys, the objects on the way included; empty text counts as an empty object.
///
/// Returns `None` where there is something at the path already, or on the way to it; and where `text` is not the JSON of
/// an object.
pub fn insert(text: &str, path: &[&str], value: &Value) -> Option<String> {
    if text.trim().is_empty() {
        return Some(format!("{}\n", insert_at("{}", path, value, 2)?));
    }
    insert_at(text, path, value, 2)
}

fn insert_at(text: &str, path: &[&str], value: &Value, indent: usize) -> Option<String> {
    let (key, rest) = path.split_first()?;
    // Of two members with the same name the last counts, as it does wherever the file is read.
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    if let Some(member) = members.get(*key) {
        // A path that ends here would replace what is there.
        let changed = (!rest.is_empty()).then(|| insert_at(member.get(), rest, value, indent + 2))??;
        let start = offset(text, member.get());
        return Some(format!("{}{changed}{}", &text[..start], &text[start + member.get().len()..]));
    }
    let nested = rest.iter().rev().fold(value.clone(), |value, key| serde_json::json!({ *key: value }));
    let member = format!("{}: {}", Value::from(*key), pretty(&nested, indent));
    Some(append(text, text.trim_end().len().checked_sub(1)?, &member, indent))
}

/// Adds a member to the list or object of `text` that is closed at `end`.
pub fn append(text: &str, end: usize, member: &str, indent: usize) -> String {
    let before = text[..end].trim_end();
    let is_first = before.ends_with(['[', '{']);
    let comma = if is_first { "" } else { "," };
    let (inner, outer) = (" ".repeat(indent), " ".repeat(indent.saturating_sub(2)));
    format!("{before}{comma}\n{inner}{member}\n{outer}{}", &text[end..])
}

/// Returns where `part`, which is a part of `text`, begins in it.
pub fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Renders JSON as it stands in a file at so deep an indent.
pub fn pretty(value: &Value, indent: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", " ".repeat(indent)))
}
