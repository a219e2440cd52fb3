//! How a value of the configuration is read, checked, described and printed; which texts may be typed.

use std::fmt;

use serde_json::{Value, json};

use super::{numbers::Range, suggestion};

/// A remark about a key of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The key, such as `bookmarks.thresholds.min_tokens`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what is used instead.
    pub problem: String,
    /// What is wrong.
    pub wrong: String,
}

/// How a warning about a key that does not exist begins.
const NO_SUCH_KEY: &str = "no such key";

impl Warning {
    fn unusable(key: &str, wrong: String, instead: &str) -> Self {
        let problem = format!("{wrong}: {instead}");
        Self { key: key.to_owned(), problem, wrong }
    }

    /// Returns whether it is about a key that does not exist.
    pub(super) fn is_unknown_key(&self) -> bool {
        self.wrong.starts_with(NO_SUCH_KEY)
    }

    pub(super) fn whole_file(wrong: &str) -> Self {
        Self::unusable("", wrong.to_owned(), "nothing is recorded and nothing is typed until it is corrected")
    }

    /// Returns whether it is about the whole file, of which nothing is in force.
    pub fn is_whole_file(&self) -> bool {
        self.key.is_empty()
    }

    /// Says what is in force in place of the value.
    pub(super) fn set_instead(&mut self, instead: &str) {
        self.problem = format!("{}: {instead}", self.wrong);
    }

    pub(super) fn not_a_section(path: &str) -> Self {
        Self::unusable(path, "is not a JSON object".to_owned(), "its defaults are in force")
    }

    pub(super) fn value(path: &str, found: &Value, wanted: &str, default: &impl Setting) -> Self {
        let instead = format!("the default {} is in force", default.to_json());
        Self::unusable(path, format!("{found} is not {wanted}"), &instead)
    }

    pub(super) fn left_out(path: &str, found: &Value, wanted: &str) -> Self {
        Self::unusable(path, format!("{found} is not {wanted}"), "left out")
    }

    pub(super) fn unknown(path: &str, meant: Option<&str>) -> Self {
        let hint = meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default();
        Self::unusable(path, format!("{NO_SUCH_KEY}{hint}"), "ignored")
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "config {}", self.problem)
        } else {
            write!(f, "{}: {}", self.key, self.problem)
        }
    }
}

/// A value that can be set, as tables show it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Key {
    /// Its path, such as `bookmarks.thresholds.min_tokens`.
    pub path: String,
    /// Its default.
    pub default: Value,
    /// What it does.
    pub about: String,
    /// Which numbers it may be; `None` if it is not a number.
    pub range: Option<Range>,
}

/// A value, or a section of values, of the configuration.
pub trait Setting: Sized {
    /// The numbers that a value of this type may be, unless its setting declares other ones; `None` if it is not a number.
    const RANGE: Option<Range> = None;

    /// Reads `json`, found at `path`; falls back to `default` with a warning.
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self;

    /// Returns its JSON Schema, with `self` as the default.
    fn schema(&self, about: &str) -> Value;

    /// Returns the value as it is written in a configuration file.
    fn to_json(&self) -> Value;

    /// Reads a number, which must lie in `range`; other types have no range and ignore it.
    fn read_in(_range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read(json, default, path, warnings)
    }

    /// Returns its JSON Schema, with the limits of `range` where it is a number.
    fn schema_in(&self, _range: Range, about: &str) -> Value {
        self.schema(about)
    }

    /// Adds the value to `keys`; a section adds every value in it.
    fn list(&self, path: &str, about: &str, range: Option<Range>, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            default: self.to_json(),
            about: about.to_owned(),
            range: range.or(Self::RANGE),
        });
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Adds a warning for every key of `json` that is not among `known`. `$schema` is allowed in every section.
pub(super) fn warn_unknown(json: &Value, known: &[&str], path: &str, warnings: &mut Vec<Warning>) {
    for key in json.as_object().into_iter().flat_map(|entries| entries.keys()) {
        if !known.contains(&key.as_str()) && key != "$schema" {
            let meant = suggestion::nearest_key(key, known, path);
            warnings.push(Warning::unknown(&join(path, key), meant.as_deref()));
        }
    }
}

/// Declares a section: a struct whose fields each have a type, a default and a description. A number may have a
/// range other than that of its type.
///
/// The key of a value is the name of its field.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($field:ident: $type:ty = $default:expr, $about:literal $(, $range:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(#[doc = concat!($about, ".")] pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::config::Setting for $name {
            fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
                if !json.is_object() {
                    warnings.push(Warning::not_a_section(path));
                    return default;
                }
                setting::warn_unknown(json, &[$(stringify!($field)),*], path, warnings);
                Self {
                    $($field: match json.get(stringify!($field)) {
                        Some(value) => {
                            let path = setting::join(path, stringify!($field));
                            match setting::range_of!($($range)?) {
                                Some(range) => Setting::read_in(range, value, default.$field, &path, warnings),
                                None => Setting::read(value, default.$field, &path, warnings),
                            }
                        }
                        None => default.$field,
                    },)*
                }
            }

            fn schema(&self, about: &str) -> Value {
                json!({
                    "type": "object",
                    "description": about,
                    "additionalProperties": false,
                    "properties": { $(stringify!($field): match setting::range_of!($($range)?) {
                        Some(range) => self.$field.schema_in(range, $about),
                        None => self.$field.schema($about),
                    },)* },
                })
            }

            fn to_json(&self) -> Value {
                json!({ $(stringify!($field): self.$field.to_json(),)* })
            }

            fn list(&self, path: &str, _about: &str, _range: Option<Range>, keys: &mut Vec<Key>) {
                $(self.$field.list(&setting::join(path, stringify!($field)), $about, setting::range_of!($($range)?), keys);)*
            }
        }
    };
}

/// Returns the range that a line of [`settings!`] declares, if any.
macro_rules! range_of {
    () => {
        None::<Range>
    };
    ($range:expr) => {
        Some($range)
    };
}

pub(super) use range_of;
pub(super) use settings;

impl Setting for bool {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        json.as_bool().unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "true or false", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "type": "boolean", "description": about, "default": self })
    }

    fn to_json(&self) -> Value {
        json!(self)
    }
}

/// A list of names or patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// Returns the list whose only pattern matches everything.
    pub(super) fn everything() -> Self {
        Self(vec!["*".to_owned()])
    }
}

impl Setting for Names {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let name = |json: &Value| json.as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let names = json.as_array().and_then(|items| items.iter().map(name).collect::<Option<Vec<String>>>());
        names.map(Self).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "a list of texts", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

/// A text that can be typed into Claude Code as one line and is submitted as a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneLineText(String);

impl OneLineText {
    /// Returns `text` without surrounding spaces, or `None` if Claude Code would not take it for a prompt.
    ///
    /// `/`, `!`, `#`, `@` and `?` start a command, a shell command, a memory, a file name and the help.
    pub fn new(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let usable = !trimmed.is_empty()
            && !trimmed.chars().any(char::is_control)
            && !trimmed.starts_with(['/', '!', '#', '@', '?']);
        usable.then(|| Self(trimmed.to_owned()))
    }

    /// Returns `text`, which must be one that [`Self::new`] accepts.
    pub(super) fn of(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for OneLineText {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        json.as_str().and_then(Self::new).unwrap_or_else(|| {
            let wanted = "a text without control characters that does not start with /, !, #, @ or ?";
            warnings.push(Warning::value(path, json, wanted, &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "type": "string", "pattern": r"^[^/!#@?\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$", "description": about, "default": self.to_json() })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}
