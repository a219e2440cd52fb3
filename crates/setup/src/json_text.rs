//! JSON that belongs to somebody: every value stays the text that it is, unless it is ours to change.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Style {
    /// All in one line.
    Compact,
    /// A member a line, each level indented by this.
    Lines(String),
}

impl Style {
    /// Returns the layout of `text`: that of its first indented line.
    pub(crate) fn of(text: &str) -> Self {
        if text.trim().len() > 2 && !text.trim().contains('\n') {
            return Self::Compact;
        }
        let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
        let indent = indents.into_iter().find(|indent| !indent.is_empty());
        Self::Lines(indent.unwrap_or("  ").to_owned())
    }

    /// Returns `value` as it stands `depth` levels deep.
    pub(crate) fn write(&self, value: &Value, depth: usize) -> String {
        let Self::Lines(indent) = self else { return value.to_string() };
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(indent.as_bytes()));
        // A value of plain JSON can always be written to memory.
        let _ = value.serialize(&mut serializer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{}", indent.repeat(depth)))
    }

    /// Joins what stands between two brackets.
    fn enclose(&self, open: char, items: &[String], close: char, depth: usize) -> String {
        match self {
            _ if items.is_empty() => format!("{open}{close}"),
            Self::Compact => format!("{open}{}{close}", items.join(",")),
            Self::Lines(indent) => {
                let (inner, outer) = (indent.repeat(depth + 1), indent.repeat(depth));
                format!("{open}\n{inner}{}\n{outer}{close}", items.join(&format!(",\n{inner}")))
            }
        }
    }
}

/// An object as its members' names and texts, in their order, one that is there twice included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Object(pub(crate) Vec<(String, String)>);

impl Object {
    /// Reads an object; `None` where `text` is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(Members).ok()?;
        deserializer.end().ok()?;
        Some(Self(members.into_iter().map(|(name, raw)| (name, raw.get().to_owned())).collect()))
    }

    /// Returns the text of a member; `Err` where there are two of that name, because nobody can tell which one counts.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, Twice> {
        let mut found = self.0.iter().filter(|(member, _)| member == name).map(|(_, text)| text.as_str());
        let first = found.next();
        if found.next().is_some() { Err(Twice(name.to_owned())) } else { Ok(first) }
    }

    /// Replaces a member in its place, or adds it at the end.
    pub(crate) fn set(&mut self, name: &str, text: String) {
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) => *old = text,
            None => self.0.push((name.to_owned(), text)),
        }
    }

    /// Takes a member away.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(member, _)| member != name);
    }

    /// Returns the object's text, `depth` levels deep.
    pub(crate) fn write(&self, style: &Style, depth: usize) -> String {
        let colon = if *style == Style::Compact { ":" } else { ": " };
        let member = |(name, text): &(String, String)| format!("{}{colon}{text}", Value::from(name.as_str()));
        style.enclose('{', &self.0.iter().map(member).collect::<Vec<_>>(), '}', depth)
    }
}

/// Returns the object `text` with another value of the member `name`, every other byte as it was; `None` where it has no
/// such member.
pub(crate) fn with_value(text: &str, name: &str, value: &Value) -> Option<String> {
    let members = serde_json::Deserializer::from_str(text).deserialize_map(Members).ok()?;
    let (_, raw) = members.into_iter().find(|(member, _)| member == name)?;
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    Some(format!("{}{value}{}", &text[..start], &text[start + raw.get().len()..]))
}

/// A list as the texts of its items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct List(pub(crate) Vec<String>);

impl List {
    /// Reads a list; `None` where `text` is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        Some(Self(items.into_iter().map(|item| item.get().to_owned()).collect()))
    }

    /// Returns the list's text, `depth` levels deep.
    pub(crate) fn write(&self, style: &Style, depth: usize) -> String {
        style.enclose('[', &self.0, ']', depth)
    }
}

/// Two members have this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Twice(pub(crate) String);

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
