//! The setting `bridge.status`: what the line under the prompt may warn of. The status line of `longhaul statusline` is another
//! one.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// One part of the line under the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPart {
    /// The context is nearly full.
    Context,
    /// A handoff waits for the user's `/clear`.
    Handoff,
    /// Something that Longhaul cannot do in this session.
    Problems,
}

impl StatusPart {
    /// Every part.
    pub const ALL: [Self; 3] = [Self::Context, Self::Handoff, Self::Problems];

    /// Returns its name, as it is written in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Handoff => "handoff",
            Self::Problems => "problems",
        }
    }
}

/// The parts of the line, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusParts(pub Vec<StatusPart>);

impl Setting for StatusParts {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let part = |json: &Value| {
            let name = json.as_str()?.trim();
            StatusPart::ALL.into_iter().find(|part| part.as_str() == name)
        };
        let parts = json.as_array().and_then(|items| items.iter().map(part).collect::<Option<Vec<StatusPart>>>());
        parts.map(Self).unwrap_or_else(|| {
            let wanted =
                format!("a list of {}", StatusPart::ALL.map(|part| format!("\"{}\"", part.as_str())).join(", "));
            warnings.push(Warning::value(path, json, &wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "array",
            "items": { "type": "string", "enum": StatusPart::ALL.map(StatusPart::as_str) },
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|part| part.as_str()).collect()
    }
}
