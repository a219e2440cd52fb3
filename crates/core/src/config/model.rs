//! The section `memory.model`: which model writes summaries, and how it is called.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// How a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// By running `claude -p`.
    Claude,
    /// Through the Anthropic API, with the user's key.
    Api,
}

impl Via {
    /// Every variant.
    pub const ALL: [Self; 2] = [Self::Claude, Self::Api];

    /// Returns its name, as it is written in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Api => "api",
        }
    }
}

impl Setting for Via {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let found = json.as_str().and_then(|name| Self::ALL.into_iter().find(|via| via.as_str() == name));
        found.unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "\"claude\" or \"api\"", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "string",
            "enum": Self::ALL.map(Self::as_str),
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self.as_str())
    }
}

/// A model's id; empty for the default model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelId(String);

/// The maximum length of an id, in bytes.
const MAX_ID: usize = 200;

impl ModelId {
    /// Returns `text` as an id, or `None` if it is not a valid one.
    ///
    /// An id becomes an argument of a program, so it must not look like an option.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-._:/@[]".contains(c);
        let usable = text.len() <= MAX_ID && !text.starts_with('-') && text.chars().all(is_fit);
        usable.then(|| Self(text.to_owned()))
    }

    /// Returns the id, or `None` if none is set.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl Setting for ModelId {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        json.as_str().and_then(Self::new).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "a model's id", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "string",
            "pattern": r"^([A-Za-z0-9._:/@\[\]][A-Za-z0-9._:/@\[\]-]*)?$",
            "maxLength": MAX_ID,
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}
