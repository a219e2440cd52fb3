//! The setting `view.hosts`: names of machines, which become arguments of `ssh`.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// The maximum number of hosts. Each has a thread and a connection.
const MAX_HOSTS: usize = 20;

/// The maximum length of a name, in bytes.
const MAX_BYTES: usize = 255;

/// Names of hosts, as `ssh` knows them.
///
/// None of them is empty, begins with `-`, which would make it an option of `ssh`, or contains white space or control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(pub Vec<String>);

impl Setting for Hosts {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let is_name = |name: &&str| {
            let is_plain = !name.chars().any(|c| c.is_control() || c.is_whitespace());
            is_plain && !name.is_empty() && !name.starts_with('-') && name.len() <= MAX_BYTES
        };
        let name = |json: &Value| json.as_str().filter(is_name).map(str::to_owned);
        let names = json.as_array().filter(|names| names.len() <= MAX_HOSTS);
        let names = names.and_then(|names| names.iter().map(name).collect::<Option<Vec<String>>>());
        names.map(Self).unwrap_or_else(|| {
            let wanted = "a list of at most 20 host names without spaces that do not begin with -";
            warnings.push(Warning::value(path, json, wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "array",
            "maxItems": MAX_HOSTS,
            "items": { "type": "string", "minLength": 1, "maxLength": MAX_BYTES, "pattern": r"^[^-\s\u0000-\u001f\u007f-\u009f][^\s\u0000-\u001f\u007f-\u009f]*$" },
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}
