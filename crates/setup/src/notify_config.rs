//! Enables notifications in the text of the configuration file, and removes what was added.

use longhaul_core::config::{Choice, NotifyWay};
use longhaul_core::json_text::{JsonFile, NotEditable};
use serde_json::{Value, json};

use crate::settings::{Change, Refusal};

const SECTION: &str = "notify";

/// What the user has chosen about notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NotifyChoice {
    /// The user was not asked.
    #[default]
    NotAsked,
    /// The user wants none.
    No,
    /// The user wants them by this way.
    By(NotifyWay),
}

/// Returns the configuration with notifications by `way`: when a session waits, and when a long turn has ended.
///
/// `None` if the file has a section `notify` already: it is the user's own.
pub fn with_notifications(text: Option<&str>, way: NotifyWay) -> Change {
    let mut file = parse(text.unwrap_or_default())?;
    if file.members.get(SECTION)?.is_some() {
        return Ok(None);
    }
    let section = file.style.write(&section(way), 1);
    file.members.set(SECTION, section);
    Ok(Some(file.write()))
}

/// Returns the configuration without the section that [`with_notifications`] has added, or an empty text if nothing else is
/// in the file. A section that was changed since stays.
pub fn without_notifications(text: &str) -> Change {
    let mut file = parse(text)?;
    let found = file.members.get(SECTION)?.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if !found.is_some_and(|found| NotifyWay::ALL.iter().any(|way| section(*way) == found)) {
        return Ok(None);
    }
    file.members.retain(|name, _| name != SECTION);
    Ok(Some(if file.members.is_empty() { String::new() } else { file.write() }))
}

fn section(way: NotifyWay) -> Value {
    let rule = json!({ "ways": [way.as_str()] });
    json!({ "blocked": rule, "completed": rule })
}

fn parse(text: &str) -> Result<JsonFile, Refusal> {
    JsonFile::parse(text).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotSettings,
    })
}
