//! Settings that are lists of known names.

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// A value that a list in the configuration names.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// Returns its name, as it is written in the configuration.
    fn as_str(self) -> &'static str;

    /// Returns the value with the name `name`.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.as_str() == name)
    }
}

/// A list of known names, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceList<T>(pub Vec<T>);

impl<T> Default for ChoiceList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Choice> ChoiceList<T> {
    /// Returns whether the list contains a value.
    pub fn contains(&self, choice: T) -> bool {
        self.0.contains(&choice)
    }
}

impl<T: Choice> Setting for ChoiceList<T> {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let choice = |json: &Value| T::from_name(json.as_str()?.trim());
        let Some(named) = json.as_array().and_then(|items| items.iter().map(choice).collect::<Option<Vec<T>>>()) else {
            let names: Vec<String> = T::ALL.iter().map(|choice| format!("\"{}\"", choice.as_str())).collect();
            warnings.push(Warning::value(path, json, &format!("a list of {}", names.join(", ")), &default));
            return default;
        };
        let mut list = Vec::with_capacity(named.len());
        for choice in named {
            if !list.contains(&choice) {
                list.push(choice);
            }
        }
        Self(list)
    }

    fn schema(&self, about: &str) -> Value {
        let names: Vec<&str> = T::ALL.iter().map(|choice| choice.as_str()).collect();
        json!({
            "type": "array",
            "items": { "type": "string", "enum": names },
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|choice| choice.as_str()).collect()
    }
}
