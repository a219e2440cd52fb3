//! Settings of other programs, as keys of our config file. What the user has set himself stays, and so does the file.

use longhaul_core::{Config, json_text};
use serde_json::Value;

use super::{Mode, Move, Report, Trouble, ours};
use crate::{Error, files};

/// A setting that somebody wants to be ours.
pub(super) struct Wanted {
    /// Its key there.
    pub(super) theirs: String,
    /// Its key here; `None` where there is none.
    pub(super) ours: Option<String>,
    /// What it is set to.
    pub(super) value: Value,
}

/// Adds settings to the config file, each that is not set there; returns what is, or would be, in force then.
pub(super) fn bring(mover: &Move<'_>, report: &mut Report, wanted: Vec<Wanted>) -> Result<Config, Trouble> {
    let as_it_is = || mover.config.clone();
    let Some(path) = mover.env.config_path.as_deref().filter(|_| !wanted.is_empty()) else { return Ok(as_it_is()) };
    let (text, is_new) = match std::fs::read_to_string(path) {
        Ok(text) => (text, false),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (String::new(), true),
        Err(source) => return Err(ours(Error::Read { path: path.to_owned(), source })),
    };
    if !is_new && !serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object()) {
        let why = format!("{} is not a JSON object: mend it, then import again", path.display());
        report.leaves("settings", wanted.len(), &why);
        return Ok(as_it_is());
    }
    let mut changed = text.clone();
    for Wanted { theirs, ours, value } in wanted {
        let Some(key) = ours else {
            report.leaves("settings", 1, &format!("{theirs} has no counterpart here"));
            continue;
        };
        let keys: Vec<&str> = key.split('.').collect();
        let pointer = format!("/{}", keys.join("/"));
        let now: Value = serde_json::from_str(&changed).unwrap_or_default();
        match (now.pointer(&pointer), json_text::insert(&changed, &keys, &value)) {
            (Some(set), _) if *set == value => report.leaves("settings", 1, &format!("{key} is set to that already")),
            (Some(set), _) => report.leaves("settings", 1, &format!("{key} is set to {set} here, not to {value}")),
            (None, Some(with)) if problem(&changed, &with).is_none() => {
                report.settings.push((key, value.to_string()));
                changed = with;
            }
            (None, Some(with)) => {
                let why = problem(&changed, &with).unwrap_or_default();
                report.leaves("settings", 1, &format!("{theirs} cannot be used: {why}"));
            }
            (None, None) => report.leaves("settings", 1, &format!("{key} has no place in {}", path.display())),
        }
    }
    if changed == text {
        return Ok(as_it_is());
    }
    let written = match (mover.mode, is_new) {
        (Mode::DryRun, _) => Ok(()),
        (Mode::Move, true) => files::replace(path, changed.as_bytes()),
        // A link stays a link, and the file's mode what it was.
        (Mode::Move, false) => files::replace_shared(path, changed.as_bytes()),
    };
    written.map_err(ours)?;
    Ok(Config::from_json(&changed).0)
}

/// Returns what is wrong with a config that was not wrong before.
fn problem(before: &str, with: &str) -> Option<String> {
    let (_, known) = Config::from_json(before);
    let (_, now) = Config::from_json(with);
    now.into_iter().find(|warning| !known.contains(warning)).map(|warning| warning.problem)
}
