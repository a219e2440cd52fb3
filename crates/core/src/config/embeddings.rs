//! The section `memory.embeddings`: where vectors come from.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{Setting, Warning};

/// The longest address.
const MAX_URL: usize = 2_000;

/// An `http://` or `https://` address; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Url(String);

impl Url {
    /// Returns `text` as an address, or `None` where it is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let has_scheme = text.starts_with("http://") || text.starts_with("https://");
        let is_plain = text.len() <= MAX_URL && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        (text.is_empty() || (has_scheme && is_plain)).then(|| Self(text.to_owned()))
    }

    /// Returns `text`, which must be one that [`Self::new`] accepts.
    pub(super) fn of(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the address; `None` where none is set.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl Setting for Url {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        json.as_str().and_then(Self::new).unwrap_or_else(|| {
            warnings.push(Warning::value(path, json, "an address that begins with http:// or https://", &default));
            default
        })
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "string",
            "pattern": r"^(https?://\S+)?$",
            "maxLength": MAX_URL,
            "description": about,
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

/// The path of a file, absolute or below the user's home as `~/…`; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePath(String);

impl FilePath {
    /// Returns whether no path is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path; `None` where none is set, or it is below a home that is not known.
    pub fn resolve(&self, home: Option<&Path>) -> Option<PathBuf> {
        match self.0.strip_prefix("~/") {
            Some(below) => Some(home?.join(below)),
            None => (!self.0.is_empty()).then(|| PathBuf::from(&self.0)),
        }
    }
}

impl Setting for FilePath {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let is_usable = |text: &&str| text.is_empty() || text.starts_with('/') || text.starts_with("~/");
        match json.as_str().map(str::trim).filter(is_usable) {
            Some(text) => Self(text.to_owned()),
            None => {
                warnings.push(Warning::value(path, json, "a path that begins with / or ~/", &default));
                default
            }
        }
    }

    fn schema(&self, about: &str) -> Value {
        json!({ "type": "string", "pattern": "^(~?/.*)?$", "description": about, "default": self.to_json() })
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FilePath, Url};
    use crate::config::ModelId;

    #[test]
    fn what_is_empty_is_not_set() {
        assert_eq!(Url::new("").unwrap().get(), None);
        assert_eq!(Url::new(" https://x.example ").unwrap().get(), Some("https://x.example"));
        assert_eq!(ModelId::new("").unwrap().get(), None);
        assert_eq!(ModelId::new("opus").unwrap().get(), Some("opus"));
    }

    #[test]
    fn a_path_may_begin_at_home() {
        let resolve = |path: &str, home: Option<&str>| FilePath(path.to_owned()).resolve(home.map(Path::new));
        assert_eq!(resolve("~/a/b", Some("/home/me")), Some(PathBuf::from("/home/me/a/b")));
        assert_eq!(resolve("~/a/b", None), None);
        assert_eq!(resolve("/a/b", None), Some(PathBuf::from("/a/b")));
        assert_eq!(resolve("", Some("/home/me")), None);
        assert!(FilePath::default().is_empty() && !FilePath("/a/b".to_owned()).is_empty());
    }
}
