//! The key that submits what is typed: whether a chord is bound that no dialog knows, and whether the clients use it.

use std::path::Path;

use longhaul_core::Env;
use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};
use longhaul_runtime::{ignores_chord, running_clients, shared_file};

use super::Finding;
use super::facts::Facts;
use crate::client;
use crate::paths::Places;

/// The first version of the client that reads keybindings.json.
const SINCE: [u32; 3] = [2, 1, 18];

/// What there is to know of the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFacts {
    /// The text of keybindings.json, where there is one; `Err` says why it cannot be read.
    pub file: Option<std::result::Result<String, String>>,
    /// What the client says of its version.
    pub client_version: Option<String>,
    /// The clients that run and have ignored the chord.
    pub ignored_by: Vec<u32>,
}

impl KeyFacts {
    /// Looks; `program` is the client, where it answers.
    pub(super) fn look(env: &Env, places: &Places, program: Option<&Path>) -> Self {
        let running = running_clients(env).into_iter().map(|client| client.pid);
        Self {
            file: shared_file::read(&places.keybindings).map_err(|error| error.chain()).transpose(),
            client_version: program.and_then(|program| client::version_within(program, super::facts::CLIENT_LIMIT)),
            ignored_by: running.filter(|pid| ignores_chord(&places.data, *pid)).collect(),
        }
    }
}

/// Judges the key.
pub(super) fn keys(facts: &Facts) -> Vec<Finding> {
    let check = "keys";
    let path = facts.places.keybindings.display();
    let enter = "what is typed is submitted by Enter, and not while subagents run";
    let edit = "fix it (/keybindings in Claude Code opens it), then run longhaul install";
    let keybindings = match &facts.keys.file {
        None => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}: longhaul install --keybinding binds one"),
            )];
        }
        Some(Err(why)) => return vec![Finding::warning(check, format!("{path}: {why}; {enter}"), edit)],
        Some(Ok(text)) => match Keybindings::parse(text) {
            Ok(keybindings) => keybindings,
            Err(why) => {
                let what = format!("Claude Code ignores all of {path}, which {why}; {enter}");
                return vec![Finding::warning(check, what, edit)];
            }
        },
    };
    let chord = match keybindings.bound(SUBMIT, &SUBMIT_CHORDS) {
        BindingState::Missing => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}: longhaul install --keybinding binds one"),
            )];
        }
        BindingState::Shadowed { chord, by } => {
            let what = format!("{chord} is bound in {path} and another line gets in its way: {by}; {enter}");
            return vec![Finding::warning(
                check,
                what,
                "longhaul install, which binds another one; or remove that line",
            )];
        }
        BindingState::To(chord) => chord,
    };
    if let Some(version) = facts.keys.client_version.as_deref().filter(|version| is_too_old(version)) {
        let what = format!("Claude Code {version} does not read {path}; {enter}");
        return vec![Finding::warning(check, what, "update Claude Code to 2.1.18 or later")];
    }
    if !facts.keys.ignored_by.is_empty() {
        let pids: Vec<String> = facts.keys.ignored_by.iter().map(u32::to_string).collect();
        let what = format!("{chord} is bound, and these clients ignore it: {}; there {enter}", pids.join(", "));
        return vec![Finding::warning(check, what, "restart them; if that does not help, update Claude Code")];
    }
    vec![Finding::ok(check, format!("{chord} submits what is typed, and no dialog takes it"))]
}

/// Returns whether a version such as `2.1.325 (Claude Code)` is older than the file; one that cannot be read is not.
fn is_too_old(version: &str) -> bool {
    let number = version.split_whitespace().next().unwrap_or_default();
    let parts: Vec<u32> = number.split('.').map_while(|part| part.parse().ok()).collect();
    parts.len() == SINCE.len() && parts.as_slice() < SINCE.as_slice()
}
