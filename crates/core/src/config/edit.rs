//! Changes one value in the text of a configuration file, for `longhaul config set` and `unset`.

use serde_json::Value;

use super::{Config, Warning};
use crate::json_text::{self, JsonFile};

/// Returns the text of the configuration with the value `given` at `key`, and that value; `Err` says why it cannot be set.
///
/// `given` is read as JSON, or else as a text, whichever the key takes.
pub fn with_setting(text: Option<&str>, key: &str, given: &str) -> Result<(String, Value), String> {
    let text = editable(text)?;
    let json = serde_json::from_str(given).ok();
    let mut problem = String::new();
    for value in json.into_iter().chain([Value::from(given)]) {
        let new = json_text::set(text, &path(key), &value).ok_or_else(|| {
            format!("{key} has no place in it: a part of that key has another value, or is there twice")
        })?;
        match new_problem(text, &new) {
            None => return Ok((new, value)),
            // The first reading is the one that the user has probably meant.
            Some(found) if problem.is_empty() => problem = format!("{}: {}", found.key, found.wrong),
            Some(_) => {}
        }
    }
    Err(problem)
}

/// Returns the text of the configuration without the value at `key`; `Ok(None)` if it is not set there.
pub fn without_setting(text: Option<&str>, key: &str) -> Result<Option<String>, String> {
    let text = editable(text)?;
    if let Some(new) = json_text::remove(text, &path(key)) {
        return Ok(Some(new));
    }
    // A key that does not exist is a mistake, not a value that has its default.
    let with_key = json_text::set("", &path(key), &Value::Null).unwrap_or_default();
    let (_, warnings) = Config::from_json(&with_key);
    match warnings.into_iter().find(|warning| warning.is_unknown_key()) {
        Some(warning) => Err(format!("{}: {}", warning.key, warning.wrong)),
        None if is_set(text, key) => Err(format!("{key} is there twice: remove it by hand")),
        None => Ok(None),
    }
}

/// Returns the problem of a configuration that it did not have before a change.
pub fn new_problem(before: &str, after: &str) -> Option<Warning> {
    let (_, known) = Config::from_json(before);
    let (_, now) = Config::from_json(after);
    now.into_iter().find(|warning| !known.contains(warning))
}

fn is_set(text: &str, key: &str) -> bool {
    let json: Value = serde_json::from_str(json_text::without_byte_order_mark(text)).unwrap_or_default();
    json.pointer(&format!("/{}", path(key).join("/"))).is_some()
}

/// Returns the text, if it can be changed. A missing file is an empty object.
fn editable(text: Option<&str>) -> Result<&str, String> {
    let text = text.unwrap_or_default();
    JsonFile::parse(text).map(|_| text).map_err(|_| "it is not a JSON object: correct it first".to_owned())
}

/// Returns the parts of a key. What follows a known key is one part: a name of a model can contain dots.
fn path(key: &str) -> Vec<&str> {
    let keys = Config::keys();
    let known =
        keys.iter().find_map(|known| Some((known.path.len(), key.strip_prefix(&known.path)?.strip_prefix('.')?)));
    match known {
        Some((length, rest)) => key[..length].split('.').chain([rest]).collect(),
        None => key.split('.').collect(),
    }
}
