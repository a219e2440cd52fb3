//! Editing JSON files that belong to the user: every byte that is not part of the change stays as it is.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

/// Returns `text` without a leading byte-order mark, which some editors write and JSON does not allow.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Parses the bytes of a JSON file, which may begin with a byte-order mark.
pub fn from_file<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Returns `text` with `value` added at `path`, a list of nested keys. Missing objects on the path are created.
///
/// Empty text counts as an empty object. Returns `None` where the path already has a value, where a key on the path has a
/// value that is not an object, and where `text` is not a JSON object.
pub fn insert(text: &str, path: &[&str], value: &Value) -> Option<String> {
    put(text, path, value, IfSet::Keep)
}

/// Returns `text` with `value` at `path`, like [`insert`], in place of a value that is already there.
pub fn set(text: &str, path: &[&str], value: &Value) -> Option<String> {
    put(text, path, value, IfSet::Replace)
}

/// Returns `text` without the value at `path`, and without objects on the path that hold nothing else.
///
/// Returns `None` where the path has no value, where two members on it have the same name, and where `text` is not a JSON
/// object.
pub fn remove(text: &str, path: &[&str]) -> Option<String> {
    let mut file = JsonFile::parse(text).ok()?;
    file.members = remove_from(file.members, path, &file.style, 0)?;
    Some(file.write())
}

fn remove_from(mut object: Object, path: &[&str], style: &Style, depth: usize) -> Option<Object> {
    let (key, rest) = path.split_first()?;
    let member = object.get(key).ok()??;
    let left = if rest.is_empty() { None } else { Some(remove_from(Object::parse(member)?, rest, style, depth + 1)?) };
    match left.filter(|left| !left.is_empty()) {
        Some(left) => object.set(key, left.write(style, depth + 1)),
        None => object.retain(|name, _| name != *key),
    }
    Some(object)
}

/// What happens to a value that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfSet {
    Keep,
    Replace,
}

fn put(text: &str, path: &[&str], value: &Value, if_set: IfSet) -> Option<String> {
    let mut file = JsonFile::parse(text).ok()?;
    file.members = put_into(file.members, path, value, if_set, (&file.style, 0))?;
    Some(file.write())
}

fn put_into(
    mut object: Object,
    path: &[&str],
    value: &Value,
    if_set: IfSet,
    (style, depth): (&Style, usize),
) -> Option<Object> {
    let (key, rest) = path.split_first()?;
    let member = match object.get(key).ok()? {
        Some(member) if !rest.is_empty() => {
            put_into(Object::parse(member)?, rest, value, if_set, (style, depth + 1))?.write(style, depth + 1)
        }
        Some(_) if if_set == IfSet::Keep => return None,
        Some(_) | None => {
            let nested = rest.iter().rev().fold(value.clone(), |value, key| serde_json::json!({ *key: value }));
            style.write(&nested, depth + 1)
        }
    };
    object.set(key, member);
    Some(object)
}

/// Why a file cannot be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotEditable {
    /// It is not JSON: it has comments, is cut off, or has another format.
    #[error("it is not JSON")]
    NotJson,
    /// It is JSON, but not an object.
    #[error("it is JSON, but not an object")]
    NotObject,
}

/// A JSON file that holds one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFile {
    /// The members of the object.
    pub members: Object,
    /// The layout of the file.
    pub style: Style,
    start: String,
    end: String,
}

impl JsonFile {
    /// Parses the text of a file; an empty file counts as an empty object.
    pub fn parse(text: &str) -> Result<Self, NotEditable> {
        let (file, text) = (text, without_byte_order_mark(text));
        let mark = &file[..file.len() - text.len()];
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let start = format!("{mark}{}", &text[..text.len() - text.trim_start().len()]);
        let end = text[text.trim_end().len()..].to_owned();
        let is_json = || serde_json::from_str::<Value>(text).is_ok();
        let reason = || if is_json() { NotEditable::NotObject } else { NotEditable::NotJson };
        Ok(Self { members: Object::parse(text).ok_or_else(reason)?, style: Style::of(text), start, end })
    }

    /// Returns the file's text.
    pub fn write(&self) -> String {
        format!("{}{}{}", self.start, self.members.write(&self.style, 0), self.end)
    }
}

/// The layout of a JSON file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// Everything in one line.
    Compact,
    /// One member per line; each level is indented by this text.
    Lines(String),
}

impl Style {
    /// Returns the layout of `text`, with the indentation of its first indented line.
    pub fn of(text: &str) -> Self {
        if text.trim().len() > 2 && !text.trim().contains('\n') {
            return Self::Compact;
        }
        let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
        let indent = indents.into_iter().find(|indent| !indent.is_empty());
        Self::Lines(indent.unwrap_or("  ").to_owned())
    }

    /// Returns the text of `value`, written `depth` levels deep.
    pub fn write(&self, value: &Value, depth: usize) -> String {
        let Self::Lines(indent) = self else { return value.to_string() };
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(indent.as_bytes()));
        // Writing a JSON value to memory cannot fail.
        let _ = value.serialize(&mut serializer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{}", indent.repeat(depth)))
    }

