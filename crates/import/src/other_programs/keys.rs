//! Imports settings of other programs into the configuration file. Values that the user has set are kept.

use std::cell::RefCell;
use std::path::Path;

use longhaul_core::config::new_problem;
use longhaul_core::{Config, json_text};
use serde_json::Value;

use super::{Mode, Move, Report, Trouble, ours};
use longhaul_runtime::Error;
use longhaul_runtime::shared_file::{self, Backup, NewFile};

/// A setting to import.
pub(super) struct Wanted {
    /// The key in the other program.
    pub(super) theirs: String,
    /// The key in Longhaul; `None` if there is none.
    pub(super) ours: Option<String>,
    /// The value.
    pub(super) value: Value,
}

/// The new configuration file, and the result for each setting.
#[derive(Default)]
struct Brought {
    text: String,
    /// The keys that were added, with their values.
    added: Vec<(String, String)>,
    /// The reasons why the others were not added.
    left: Vec<String>,
}

/// Why nothing is added.
enum Hindrance {
    /// The file is not a JSON object.
    NotObject,
    Failed(Error),
}

impl From<Error> for Hindrance {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Adds settings to the configuration file unless they are set there. Returns the configuration that is, or would be,
/// in effect then.
pub(super) fn bring(mover: &Move<'_>, report: &mut Report, wanted: Vec<Wanted>) -> Result<Config, Trouble> {
    let Some(path) = mover.env.config_path.as_deref().filter(|_| !wanted.is_empty()) else {
        return Ok(mover.config.clone());
    };
    let brought = match mover.mode {
        Mode::DryRun => would_put(path, &wanted),
        Mode::Move => put(path, &wanted),
    };
    match brought {
        Ok(brought) => {
            for why in brought.left {
                report.leaves("settings", 1, &why);
            }
            let config =
                if brought.added.is_empty() { mover.config.clone() } else { Config::from_json(&brought.text).0 };
            report.settings.extend(brought.added);
            Ok(config)
        }
        Err(Hindrance::NotObject) => {
            let why = format!("{} is not a JSON object: fix it, then import again", path.display());
            report.leaves("settings", wanted.len(), &why);
            Ok(mover.config.clone())
        }
        Err(Hindrance::Failed(error)) => Err(ours(error)),
    }
}

/// Writes settings to the file.
fn put(path: &Path, wanted: &[Wanted]) -> Result<Brought, Hindrance> {
    let brought = RefCell::new(Brought::default());
    shared_file::change(path, (Backup::None, NewFile::Private), |text| {
        let new = add(path, text, wanted)?;
        let changed = (!new.added.is_empty()).then(|| new.text.clone());
        brought.replace(new);
        Ok::<_, Hindrance>(changed)
    })?;
    Ok(brought.into_inner())
}

/// Returns the result that [`put`] would have.
fn would_put(path: &Path, wanted: &[Wanted]) -> Result<Brought, Hindrance> {
    add(path, shared_file::read(path)?.as_deref(), wanted)
}

/// Adds settings to the text of the file, unless they are set there.
fn add(path: &Path, text: Option<&str>, wanted: &[Wanted]) -> Result<Brought, Hindrance> {
    let is_object = |text: &str| json_text::from_file::<Value>(text.as_bytes()).is_ok_and(|value| value.is_object());
    if !text.is_none_or(is_object) {
        return Err(Hindrance::NotObject);
    }
    let mut brought = Brought { text: text.unwrap_or_default().to_owned(), ..Brought::default() };
    for Wanted { theirs, ours, value } in wanted {
        let Some(key) = ours else {
            brought.left.push(format!("{theirs} has no counterpart here"));
            continue;
        };
        let keys: Vec<&str> = key.split('.').collect();
        let now: Value = json_text::from_file(brought.text.as_bytes()).unwrap_or_default();
        match (now.pointer(&format!("/{}", keys.join("/"))), json_text::insert(&brought.text, &keys, value)) {
            (Some(set), _) if set == value => brought.left.push(format!("{key} already has that value")),
            (Some(set), _) => brought.left.push(format!("{key} is set to {set} here, not to {value}")),
            (None, Some(with)) => match new_problem(&brought.text, &with) {
                Some(why) => brought.left.push(format!("{theirs} cannot be used: {}", why.problem)),
                None => {
                    brought.added.push((key.clone(), value.to_string()));
                    brought.text = with;
                }
            },
            (None, None) => brought.left.push(format!("{key} has no place in {}", path.display())),
        }
    }
    Ok(brought)
}
