//! The client's own command line for plugins.

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::run_program_in;
use serde::Deserialize;

use crate::{Error, MARKETPLACE, Result};

/// What lists its plugins.
const PLUGINS: &[&str] = &["plugin", "list", "--json"];

/// Where the client is run: in the current folder it would read a project's settings, and no person has been asked
/// whether to trust that project.
pub(crate) const ROOT: &str = "/";

/// How long the client may take, which may have to update itself first.
const LIMIT: Duration = Duration::from_secs(120);

/// A plugin that the client has installed, as it lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plugin {
    /// `name@marketplace`.
    pub id: String,
    /// Its version.
    pub version: String,
    /// `user`, `project`, `local` or `managed`.
    pub scope: String,
    /// Whether its hooks run.
    pub enabled: bool,
    /// The project that it is installed for, where its scope is `project` or `local`.
    pub project_path: Option<PathBuf>,
    /// The client's own copy.
    pub install_path: Option<PathBuf>,
    /// Where it is read from instead, for a marketplace that is a folder.
    pub read_from_folder: Option<PathBuf>,
    /// What is wrong with it.
    pub errors: Vec<String>,
}

impl Plugin {
    /// Returns whether it is one of ours, the whole or one job.
    pub fn is_ours(&self) -> bool {
        self.id.split_once('@').is_some_and(|(_, marketplace)| marketplace == MARKETPLACE)
    }

    /// Returns its name, without the marketplace.
    pub fn name(&self) -> &str {
        self.id.split('@').next().unwrap_or(&self.id)
    }

    /// Returns where its files are read from.
    pub fn folder(&self) -> Option<&Path> {
        self.read_from_folder.as_deref().or(self.install_path.as_deref())
    }
}

/// A marketplace that the client knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Marketplace {
    /// Its name.
    pub name: String,
    /// Its folder, where it is one.
    pub path: Option<PathBuf>,
}

/// Asks the client for its plugins.
pub(crate) fn plugins(client: &Path) -> Result<Vec<Plugin>> {
    list(client, PLUGINS, LIMIT)
}

/// Asks the client for its plugins, and waits for the answer no longer than `limit`; `None` when it has not come by then.
pub(crate) fn plugins_within(client: &Path, limit: Duration) -> Option<Result<Vec<Plugin>>> {
    let printed = match start(client, Path::new(ROOT), PLUGINS, limit) {
        Err(longhaul_runtime::Error::TimedOut { .. }) => return None,
        printed => printed.map_err(|error| failed(PLUGINS, error.chain())),
    };
    Some(printed.and_then(|printed| parse(PLUGINS, &printed)))
}

/// Asks the client for our marketplace.
pub(crate) fn marketplace(client: &Path) -> Result<Option<Marketplace>> {
    let known: Vec<Marketplace> = list(client, &["plugin", "marketplace", "list", "--json"], LIMIT)?;
    Ok(known.into_iter().find(|marketplace| marketplace.name == MARKETPLACE))
}

/// Asks the client for its version, as it prints it: `2.1.325 (Claude Code)`; `None` when it has not come within `limit`.
pub(crate) fn version_within(client: &Path, limit: Duration) -> Option<String> {
    start(client, Path::new(ROOT), &["--version"], limit).ok().map(|printed| printed.trim().to_owned())
}

/// Runs the client in the folder `dir` to its end.
pub(crate) fn run(client: &Path, dir: &Path, arguments: &[&str]) -> Result<()> {
    start(client, dir, arguments, LIMIT).map(drop).map_err(|error| failed(arguments, error.chain()))
}

fn start(
    client: &Path,
    dir: &Path,
    arguments: &[&str],
    limit: Duration,
) -> std::result::Result<String, longhaul_runtime::Error> {
    let words = std::iter::once(client.to_string_lossy().into_owned());
    let argv = words.chain(arguments.iter().map(|&argument| argument.to_owned())).collect();
    run_program_in(dir, &TerminalCommand { argv, stdin: None }, limit)
}

fn list<T: for<'a> Deserialize<'a>>(client: &Path, arguments: &[&str], limit: Duration) -> Result<Vec<T>> {
    let printed = start(client, Path::new(ROOT), arguments, limit).map_err(|error| failed(arguments, error.chain()))?;
    parse(arguments, &printed)
}

fn parse<T: for<'a> Deserialize<'a>>(arguments: &[&str], printed: &str) -> Result<Vec<T>> {
    serde_json::from_str(printed).map_err(|_| failed(arguments, "its answer is no list: update Claude Code".to_owned()))
}

fn failed(arguments: &[&str], message: String) -> Error {
    Error::Client { command: format!("claude {}", arguments.join(" ")), message }
}
