//! Settings that are one or several of a few names, and lists of hosts.

use serde_json::{Value, json};

use crate::config::limits::Loops;
use crate::config::notify::{NotifyState, NotifyWay, OtherSession};
use crate::config::numbers::Range;
use crate::config::setting::SettingValue;
use crate::named;

/// A value that has a name in the configuration.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// Returns its name, as it is written in the configuration.
    fn as_str(self) -> &'static str;

    /// Returns the value with the name `name`.
    fn from_name(name: &str) -> Option<Self>;

    /// Returns the names of all values, for a schema.
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|choice| choice.as_str()).collect()
    }

    /// Returns the names of all values, for a message.
    fn quoted() -> String {
        Self::names().iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }
}

macro_rules! choices {
    ($($type:ty),*) => { $(
        impl Choice for $type {
            const ALL: &'static [Self] = &Self::ALL;

            fn as_str(self) -> &'static str {
                self.as_str()
            }

            fn from_name(name: &str) -> Option<Self> {
                Self::from_name(name)
            }
        }
    )* };
}

choices!(Loops, MemoryPart, NotifyState, NotifyWay, OtherSession);

impl SettingValue for Loops {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::from_name(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        format!("one of {}", Self::quoted())
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "enum": Self::names() })
    }

    fn written(&self) -> Value {
        json!(self.as_str())
    }
}

named! {
    /// What sessions are shown of the memory without asking.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MemoryPart {
        /// The page, at the start of a session.
        Page = "page",
        /// Passages that answer a prompt.
        Passages = "passages",
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

impl SettingValue for BookmarksOn {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        match (json.as_bool(), json.as_str()) {
            (Some(true), _) => Some(Self::Always),
            (Some(false), _) => Some(Self::Never),
            (None, Some("turn_end")) => Some(Self::TurnEnd),
            (None, _) => None,
        }
    }

    fn wanted(_: &Value, _: Range) -> String {
        "true, false or \"turn_end\"".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "enum": [true, false, "turn_end"] })
    }

    fn written(&self) -> Value {
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

impl<T: Choice> SettingValue for ChoiceList<T> {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        let mut list = Vec::new();
        for item in json.as_array()? {
            let choice = T::from_name(item.as_str()?.trim())?;
            if !list.contains(&choice) {
                list.push(choice);
            }
        }
        Some(Self(list))
    }

    fn wanted(_: &Value, _: Range) -> String {
        format!("a list of {}", T::quoted())
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "array", "items": { "type": "string", "enum": T::names() } })
    }

    fn written(&self) -> Value {
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

impl SettingValue for Hosts {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        let is_name = |name: &&str| {
            let is_plain = !name.chars().any(|c| c.is_control() || c.is_whitespace());
            is_plain && !name.is_empty() && !name.starts_with('-') && name.len() <= MAX_BYTES
        };
        let name = |json: &Value| json.as_str().filter(is_name).map(str::to_owned);
        let names = json.as_array().filter(|names| names.len() <= MAX_HOSTS)?;
        names.iter().map(name).collect::<Option<_>>().map(Self)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "a list of at most 20 host names without spaces that do not begin with -".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({
            "type": "array",
            "maxItems": MAX_HOSTS,
            "items": { "type": "string", "minLength": 1, "maxLength": MAX_BYTES, "pattern": r"^[^-\s\u0000-\u001f\u007f-\u009f][^\s\u0000-\u001f\u007f-\u009f]*$" },
        })
    }

    fn written(&self) -> Value {
        json!(self.0)
    }
}