    /// Joins items between two brackets. An item that was in the file keeps the text that stood before it.
    fn enclose(&self, (open, close): (char, char), items: &[Item], end: Option<&str>, depth: usize) -> String {
        let (inner, outer) = match self {
            Self::Compact => (String::new(), String::new()),
            Self::Lines(indent) => (format!("\n{}", indent.repeat(depth + 1)), format!("\n{}", indent.repeat(depth))),
        };
        if items.is_empty() {
            return format!("{open}{close}");
        }
        let mut text = String::from(open);
        for (at, item) in items.iter().enumerate() {
            let before = item.before.as_deref().unwrap_or(&inner);
            match (at, before.contains(',')) {
                (0, true) => text.push_str(&before.replacen(',', "", 1)),
                (0, false) | (_, true) => text.push_str(before),
                (_, false) => text.extend([",", before]),
            }
            text.push_str(&item.text);
        }
        text.push_str(end.unwrap_or(&outer));
        text.push(close);
        text
    }
}

/// An item of a list (a value) or of an object (a name and a value).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The text between it and the item before, including the comma; `None` for a new item.
    pub before: Option<String>,
    /// The text of the item.
    pub text: String,
}

impl Item {
    /// Creates a new item.
    pub fn new(text: String) -> Self {
        Self { before: None, text }
    }
}

/// The members of an object, in their order, including duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    members: Vec<Member>,
    /// The text after the last member; `None` where the object was empty.
    end: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    /// The text between it and the member before; `None` for a new member.
    before: Option<String>,
    /// The name as it is written in the file, with the colon and the white space around it; `None` for a new member.
    head: Option<String>,
    value: String,
}

impl Object {
    /// Parses an object; returns `None` where `text` is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let found = deserializer.deserialize_map(Members).ok()?;
        deserializer.end().ok()?;
        let mut members = Vec::new();
        let mut at = text.find('{')? + 1;
        for (name, raw) in found {
            let start = offset(text, raw.get());
            let gap = &text[at..start];
            // Only white space and a comma can stand before a name.
            let quote = gap.find('"')?;
            let (before, head) = (Some(gap[..quote].to_owned()), Some(gap[quote..].to_owned()));
            at = start + raw.get().len();
            members.push(Member { name, before, head, value: raw.get().to_owned() });
        }
        let end = (!members.is_empty()).then(|| text[at..].trim_end().trim_end_matches('}').to_owned());
        Some(Self { members, end })
    }

    /// Returns the names of the members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// Returns whether the object has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the text of a member; `Err` where two members have that name, because programs differ in which one they use.
    pub fn get(&self, name: &str) -> Result<Option<&str>, DuplicateName> {
        let mut found = self.members.iter().filter(|member| member.name == name).map(|member| member.value.as_str());
        let first = found.next();
        if found.next().is_some() { Err(DuplicateName(name.to_owned())) } else { Ok(first) }
    }

    /// Replaces the value of a member, or adds the member at the end.
    pub fn set(&mut self, name: &str, value: String) {
        match self.members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.value = value,
            None => self.members.push(Member { name: name.to_owned(), before: None, head: None, value }),
        }
    }

    /// Keeps the members for which `keep` returns `true`, given the name and the text of the value.
    pub fn retain(&mut self, keep: impl Fn(&str, &str) -> bool) {
        self.members.retain(|member| keep(&member.name, &member.value));
    }

    /// Returns the text of the object, written `depth` levels deep.
    pub fn write(&self, style: &Style, depth: usize) -> String {
        let colon = if *style == Style::Compact { ":" } else { ": " };
        let items = self.members.iter().map(|member| {
            let head = member.head.clone().unwrap_or_else(|| format!("{}{colon}", Value::from(member.name.as_str())));
            Item { before: member.before.clone(), text: format!("{head}{}", member.value) }
        });
        style.enclose(('{', '}'), &items.collect::<Vec<_>>(), self.end.as_deref(), depth)
    }
}

/// Returns the offset of `part`, which must be a slice of `text`.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The items of a JSON list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// The items, in their order.
    pub items: Vec<Item>,
    /// The text after the last item; `None` where the list was empty.
    end: Option<String>,
}

impl List {
    /// Parses a list; returns `None` where `text` is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let found: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let mut items = Vec::new();
        let mut at = text.find('[')? + 1;
        for raw in found {
            let start = offset(text, raw.get());
            items.push(Item { before: Some(text[at..start].to_owned()), text: raw.get().to_owned() });
            at = start + raw.get().len();
        }
        let end = (!items.is_empty()).then(|| text[at..].trim_end().trim_end_matches(']').to_owned());
        Some(Self { items, end })
    }

    /// Returns a list with `items`, laid out like this one.
    pub fn with(&self, items: Vec<Item>) -> Self {
        Self { items, end: self.end.clone() }
    }

    /// Returns the text of the list, written `depth` levels deep.
    pub fn write(&self, style: &Style, depth: usize) -> String {
        style.enclose(('[', ']'), &self.items, self.end.as_deref(), depth)
    }
}

/// The name that two members of an object have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two members are named {0:?}")]
pub struct DuplicateName(pub String);

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, raw)) = map.next_entry::<String, &RawValue>()? {
            members.push((name, raw));
        }
        Ok(members)
    }
}
