//! Settings that are one or several of a few names, and lists of hosts.

use serde_json::{Value, json};

use crate::config::limits::Loops;
use crate::config::setting::{Setting, Warning};

/// A value that has a name in the configuration.
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

/// Implements [`Setting`] for types whose values are a few names.
macro_rules! one_of_the_names {
    ($($type:ty),*) => { $(
        impl Setting for $type {
            fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
                json.as_str().and_then(Self::from_name).unwrap_or_else(|| {
                    let names: Vec<String> =
                        Self::ALL.iter().map(|choice| format!("\"{}\"", choice.as_str())).collect();
                    warnings.push(Warning::value(path, json, &format!("one of {}", names.join(", ")), &default));
                    default
                })
            }

            fn schema(&self, about: &str) -> Value {
                let names: Vec<&str> = Self::ALL.iter().map(|choice| choice.as_str()).collect();
                json!({ "type": "string", "enum": names, "description": about, "default": self.to_json() })
            }

            fn to_json(&self) -> Value {
                json!(self.as_str())
            }
        }
    )* };
}

one_of_the_names!(Loops);

/// What sessions are shown of the memory without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    /// The page, at the start of a session.
    Page,
    /// Passages that answer a prompt.
    Passages,
}

impl Choice for MemoryPart {
    const ALL: &'static [Self] = &[Self::Page, Self::Passages];

    fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Passages => "passages",
        }
    }
}

/// When bookmarks are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookmarksOn {
    /// Never, which is `false`.
    Never,
    /// When a turn has ended, and on request.
    TurnEnd,
    /// At any time, which is `true`.
    Always,
}

impl Setting for BookmarksOn {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        match (json.as_bool(), json.as_str()) {
            (Some(true), _) => Self::Always,
            (Some(false), _) => Self::Never,
            (None, Some("turn_end")) => Self::TurnEnd,
            (None, _) => {
                warnings.push(Warning::value(path, json, "true, false or \"turn_end\"", &default));
                default
            }
        }
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "enum": [true, false, "turn_end"], "description": about, "default": self.to_json() })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Never => json!(false),
            Self::TurnEnd => json!("turn_end"),
            Self::Always => json!(true),
        }
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

// The setting `view.hosts`: names of machines, which become arguments of `ssh`.

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
