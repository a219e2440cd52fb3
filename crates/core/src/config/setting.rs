//! How a value of the configuration is read, checked, described, changed and printed, and where it comes from; which texts
//! may be typed.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::config::numbers::Range;
use crate::config::{Config, ProjectReading, Trust, Verdict};
use crate::json_text::{self, JsonFile, without_byte_order_mark};
use crate::named;

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

    pub(super) fn value(path: &str, found: &Value, wanted: &str, default: &Value) -> Self {
        let instead = format!("the default {default} is in force");
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
    /// Reads `json`, found at `path`; falls back to `default` with a warning. A number must lie in `range`, if there is one.
    fn read(range: Option<Range>, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self;

    /// Returns its JSON Schema, with `self` as the default.
    fn schema(&self, range: Option<Range>, about: &str) -> Value;

    /// Returns the value as it is written in a configuration file.
    fn to_json(&self) -> Value;

    /// Adds the value to `keys`; a section adds every value in it.
    fn list(&self, path: &str, about: &str, range: Option<Range>, keys: &mut Vec<Key>);
}

/// A value of the configuration.
pub trait SettingValue: Sized {
    /// The numbers that a value of this type may be, unless its setting declares other ones; `None` if it is not a number.
    const RANGE: Option<Range> = None;

    /// Returns the value that `json` is; `None` if it is not one.
    fn parse(json: &Value, range: Range) -> Option<Self>;

    /// Returns what `json`, which is not a value, should have been.
    fn wanted(json: &Value, range: Range) -> String;

    /// Returns the JSON Schema of the type.
    fn kind(range: Range) -> Value;

    /// Returns the value as it is written in a configuration file.
    fn written(&self) -> Value;

    /// Reads `json` as [`Setting::read`] does.
    fn read_over(json: &Value, range: Range, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::parse(json, range).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, &Self::wanted(json, range), &default.written()));
            default
        })
    }
}

impl<T: SettingValue> Setting for T {
    fn read(range: Option<Range>, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        Self::read_over(json, range.or(T::RANGE).unwrap_or(Range::ANY), default, path, warnings)
    }

    fn schema(&self, range: Option<Range>, about: &str) -> Value {
        let mut schema = Self::kind(range.or(T::RANGE).unwrap_or(Range::ANY));
        schema["description"] = json!(about);
        schema["default"] = self.written();
        schema
    }

    fn to_json(&self) -> Value {
        self.written()
    }

