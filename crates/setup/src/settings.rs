//! The client's settings.json, with our hooks or status line in it, or without. Text in, text out.

mod hooks;
mod status_line;

pub(crate) use self::hooks::change as change_hooks;
pub use self::hooks::{executables_in, with_hooks, without_hooks};
pub use self::status_line::{is_our_status_line, with_status_line, without_status_line};

use longhaul_core::json_text::{DuplicateName, JsonFile, NotEditable, Object, without_byte_order_mark};

/// Why the file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has comments, is cut short, or is something else.
    #[error("is not JSON: mend it, or move it away")]
    NotJson,
    /// It is JSON, and no settings.
    #[error("is JSON and not an object: mend it, or move it away")]
    NotSettings,
    /// A part that we would have to change is not what the client wants there.
    #[error("has {0:?} in a shape that is not known: mend it first")]
    Shape(String),
    /// Which of the two counts is not for us to say.
    #[error("has {0:?} twice: remove one of them first")]
    Twice(String),
    /// A file that would be all ours is not.
    #[error("is not from longhaul: move it away first")]
    SomebodyElses,
}

impl From<DuplicateName> for Refusal {
    fn from(twice: DuplicateName) -> Self {
        Self::Twice(twice.0)
    }
}

/// A change of settings: what becomes of the text, `None` where nothing does.
pub type Change = Result<Option<String>, Refusal>;

/// Reads the file's text; one that is not there, or empty, holds no settings.
fn parse(text: Option<&str>) -> Result<JsonFile, Refusal> {
    JsonFile::parse(text.unwrap_or_default()).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotSettings,
    })
}

/// Takes away members that are empty objects: what the client leaves behind of plugins that are gone.
///
/// Returns an empty text where nothing else is in the file.
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

/// Returns the names of the members of settings; none where it is no settings.
pub fn names(text: &str) -> Vec<String> {
    Object::parse(without_byte_order_mark(text)).unwrap_or_default().names().map(str::to_owned).collect()
}
