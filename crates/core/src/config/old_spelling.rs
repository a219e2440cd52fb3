//! Keys as earlier versions spelled them. They still work, and `longhaul config check` names them.

use serde_json::{Map, Value, json};

use super::setting::{Warning, join};

/// Each renamed key: the section that it is in, its old spelling and its new one.
const RENAMED: [(&str, &str, &str); 9] = [
    ("bookmarks", "midTurn", "mid_turn"),
    ("bookmarks.thresholds", "minTokens", "min_tokens"),
    ("bookmarks.thresholds", "minToolCalls", "min_tool_calls"),
    ("bookmarks.thresholds", "minSeconds", "min_seconds"),
    ("bookmarks.thresholds", "agentBurstThreshold", "agent_burst_threshold"),
    ("bookmarks.thresholds", "cooldownSeconds", "cooldown_seconds"),
    ("guard", "compactPercent", "compact_percent"),
    ("guard", "denyPercent", "deny_percent"),
    ("guard", "compactCooldownSeconds", "compact_cooldown_seconds"),
];

/// Renames every old key of the configuration `json` to its new spelling, with a warning for each.
///
/// If a section has both spellings, the value of the new one stays.
pub(super) fn replace(json: &mut Value, warnings: &mut Vec<Warning>) {
    for (section, old, new) in RENAMED {
        let Some(entries) = section_mut(json, section) else { continue };
        let Some(value) = entries.remove(old) else { continue };
        let path = join(section, old);
        if entries.contains_key(new) {
            warnings.push(Warning::both_spellings(&path, old, new));
        } else {
            entries.insert(new.to_owned(), value);
            warnings.push(Warning::old_spelling(&path, old, new));
        }
    }
}

/// Returns the configuration `json` with every old key in its new spelling.
pub fn with_current_keys(mut json: Value) -> Value {
    replace(&mut json, &mut Vec::new());
    json
}

/// Adds the old keys to the JSON Schema of the configuration, marked as deprecated.
pub(super) fn describe(schema: &mut Value) {
    for (section, old, new) in RENAMED {
        let properties = section.split('.').try_fold(&mut *schema, |at, name| at.get_mut("properties")?.get_mut(name));
        let Some(Value::Object(properties)) = properties.and_then(|section| section.get_mut("properties")) else {
            continue;
        };
        let Some(mut described) = properties.get(new).cloned() else { continue };
        if let Some(described) = described.as_object_mut() {
            described.remove("default");
            described.insert("description".to_owned(), json!(format!("The old spelling of `{new}`")));
            described.insert("deprecated".to_owned(), json!(true));
        }
        properties.insert(old.to_owned(), described);
    }
}

/// Returns the object at `section`, such as `bookmarks.thresholds`, if there is one.
fn section_mut<'a>(json: &'a mut Value, section: &str) -> Option<&'a mut Map<String, Value>> {
    section.split('.').try_fold(json, |at, name| at.get_mut(name))?.as_object_mut()
}
