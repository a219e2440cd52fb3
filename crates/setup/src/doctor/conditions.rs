//! Checks of conditions in which nothing works although everything is installed. Pure. What is wrong with the data
//! folder or its disk is found in `runtime/src/storage.rs`.

use longhaul_runtime::waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR;

use super::Finding;
use super::facts::Facts;
use super::judge::few;
use crate::ID;

/// Checks that the plugin has the same version as the `longhaul` on the path.
pub(super) fn versions(facts: &Facts) -> Vec<Finding> {
    let Some(on_path) = &facts.path_version else { return Vec::new() };
    let others = facts.sources.iter().filter_map(|source| {
        let version = source.version.as_ref().filter(|version| source.is_enabled && *version != on_path)?;
        let id = source.id.as_deref().unwrap_or(&source.name);
        let what = format!("`longhaul` on the PATH is version {on_path}, the plugin {id} is version {version}");
        let advice = "run `longhaul install` of the newer version, then restart the sessions";
        Some(Finding::warning("versions", what, advice))
    });
    others.collect()
}

/// Checks whether hooks start through the launchers of a universal bundle, which a session should have replaced.
pub(super) fn launchers(facts: &Facts) -> Vec<Finding> {
    let found = facts.sources.iter().filter(|source| source.has_launchers).map(|source| {
        let what = format!("{} starts its hooks through launchers, which takes longer", source.name);
        match &facts.launcher_problem {
            None => Finding::note("launchers", format!("{what}; the next session replaces them by the executables")),
            Some(problem) => Finding::warning(
                "launchers",
                format!("{what}: {problem}"),
                format!("make the plugin's folder writable, or install {ID} again"),
            ),
        }
    });
    found.collect()
}

/// Checks whether the environment or a settings file disables every hook.
pub(super) fn disabled(facts: &Facts) -> Vec<Finding> {
    let found = facts.disabled_by.iter().map(|by| {
        let what = format!("{by} sets LONGHAUL_DISABLE=1: the hooks do nothing in sessions that are started with it");
        Finding::broken("disabled", what, "unset it, and restart the sessions")
    });
    found.collect()
}

/// Checks for settings files that Claude Code cannot read.
pub(super) fn settings(facts: &Facts) -> Vec<Finding> {
    let off = facts.sources.iter().filter(|source| !source.is_enabled).map(|source| source.name.clone());
    let off = few(off);
    let effect = if off.is_empty() { String::new() } else { format!(", and {off} counts as disabled") };
    let found = facts.broken_settings.iter().map(|(path, why)| {
        let what = format!("{} is {why}: Claude Code ignores it{effect}", path.display());
        Finding::broken("settings", what, "correct the file; nothing has to be installed again")
    });
    found.collect()
}

/// Checks that the data folder can be written to.
pub(super) fn storage(facts: &Facts) -> Vec<Finding> {
    let found = facts.storage.map(|trouble| {
        let what = format!("nothing can be stored: {}", trouble.describe(facts.paths.data.dir()));
        Finding::broken("storage", what, trouble.advice())
    });
    found.into_iter().collect()
}

/// Reports a database that cannot be read, which does not mean that it is damaged.
pub(super) fn unreadable_database(facts: &Facts, why: &str) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    match facts.storage {
        Some(_) => vec![Finding::note(check, format!("{} cannot be checked: {why}", file.display()))],
        None => {
            let what = format!("{} cannot be read: {why}", file.display());
            vec![Finding::broken(check, what, "make the file and its folder readable and writable for your user")]
        }
    }
}

/// Reports that Claude Code does not answer.
pub(super) fn hanging_client(check: &'static str) -> Vec<Finding> {
    let what = format!(
        "`claude plugin list` does not answer within {} s, so the plugins cannot be checked",
        CLAUDE_PLUGIN_LIST_FOR_DOCTOR.as_secs()
    );
    vec![Finding::broken(check, what, "run `claude plugin list` in a terminal and see what it waits for")]
}
