//! JSON that belongs to somebody: every value stays the text that it is, unless it is ours to change.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

/// Returns a text without the byte-order mark that some editors begin a file with, and that JSON has no place for.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads JSON from a file's bytes, which may begin with a byte-order mark.
pub fn from_file<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Adds a value at a path of keys, the objects on the way included; empty text counts as an empty object.
///
/// Returns `None` where there is something at the path already, or on the way to it; and where `text` is not the JSON of
/// an object.
pub fn insert(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let mut file = JsonFile::parse(text).ok()?;
    file.members = insert_into(file.members, path, value, &file.style, 0)?;
    Some(file.write())
}

fn insert_into(mut object: Object, path: &[&str], value: &Value, style: &Style, depth: usize) -> Option<Object> {
    let (key, rest) = path.split_first()?;
    let member = match object.get(key).ok()? {
        // A path that ends here would replace what is there.
        Some(_) if rest.is_empty() => return None,
        Some(member) => insert_into(Object::parse(member)?, rest, value, style, depth + 1)?.write(style, depth + 1),
        None => {
            let nested = rest.iter().rev().fold(value.clone(), |value, key| serde_json::json!({ *key: value }));
            style.write(&nested, depth + 1)
        }
    };
    object.set(key, member);
    Some(object)
}

/// Why a file's text is not one that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has comments, is cut short, or is something else.
    NotJson,
    /// It is JSON, and not an object.
    NotObject,
}

/// A file that holds one object, while it is being changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFile {
    /// What is in the object.
    pub members: Object,
    /// How it is laid out.
    pub style: Style,
    start: String,
    end: String,
}

impl JsonFile {
    /// Reads a file's text; one without any counts as an empty object.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let (file, text) = (text, without_byte_order_mark(text));
        let mark = &file[..file.len() - text.len()];
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let start = format!("{mark}{}", &text[..text.len() - text.trim_start().len()]);
        let end = text[text.trim_end().len()..].to_owned();
        let is_json = || serde_json::from_str::<Value>(text).is_ok();
        let unfit = || if is_json() { Unfit::NotObject } else { Unfit::NotJson };
        Ok(Self { members: Object::parse(text).ok_or_else(unfit)?, style: Style::of(text), start, end })
    }

    /// Returns the file's text.
    pub fn write(&self) -> String {
        format!("{}{}{}", self.start, self.members.write(&self.style, 0), self.end)
    }
}

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// All in one line.
    Compact,
    /// A member a line, each level indented by this.
    Lines(String),
}

impl Style {
    /// Returns the layout of `text`: that of its first indented line.
    pub fn of(text: &str) -> Self {
        if text.trim().len() > 2 && !text.trim().contains('\n') {
            return Self::Compact;
        }
        let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
        let indent = indents.into_iter().find(|indent| !indent.is_empty());
        Self::Lines(indent.unwrap_or("  ").to_owned())
    }

    /// Returns `value` as it stands `depth` levels deep.
    pub fn write(&self, value: &Value, depth: usize) -> String {
        let Self::Lines(indent) = self else { return value.to_string() };
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(indent.as_bytes()));
        // A value of plain JSON can always be written to memory.
        let _ = value.serialize(&mut serializer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{}", indent.repeat(depth)))
    }

    /// Joins items that stand between two brackets, each with what stood before it, where it was there before.
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

/// A part of a list or an object: a value, or a name and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What stands between it and the one before, the comma included; `None` where it is new.
    pub before: Option<String>,
    /// The item.
    pub text: String,
}

impl Item {
    /// Makes a new one.
    pub fn new(text: String) -> Self {
        Self { before: None, text }
    }
}

/// An object as its members, in their order, one that is there twice included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    members: Vec<Member>,
    /// What stands after the last member; `None` where there was none.
    end: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    /// What stands between it and the one before; `None` where it is new.
    before: Option<String>,
    /// The name as it is written, with the colon and what stands around it; `None` where it is new.
    head: Option<String>,
    value: String,
}

impl Object {
    /// Reads an object; `None` where `text` is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let found = deserializer.deserialize_map(Members).ok()?;
        deserializer.end().ok()?;
        let mut members = Vec::new();
        let mut at = text.find('{')? + 1;
        for (name, raw) in found {
            let start = offset(text, raw.get());
            let gap = &text[at..start];
            // Nothing but white space and a comma stands before a name.
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

    /// Returns whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the text of a member; `Err` where there are two of that name, because nobody can tell which one counts.
    pub fn get(&self, name: &str) -> Result<Option<&str>, Twice> {
        let mut found = self.members.iter().filter(|member| member.name == name).map(|member| member.value.as_str());
        let first = found.next();
        if found.next().is_some() { Err(Twice(name.to_owned())) } else { Ok(first) }
    }

    /// Replaces a member in its place, or adds it at the end.
    pub fn set(&mut self, name: &str, value: String) {
        match self.members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.value = value,
            None => self.members.push(Member { name: name.to_owned(), before: None, head: None, value }),
        }
    }

    /// Keeps the members of which `keep`, given name and text, says so.
    pub fn retain(&mut self, keep: impl Fn(&str, &str) -> bool) {
        self.members.retain(|member| keep(&member.name, &member.value));
    }

    /// Returns the object's text, `depth` levels deep.
    pub fn write(&self, style: &Style, depth: usize) -> String {
        let colon = if *style == Style::Compact { ":" } else { ": " };
        let items = self.members.iter().map(|member| {
            let head = member.head.clone().unwrap_or_else(|| format!("{}{colon}", Value::from(member.name.as_str())));
            Item { before: member.before.clone(), text: format!("{head}{}", member.value) }
        });
        style.enclose(('{', '}'), &items.collect::<Vec<_>>(), self.end.as_deref(), depth)
    }
}

/// Returns where `part`, which is a part of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns the object `text` with another value of the member `name`, every other byte as it was; `None` where it has no
/// such member.
pub fn with_value(text: &str, name: &str, value: &Value) -> Option<String> {
    let members = serde_json::Deserializer::from_str(text).deserialize_map(Members).ok()?;
    let (_, raw) = members.into_iter().find(|(member, _)| member == name)?;
    let start = offset(text, raw.get());
    Some(format!("{}{value}{}", &text[..start], &text[start + raw.get().len()..]))
}

/// A list as its items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// In their order.
    pub items: Vec<Item>,
    /// What stands after the last item; `None` where there was none.
    end: Option<String>,
}

impl List {
    /// Reads a list; `None` where `text` is none.
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

    /// Returns the list with other items.
    pub fn with(&self, items: Vec<Item>) -> Self {
        Self { items, end: self.end.clone() }
    }

    /// Returns the list's text, `depth` levels deep.
    pub fn write(&self, style: &Style, depth: usize) -> String {
        style.enclose(('[', ']'), &self.items, self.end.as_deref(), depth)
    }
}

/// Two members have this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twice(pub String);

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
