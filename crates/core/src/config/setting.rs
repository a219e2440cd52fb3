//! How one value of the config is read, checked, described and printed.

use std::fmt;

use serde_json::{Value, json};

use super::{numbers::Range, suggestion};

/// Something in the config that could not be used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The key, such as `bookmarks.thresholds.minTokens`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what is used instead.
    pub problem: String,
}

impl Warning {
    pub(super) fn whole_file(problem: &str) -> Self {
        Self { key: String::new(), problem: format!("{problem}: every default is in force") }
    }

    pub(super) fn value(path: &str, found: &Value, wanted: &str, default: &impl Setting) -> Self {
        let problem = format!("{found} is not {wanted}: the default {} is in force", default.to_json());
        Self { key: path.to_owned(), problem }
    }

    pub(super) fn left_out(path: &str, found: &Value, wanted: &str) -> Self {
        Self { key: path.to_owned(), problem: format!("{found} is not {wanted}: left out") }
    }

    pub(super) fn unknown(path: &str, meant: Option<&str>) -> Self {
        let hint = meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default();
        Self { key: path.to_owned(), problem: format!("no such key{hint}: ignored") }
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

/// A single value that can be set, for tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Its path, such as `bookmarks.thresholds.minTokens`.
    pub path: String,
    /// Its default.
    pub default: Value,
    /// What it does.
    pub about: String,
    /// Which numbers it may be; `None` where it is no number.
    pub range: Option<Range>,
}

/// A value, or a section of values, of the config.
pub trait Setting: Sized {
    /// Reads `json`, found at `path`; falls back to `default` with a warning.
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self;

    /// Returns its JSON Schema, with `self` as the default.
    fn schema(&self, about: &str) -> Value;

    /// Returns it as it would stand in a config file.
    fn to_json(&self) -> Value;

    /// Reads a number, which must lie in `range`; other types have no range and ignore it.
    fn read_in(_range: Range, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read(json, default, path, warnings)
    }

    /// Returns its JSON Schema, with the limits of `range` where it is a number.
    fn schema_in(&self, _range: Range, about: &str) -> Value {
        self.schema(about)
    }

    /// Adds it to `keys`; a section adds what is in it.
    fn list(&self, path: &str, about: &str, range: Option<Range>, keys: &mut Vec<Key>) {
        keys.push(Key { path: path.to_owned(), default: self.to_json(), about: about.to_owned(), range });
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Warns of every key of `json` that is not among `known`. `$schema` is welcome anywhere.
pub(super) fn warn_unknown(json: &Value, known: &[&str], path: &str, warnings: &mut Vec<Warning>) {
    for key in json.as_object().into_iter().flat_map(|entries| entries.keys()) {
        if !known.contains(&key.as_str()) && key != "$schema" {
            let meant = suggestion::nearest_key(key, known, path);
            warnings.push(Warning::unknown(&join(path, key), meant.as_deref()));
        }
    }
}

impl Warning {
    pub(super) fn not_a_section(path: &str) -> Self {
        Self { key: path.to_owned(), problem: "is not a JSON object: its defaults are in force".to_owned() }
    }
}

/// Declares a section: a struct whose fields each have a type, a default, a key and a description; a number has a
/// range besides.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($field:ident: $type:ty = $default:expr, $key:literal, $about:literal $(, $range:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
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
                setting::warn_unknown(json, &[$($key),*], path, warnings);
                Self {
                    $($field: match json.get($key) {
                        Some(value) => {
                            let path = setting::join(path, $key);
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
                    "properties": { $($key: match setting::range_of!($($range)?) {
                        Some(range) => self.$field.schema_in(range, $about),
                        None => self.$field.schema($about),
                    },)* },
                })
            }

            fn to_json(&self) -> Value {
                json!({ $($key: self.$field.to_json(),)* })
            }

            fn list(&self, path: &str, _about: &str, _range: Option<Range>, keys: &mut Vec<Key>) {
                $(self.$field.list(&setting::join(path, $key), $about, setting::range_of!($($range)?), keys);)*
            }
        }
    };
}

/// The range that a line of [`settings!`] declares, if any.
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

/// A text that is typed as one line, and recognised when it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(String);

impl Line {
    /// Returns `text` as a line, or `None` where the client would take it for something else.
    ///
    /// The client starts a command, a shell line, a memory, a file name or its help at `/`, `!`, `#`, `@` and `?`.
    pub fn new(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let usable = !trimmed.is_empty()
            && !trimmed.chars().any(char::is_control)
            && !trimmed.starts_with(['/', '!', '#', '@', '?']);
        usable.then(|| Self(trimmed.to_owned()))
    }

    /// Returns a text that is known to be fit.
    pub(super) fn of(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for Line {
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
