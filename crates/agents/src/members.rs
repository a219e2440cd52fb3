//! The members of a JSON object, each as the text that was sent.
//!
//! Only what must be translated is parsed. A tool may return any amount of JSON at any depth, and a tree of values would
//! take many times the memory of the text, and refuse what is deeper than 128 levels.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

use crate::agent::Alias;

/// The members of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members(BTreeMap<String, Box<RawValue>>);

impl Members {
    /// Parses an object.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json).map(Self)
    }

    /// Returns the members of an object, and none for any other value.
    pub(crate) fn of(value: Option<&RawValue>) -> Self {
        value.and_then(|value| Self::parse(value.get()).ok()).unwrap_or_default()
    }

    /// Returns the JSON of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).map(Box::as_ref)
    }

    /// Returns a member that is a text and not blank.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text(self.get(name)?).filter(|text| !text.trim().is_empty())
    }

    /// Returns a member that is an integer.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }

    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, to_raw_value(text));
    }

    pub(crate) fn set_members(&mut self, name: &str, members: &Self) {
        self.set(name, to_raw_value(&members.0));
    }

    /// Gives members Claude Code's names, unless there is a member of that name already.
    pub(crate) fn rename(&mut self, aliases: &[Alias]) {
        for alias in aliases {
            if self.0.contains_key(alias.ours) {
                continue;
            }
            if let Some(value) = self.0.remove(alias.theirs) {
                self.0.insert(alias.ours.to_owned(), value);
            }
        }
    }

    /// Returns the object.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("texts and JSON can be written as JSON")
    }

    fn set(&mut self, name: &str, value: Result<Box<RawValue>, serde_json::Error>) {
        self.0.insert(name.to_owned(), value.expect("texts and JSON can be written as JSON"));
    }
}

/// Returns a value that is a text.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Returns the values of a list; `None` for any other value.
pub(crate) fn list(value: &RawValue) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(value.get()).ok()
}