    fn list(&self, path: &str, about: &str, range: Option<Range>, keys: &mut Vec<Key>) {
        let (default, range) = (self.written(), range.or(T::RANGE));
        keys.push(Key { path: path.to_owned(), default, about: about.to_owned(), range });
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Adds a warning for every key of `json` that is not among `known`. `$schema` is allowed in every section.
pub(super) fn warn_unknown(json: &Value, known: &[&str], path: &str, warnings: &mut Vec<Warning>) {
    for key in json.as_object().into_iter().flat_map(|entries| entries.keys()) {
        if !known.contains(&key.as_str()) && key != "$schema" {
            let meant = nearest_key(key, known, path);
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
            fn read(_: Option<Range>, json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
                if !json.is_object() {
                    warnings.push(Warning::not_a_section(path));
                    return default;
                }
                setting::warn_unknown(json, &[$(stringify!($field)),*], path, warnings);
                Self {
                    $($field: match json.get(stringify!($field)) {
                        Some(value) => {
                            let path = setting::join(path, stringify!($field));
                            Setting::read(setting::range_of!($($range)?), value, default.$field, &path, warnings)
                        }
                        None => default.$field,
                    },)*
                }
            }

            fn schema(&self, _: Option<Range>, about: &str) -> Value {
                json!({
                    "type": "object",
                    "description": about,
                    "additionalProperties": false,
                    "properties": {
                        $(stringify!($field): self.$field.schema(setting::range_of!($($range)?), $about),)*
                    },
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

impl SettingValue for bool {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        json.as_bool()
    }

    fn wanted(_: &Value, _: Range) -> String {
        "true or false".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "boolean" })
    }

    fn written(&self) -> Value {
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

impl SettingValue for Names {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        let name = |json: &Value| json.as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        json.as_array()?.iter().map(name).collect::<Option<_>>().map(Self)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "a list of texts".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
    }

    fn written(&self) -> Value {
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

impl SettingValue for OneLineText {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::new(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "a text without control characters that does not start with /, !, #, @ or ?".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "pattern": r"^[^/!#@?\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$" })
    }

    fn written(&self) -> Value {
        json!(self.0)
    }
}

// Finds a key that a JSON object has twice: readers differ in which of its values counts.

/// JSON in which no object has a key twice. Reading it is an error otherwise.
pub(super) struct WithoutRepeatedKeys;

impl<'de> Deserialize<'de> for WithoutRepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

/// Accepts values without members.
macro_rules! accept {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E: de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok(WithoutRepeatedKeys)
        }
    )*};
}

impl<'de> Visitor<'de> for Keys {
    type Value = WithoutRepeatedKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    accept!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(WithoutRepeatedKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<WithoutRepeatedKeys>()?.is_some() {}
        Ok(WithoutRepeatedKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            keys.insert(key);
            members.next_value::<WithoutRepeatedKeys>()?;
        }
        Ok(WithoutRepeatedKeys)
    }
}

// Finds the key that was probably meant by a mistyped one.

/// Returns the path of the key that was probably meant by `typed`, which was found in the section at `path`.
///
/// `siblings` are the keys of that section. A sibling that differs only in case or separators is preferred, then a key of
/// another section that does and is the only one, then the sibling with the fewest typos.
pub(super) fn nearest_key(typed: &str, siblings: &[&str], path: &str) -> Option<String> {
    let wanted = plain(typed);
    let near = siblings.iter().map(|key| (distance(&wanted, &plain(key)), *key));
    let nearest = near.filter(|(distance, key)| *distance <= most_typos(&wanted, key)).min();
    let same_name = |path: &String| path.rsplit('.').next().is_some_and(|name| plain(name) == wanted);
    let mut elsewhere = Config::keys().into_iter().map(|key| key.path).filter(same_name);
    // A name that several sections have, such as `enabled`, is ambiguous.
    let elsewhere = elsewhere.next().filter(|_| elsewhere.next().is_none());
    match nearest {
        Some((typos, key)) if typos == 0 || elsewhere.is_none() => Some(join(path, key)),
        Some(_) | None => elsewhere,
    }
}

/// Returns how many typos `typed` may have to still count as `key`: a third of its length, at least one.
fn most_typos(typed: &str, key: &str) -> usize {
    (typed.chars().count().min(key.chars().count()) / 3).max(1)
}

/// Returns a key without case and separators: `maxRounds`, `max_rounds` and `max-rounds` are the same then.
fn plain(key: &str) -> String {
    // No key is longer than this.
    let letters = key.chars().take(100).filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns how many characters must be added, removed, replaced or swapped with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(from != to);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

// Changes one value in the text of a configuration file, for `longhaul config set` and `unset`.

/// Returns the text of the configuration with the value `given` at `key`, and that value; `Err` says why it cannot be set.
///
/// `given` is read as JSON, or else as a text, whichever the key takes.
pub fn with_setting(text: Option<&str>, key: &str, given: &str) -> Result<(String, Value), String> {
    let text = editable(text)?;
    let json = serde_json::from_str(given).ok();
    let mut problem = String::new();
    for value in json.into_iter().chain([Value::from(given)]) {
        let new = json_text::set(text, &path(key), &value).ok_or_else(|| {
            format!("{key} has no place in it: a part of that key has another value, or is there twice")
        })?;
        match new_problem(text, &new) {
            None => return Ok((new, value)),
            // The first reading is the one that the user has probably meant.
            Some(found) if problem.is_empty() => problem = format!("{}: {}", found.key, found.wrong),
            Some(_) => {}
        }
    }
    Err(problem)
}

/// Returns the text of the configuration without the value at `key`; `Ok(None)` if it is not set there.
pub fn without_setting(text: Option<&str>, key: &str) -> Result<Option<String>, String> {
    let text = editable(text)?;
    if let Some(new) = json_text::remove(text, &path(key)) {
        return Ok(Some(new));
    }
    // A key that does not exist is a mistake, not a value that has its default.
    let with_key = json_text::set("", &path(key), &Value::Null).unwrap_or_default();
    let (_, warnings) = Config::from_json(&with_key);
    match warnings.into_iter().find(|warning| warning.is_unknown_key()) {
        Some(warning) => Err(format!("{}: {}", warning.key, warning.wrong)),
        None if is_set(text, key) => Err(format!("{key} is there twice: remove it by hand")),
        None => Ok(None),
    }
}

/// Returns the problem of a configuration that it did not have before a change.
pub fn new_problem(before: &str, after: &str) -> Option<Warning> {
    let (_, known) = Config::from_json(before);
    let (_, now) = Config::from_json(after);
    now.into_iter().find(|warning| !known.contains(warning))
}

fn is_set(text: &str, key: &str) -> bool {
    let json: Value = serde_json::from_str(json_text::without_byte_order_mark(text)).unwrap_or_default();
    json.pointer(&format!("/{}", path(key).join("/"))).is_some()
}

/// Returns the text, if it can be changed. A missing file is an empty object.
fn editable(text: Option<&str>) -> Result<&str, String> {
    let text = text.unwrap_or_default();
    JsonFile::parse(text).map(|_| text).map_err(|_| "it is not a JSON object: correct it first".to_owned())
}

/// Returns the parts of a key. What follows a known key is one part: a name of a model can contain dots.
fn path(key: &str) -> Vec<&str> {
    let keys = Config::keys();
    let known =
        keys.iter().find_map(|known| Some((known.path.len(), key.strip_prefix(&known.path)?.strip_prefix('.')?)));
    match known {
        Some((length, rest)) => key[..length].split('.').chain([rest]).collect(),
        None => key.split('.').collect(),
    }
}

// Where each value in force comes from.

named! {
    /// Where a value comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Origin {
        /// It is not set: the default is in force.
        Default = "default",
        /// The user's configuration file.
        User = "user",
        /// The project's `.claude/longhaul.json`.
        Project = "project",
    }
}

/// A value in force.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explained {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong with the value in the user's file.
    pub problem: Option<String>,
    /// The value in the project's file that is not in force, and the reason.
    pub refused: Option<(Value, String)>,
}

/// A configuration with the origin of each of its values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The configuration in force.
    pub config: Config,
    /// Each of its values.
    pub values: Vec<Explained>,
    /// What is wrong with the user's file.
    pub warnings: Vec<Warning>,
    /// The project's file, if there is one.
    pub project: Option<ProjectReading>,
}

/// Returns the configuration that the given files make, with the origin of each value. A file that does not exist is `None`.
pub fn explain(user: Option<&str>, project: Option<(&str, Trust)>) -> Explanation {
    let (own, warnings) = user.map_or_else(Default::default, Config::from_json);
    let file: Value =
        user.and_then(|text| serde_json::from_str(without_byte_order_mark(text)).ok()).unwrap_or_default();
    let project = project.map(|(text, trust)| own.with_project(text, trust));
    let config = project.as_ref().map_or_else(|| own.clone(), |project| project.config.clone());
    let in_force = config.to_json();
    let values = Config::keys().into_iter().map(|key| {
        let pointer = format!("/{}", key.path.replace('.', "/"));
        let asked = project.iter().flat_map(|project| &project.values).find(|value| value.key == key.path);
        let problem = warnings.iter().find(|warning| warning.key == key.path).map(|warning| warning.problem.clone());
        let refused = asked.and_then(|asked| match &asked.verdict {
            Verdict::InForce => None,
            Verdict::NeedsTrust(why) | Verdict::Refused(why) => Some((asked.asked.clone(), why.clone())),
        });
        let origin = match (asked, file.pointer(&pointer)) {
            (Some(asked), _) if asked.verdict == Verdict::InForce => Origin::Project,
            (_, Some(_)) if problem.is_none() => Origin::User,
            _ => Origin::Default,
        };
        let value = in_force.pointer(&pointer).cloned().unwrap_or_default();
        Explained { key: key.path, value, origin, problem, refused }
    });
    Explanation { values: values.collect(), config, warnings, project }
}

#[cfg(test)]
mod tests {
    use super::{distance, most_typos};

    #[test]
    fn a_typo_is_a_character_added_removed_replaced_or_swapped() {
        for (a, b, typos) in [
            ("rounds", "rounds", 0),
            ("ronds", "rounds", 1),
            ("roundss", "rounds", 1),
            ("rounts", "rounds", 1),
            ("ruonds", "rounds", 1),
            ("ronuds", "rounds", 1),
            ("runods", "rounds", 2),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "xyz", 3),
            ("abcd", "badc", 2),
        ] {
            assert_eq!(distance(a, b), typos, "{a:?} and {b:?}");
        }
    }

    #[test]
    fn a_third_of_a_word_may_be_mistyped() {
        assert_eq!(
            [("ab", "abc"), ("abcdef", "abcdefgh"), ("abcdefghijk", "abcdefghi")].map(|(a, b)| most_typos(a, b)),
            [1, 2, 3]
        );
    }
}
