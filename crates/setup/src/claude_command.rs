//! Claude Code's own command line for plugins, `claude plugin`, and the versions of Claude Code that Longhaul needs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{run_program_in, waiting_times};
use serde::Deserialize;

use crate::{Error, MARKETPLACE, Result};

/// The first version of Claude Code that reads keybindings.json.
pub(crate) const KEYBINDINGS_SINCE: Version = Version([2, 1, 18]);

/// The first version of Claude Code that runs a plugin's module, such as the bridge.
pub(crate) const BRIDGE_SINCE: Version = Version([2, 1, 287]);

const PLUGINS: &[&str] = &["plugin", "list", "--json"];

/// The folder in which `claude` is run. In the current folder it would read the settings of a project that the user may
/// not trust.
pub(crate) const ROOT: &str = "/";

/// A version of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u32; 3]);

impl Version {
    /// Parses a version as Claude Code prints it, such as `2.1.325 (Claude Code)`.
    pub(crate) fn parse(printed: &str) -> Option<Self> {
        let number = printed.split_whitespace().next()?;
        let parts: Vec<u32> = number.split('.').map_while(|part| part.parse().ok()).collect();
        parts.try_into().ok().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A plugin that Claude Code has installed, as `claude plugin list` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plugin {
    /// `name@marketplace`.
    pub id: String,
    pub version: String,
    /// `user`, `project`, `local` or `managed`.
    pub scope: String,
    pub enabled: bool,
    /// The project that it is installed for, if its scope is `project` or `local`.
    pub project_path: Option<PathBuf>,
    /// The copy in Claude Code's own folder.
    pub install_path: Option<PathBuf>,
    /// The folder that it is read from instead, if its marketplace is a folder.
    pub read_from_folder: Option<PathBuf>,
    pub errors: Vec<String>,
}

impl Plugin {
    /// Returns whether it is one of Longhaul's plugins: the one with all jobs, or one with a single job.
    pub fn is_ours(&self) -> bool {
        self.id.split_once('@').is_some_and(|(_, marketplace)| marketplace == MARKETPLACE)
    }

    pub fn name(&self) -> &str {
        self.id.split('@').next().unwrap_or(&self.id)
    }

    pub fn folder(&self) -> Option<&Path> {
        self.read_from_folder.as_deref().or(self.install_path.as_deref())
    }
}

/// A marketplace that Claude Code knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Marketplace {
    pub name: String,
    pub path: Option<PathBuf>,
}

pub(crate) fn plugins(client: &Path) -> Result<Vec<Plugin>> {
    list(client, PLUGINS, waiting_times::CLAUDE_PLUGIN)
}

/// Returns the plugins that Claude Code has installed, or `None` if it does not answer within `limit`.
pub(crate) fn plugins_within(client: &Path, limit: Duration) -> Option<Result<Vec<Plugin>>> {
    let printed = match start(client, Path::new(ROOT), PLUGINS, limit) {
        Err(longhaul_runtime::Error::TimedOut { .. }) => return None,
        printed => printed.map_err(|error| failed(PLUGINS, error.chain())),
    };
    Some(printed.and_then(|printed| parse(PLUGINS, &printed)))
}

/// Returns Longhaul's marketplace, if Claude Code knows it.
pub(crate) fn marketplace(client: &Path) -> Result<Option<Marketplace>> {
    let known: Vec<Marketplace> =
        list(client, &["plugin", "marketplace", "list", "--json"], waiting_times::CLAUDE_PLUGIN)?;
    Ok(known.into_iter().find(|marketplace| marketplace.name == MARKETPLACE))
}

/// Returns Claude Code's version as it prints it, such as `2.1.325 (Claude Code)`, or `None` if it does not answer within
/// `limit`.
pub(crate) fn version_within(client: &Path, limit: Duration) -> Option<String> {
    start(client, Path::new(ROOT), &["--version"], limit).ok().map(|printed| printed.trim().to_owned())
}

pub(crate) fn run(client: &Path, dir: &Path, arguments: &[&str]) -> Result<()> {
    start(client, dir, arguments, waiting_times::CLAUDE_PLUGIN)
        .map(drop)
        .map_err(|error| failed(arguments, error.chain()))
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
    serde_json::from_str(printed)
        .map_err(|_| failed(arguments, "its answer is not a list: update Claude Code".to_owned()))
}

fn failed(arguments: &[&str], message: String) -> Error {
    Error::Client { command: format!("claude {}", arguments.join(" ")), message }
}
