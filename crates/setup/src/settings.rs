//! Adds Longhaul's hooks and status line to the text of Claude Code's settings.json, and removes them.

mod hooks;
mod status_line;

pub(crate) use self::hooks::change as change_hooks;
pub use self::hooks::{executables_in, with_hooks, without_hooks};
pub use self::status_line::{is_our_status_line, with_status_line, without_status_line};

use longhaul_core::json_text::{DuplicateName, JsonFile, NotEditable, Object, without_byte_order_mark};

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has comments, is incomplete, or is something else.
    #[error("is not JSON: correct it or move it away")]
    NotJson,
    /// It is JSON, but not an object.
    #[error("is not a JSON object: correct it or move it away")]
    NotSettings,
    /// A part that would have to be changed is not what Claude Code expects there.
    #[error("has an unexpected value for {0:?}: correct it first")]
    Shape(String),
    /// A key is there twice, and it is not clear which one is meant.
    #[error("has {0:?} twice: remove one of them first")]
    Twice(String),
    /// A file that only Longhaul writes was written by something else.
    #[error("was not written by longhaul: move it away first")]
    NotFromLonghaul,
}

impl From<DuplicateName> for Refusal {
    fn from(twice: DuplicateName) -> Self {
        Self::Twice(twice.0)
    }
}

/// The result of a change: the new text, or `None` if nothing changes.
pub type Change = Result<Option<String>, Refusal>;

/// Parses the text of a file. A file that is missing or empty has no settings.
pub(crate) fn parse(text: Option<&str>) -> Result<JsonFile, Refusal> {
    JsonFile::parse(text.unwrap_or_default()).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotSettings,
    })
}

/// Removes the members `names` that are empty objects, which Claude Code leaves behind after a plugin is uninstalled.
///
/// Returns an empty text if nothing else is in the file.
pub fn without_empty(text: &str, names: &[String]) -> Change {
    let mut settings = parse(Some(text))?;
    let is_empty = |text: &str| Object::parse(text).is_some_and(|object| object.is_empty());
    let before = settings.members.clone();
    settings.members.retain(|name, text| !(names.iter().any(|known| known == name) && is_empty(text)));
    if settings.members.is_empty() {
        return Ok(Some(String::new()));
    }
    Ok((settings.members != before).then(|| settings.write()))
}

/// Returns the names of the members of settings; an empty list if the text is not a JSON object.
pub fn names(text: &str) -> Vec<String> {
    Object::parse(without_byte_order_mark(text)).unwrap_or_default().names().map(str::to_owned).collect()
}
