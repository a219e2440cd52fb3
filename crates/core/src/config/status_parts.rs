//! What the line under the prompt shows.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// A part of the line under the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// How full the context is.
    Context,
    /// The bookmarks since the last prompt.
    Bookmarks,
    /// What the session was shown of earlier ones, at its start and for its prompts.
    Memory,
    /// Whether a handoff waits.
    Handoff,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::Context, Self::Bookmarks, Self::Memory, Self::Handoff];

    /// Returns its name, as it stands in the config.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Bookmarks => "bookmarks",
            Self::Memory => "memory",
            Self::Handoff => "handoff",
        }
    }
}

/// The parts of the line, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts(pub Vec<Part>);

impl Setting for Parts {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let part = |json: &Value| {
            let name = json.as_str()?.trim();
            Part::ALL.into_iter().find(|part| part.as_str() == name)
        };
        let parts = json.as_array().and_then(|items| items.iter().map(part).collect::<Option<Vec<Part>>>());
        parts.map(Self).unwrap_or_else(|| {
            let wanted = format!("a list of {}", Part::ALL.map(|part| format!("\"{}\"", part.as_str())).join(", "));
            warnings.push(Warning::value(path, json, &wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "array",
            "items": { "type": "string", "enum": Part::ALL.map(Part::as_str) },
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|part| part.as_str()).collect()
    }
}
