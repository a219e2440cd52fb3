//! Conditions in which nothing works although everything is installed. Pure.

use super::Finding;
use super::facts::{CLIENT_LIMIT, Facts};
use super::judge::few;

/// Finds a plugin of another version than the `longhaul` that a shell starts.
pub(super) fn versions(facts: &Facts) -> Vec<Finding> {
    let Some(on_path) = &facts.path_version else { return Vec::new() };
    let others = facts.sources.iter().filter_map(|source| {
        let version = source.version.as_ref().filter(|version| source.is_enabled && *version != on_path)?;
        let id = source.id.as_deref().unwrap_or(&source.name);
        let what = format!("`longhaul` on the PATH is version {on_path}, the plugin {id} is version {version}");
        let advice = "run `longhaul install` of the newer one, then restart the sessions";
        Some(Finding::warning("versions", what, advice))
    });
    others.collect()
}

/// Finds what switches every hook off.
pub(super) fn disabled(facts: &Facts) -> Vec<Finding> {
    let found = facts.disabled_by.iter().map(|by| {
        let what = format!("{by} sets LONGHAUL_DISABLE=1: no hook does anything in sessions that are started with it");
        Finding::broken("disabled", what, "remove it, and restart the sessions")
    });
    found.collect()
}

/// Finds settings files that the client cannot read.
pub(super) fn settings(facts: &Facts) -> Vec<Finding> {
    let off = facts.sources.iter().filter(|source| !source.is_enabled).map(|source| source.name.clone());
    let off = few(off);
    let effect = if off.is_empty() { String::new() } else { format!(", and {off} counts as switched off") };
    let found = facts.broken_settings.iter().map(|(path, why)| {
        let what = format!("{} is {why}: the client ignores it{effect}", path.display());
        Finding::broken("settings", what, "correct the file; nothing has to be installed again")
    });
    found.collect()
}

/// Finds a data folder that cannot be written to.
pub(super) fn storage(facts: &Facts) -> Vec<Finding> {
    let found = facts.storage.map(|trouble| {
        let what = format!("nothing can be stored: {}", trouble.describe(facts.places.data.dir()));
        Finding::broken("storage", what, trouble.advice())
    });
    found.into_iter().collect()
}

/// Judges a database that cannot be read, which is not the same as one that is damaged.
pub(super) fn unreadable_database(facts: &Facts, why: &str) -> Vec<Finding> {
    let check = "database";
    let file = facts.places.data.database();
    match facts.storage {
        Some(_) => vec![Finding::note(check, format!("{} cannot be checked meanwhile: {why}", file.display()))],
        None => {
            let what = format!("{} cannot be read: {why}", file.display());
            vec![Finding::broken(check, what, "make the file and its folder readable and writable for your user")]
        }
    }
}

/// Judges a client that does not answer.
pub(super) fn hanging_client(check: &'static str) -> Vec<Finding> {
    let what =
        format!("`claude plugin list` does not answer within {} s: its plugins are not known", CLIENT_LIMIT.as_secs());
    vec![Finding::broken(check, what, "run `claude plugin list` yourself and see what it waits for")]
}
