//! Checks the key that submits typed text: whether a chord is bound that no dialog reacts to, and whether it works.

use std::path::Path;

use longhaul_core::Env;
use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};
use longhaul_runtime::{ignores_chord, running_clients, shared_file, waiting_times};

use super::Finding;
use super::facts::Facts;
use crate::claude_command::{self, KEYBINDINGS_SINCE, Version};
use crate::paths::InstallPaths;

/// The facts about the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFacts {
    /// The text of keybindings.json, if it exists; `Err` holds the reason why it cannot be read.
    pub file: Option<std::result::Result<String, String>>,
    /// The version that Claude Code prints.
    pub client_version: Option<String>,
    /// The running Claude Code processes that have ignored the chord.
    pub ignored_by: Vec<u32>,
}

impl KeyFacts {
    /// Collects the facts. `program` is `claude`, if it answers.
    pub(super) fn collect(env: &Env, paths: &InstallPaths, program: Option<&Path>) -> Self {
        let running = running_clients(env).into_iter().map(|client| client.pid);
        Self {
            file: shared_file::read(&paths.keybindings).map_err(|error| error.chain()).transpose(),
            client_version: program.and_then(|program| {
                claude_command::version_within(program, waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR)
            }),
            ignored_by: running.filter(|pid| ignores_chord(&paths.data, *pid)).collect(),
        }
    }
}

/// Checks the key.
pub(super) fn keys(facts: &Facts) -> Vec<Finding> {
    let check = "keys";
    let path = facts.paths.keybindings.display();
    let enter = "Longhaul submits typed text with Enter, and not while subagents run";
    let edit = "correct it (/keybindings in Claude Code opens it), then run `longhaul install`";
    let keybindings = match &facts.keys.file {
        None => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}; `longhaul install --keybinding` binds one"),
            )];
        }
        Some(Err(why)) => return vec![Finding::warning(check, format!("{path}: {why}; {enter}"), edit)],
        Some(Ok(text)) => match Keybindings::parse(text) {
            Ok(keybindings) => keybindings,
            Err(why) => {
                let what = format!("Claude Code ignores {path}, because it {why}; {enter}");
                return vec![Finding::warning(check, what, edit)];
            }
        },
    };
    let chord = match keybindings.bound(SUBMIT, &SUBMIT_CHORDS) {
        BindingState::Missing => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}; `longhaul install --keybinding` binds one"),
            )];
        }
        BindingState::Shadowed { chord, by } => {
            let what = format!("{chord} is bound in {path}, but another binding overrides it: {by}; {enter}");
            return vec![Finding::warning(
                check,
                what,
                "run `longhaul install`, which binds another chord, or remove that binding",
            )];
        }
        BindingState::To(chord) => chord,
    };
    if let Some(version) = facts.keys.client_version.as_deref().filter(|version| is_too_old(version)) {
        let what = format!("Claude Code {version} does not read {path}; {enter}");
        return vec![Finding::warning(check, what, format!("update Claude Code to {KEYBINDINGS_SINCE} or later"))];
    }
    if !facts.keys.ignored_by.is_empty() {
        let pids: Vec<String> = facts.keys.ignored_by.iter().map(u32::to_string).collect();
        let what =
            format!("{chord} is bound, but these Claude Code processes ignore it: {}; there, {enter}", pids.join(", "));
        return vec![Finding::warning(check, what, "restart them; if that does not help, update Claude Code")];
    }
    vec![Finding::ok(check, format!("{chord} submits typed text, and no dialog reacts to it"))]
}

/// Returns whether a version of Claude Code is too old to read keybindings.json. A version that cannot be parsed is not.
fn is_too_old(version: &str) -> bool {
    Version::parse(version).is_some_and(|version| version < KEYBINDINGS_SINCE)
}
