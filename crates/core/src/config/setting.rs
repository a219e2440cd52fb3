//! How one value of the config is read, checked, described and printed.

use std::fmt;

use serde_json::{Value, json};

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

    fn unknown(path: &str) -> Self {
        Self { key: path.to_owned(), problem: "no such key: ignored".to_owned() }
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
}

/// A value, or a section of values, of the config.
pub trait Setting: Sized {
    /// Reads `json`, found at `path`; falls back to `default` with a warning.
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self;

    /// Returns its JSON Schema, with `self` as the default.
    fn schema(&self, about: &str) -> Value;

    /// Returns it as it would stand in a config file.
    fn to_json(&self) -> Value;

    /// Adds it to `keys`; a section adds what is in it.
    fn list(&self, path: &str, about: &str, keys: &mut Vec<Key>) {
        keys.push(Key { path: path.to_owned(), default: self.to_json(), about: about.to_owned() });
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Warns of every key of `json` that is not among `known`. `$schema` is welcome anywhere.
pub(super) fn warn_unknown(json: &Value, known: &[&str], path: &str, warnings: &mut Vec<Warning>) {
    for key in json.as_object().into_iter().flat_map(|entries| entries.keys()) {
        if !known.contains(&key.as_str()) && key != "$schema" {
            warnings.push(Warning::unknown(&join(path, key)));
        }
    }
}

impl Warning {
    /// A key that only a user may set.
    pub(super) fn not_for_a_project(path: &str) -> Self {
        Self { key: path.to_owned(), problem: "is for your own config, not for a project's: left out".to_owned() }
    }

    pub(super) fn not_a_section(path: &str) -> Self {
        Self { key: path.to_owned(), problem: "is not a JSON object: its defaults are in force".to_owned() }
    }
}

/// Declares a section: a struct whose fields each have a type, a default, a key and a description.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($field:ident: $type:ty = $default:expr, $key:literal, $about:literal;)*
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
                        Some(value) => Setting::read(value, default.$field, &setting::join(path, $key), warnings),
                        None => default.$field,
                    },)*
                }
            }

            fn schema(&self, about: &str) -> Value {
                json!({
                    "type": "object",
                    "description": about,
                    "additionalProperties": false,
                    "properties": { $($key: self.$field.schema($about),)* },
                })
            }

            fn to_json(&self) -> Value {
                json!({ $($key: self.$field.to_json(),)* })
            }

            fn list(&self, path: &str, _about: &str, keys: &mut Vec<Key>) {
                $(self.$field.list(&setting::join(path, $key), $about, keys);)*
            }
        }
    };
}

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

/// A finite number that is not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Amount(pub f64);

impl Amount {
    /// Returns the amount, taken as seconds, in milliseconds.
    pub fn seconds_as_millis(self) -> u64 {
        (self.0 * 1000.0) as u64
    }
}

impl Setting for Amount {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        number(json).map(Self).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "a number of 0 or more", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "description": about,
            "oneOf": [{ "type": "number", "minimum": 0 }, { "type": "string", "pattern": "^[0-9]+([.][0-9]+)?$" }],
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        whole_or_fraction(self.0)
    }
}

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl Setting for Share {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        number(json).filter(|share| *share <= 1.0).map(Self).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "a share between 0 and 1", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1, "description": about, "default": self.to_json() })
    }

    fn to_json(&self) -> Value {
        whole_or_fraction(self.0)
    }
}

/// One limit or several, each a share of a whole up to 1, and a number above.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits(pub Vec<f64>);

impl Setting for Limits {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let limit = |json: &Value| number(json).filter(|limit| *limit > 0.0);
        let limits = match json {
            Value::Array(items) => items.iter().map(limit).collect::<Option<Vec<f64>>>(),
            single => limit(single).map(|limit| vec![limit]),
        };
        limits.filter(|limits| !limits.is_empty()).map(Self).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "a number above 0, or a list of such", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        let limit = json!({ "type": "number", "exclusiveMinimum": 0 });
        json!({
            "description": about,
            "oneOf": [limit, { "type": "array", "items": limit, "minItems": 1 }],
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        match self.0.as_slice() {
            [single] => whole_or_fraction(*single),
            several => several.iter().copied().map(whole_or_fraction).collect(),
        }
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

/// A finite JSON number that is not negative, or a string that holds one.
fn number(json: &Value) -> Option<f64> {
    let number = match json {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn whole_or_fraction(number: f64) -> Value {
    if number.fract() == 0.0 && number < 9e15 { json!(number as u64) } else { json!(number) }
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
