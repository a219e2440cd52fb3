//! `longhaul doctor`: checks an installation and suggests fixes. No check changes anything.

mod installation;
mod other_agents;
mod services;
mod sessions;
mod storage;

pub use self::sessions::{SessionFacts, about};

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use longhaul_core::config::Warning;
use longhaul_core::{Config, Env, SessionId};
use longhaul_runtime::{Shell, StorageTrouble, bounded_read, running_clients, waiting_times};
use longhaul_store::Store;
use longhaul_tracker::ClientRecord;
use serde::Serialize;
use serde_json::Value;

use self::installation::Source;
use crate::claude_command::{self, Plugin};
use crate::current_state::{InstallPaths, Manifest, names};
use crate::{PLUGIN, Result};

longhaul_core::named! {
    /// How serious a finding is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        Ok = "ok",
        /// Nothing needs to be done.
        Note = "note",
        /// It works, but not as it should.
        Warning = "warning",
        Broken = "broken",
    }
}

/// What a check has found, and how to fix it.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub what: String,
    pub fix: Option<String>,
}

/// The findings of a check.
struct Report {
    check: &'static str,
    findings: Vec<Finding>,
}

impl Report {
    fn of(check: &'static str) -> Self {
        Self { check, findings: Vec::new() }
    }

    fn ok(&mut self, what: impl Into<String>) {
        self.push(Level::Ok, what.into(), None);
    }

    fn note(&mut self, what: impl Into<String>) {
        self.push(Level::Note, what.into(), None);
    }

    fn warning(&mut self, what: impl Into<String>, fix: impl Into<String>) {
        self.push(Level::Warning, what.into(), Some(fix.into()));
    }

    fn broken(&mut self, what: impl Into<String>, fix: impl Into<String>) {
        self.push(Level::Broken, what.into(), Some(fix.into()));
    }

    fn push(&mut self, level: Level, what: String, fix: Option<String>) {
        self.findings.push(Finding { check: self.check, level, what, fix });
    }

    fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Looks at one subject, changes nothing, and reports.
type Check = fn(&Facts<'_>, &mut Report);

/// Every check with its name, in the order in which the results are shown. A new check is added here.
const CHECKS: &[(&str, Check)] = &[
    ("executables", installation::executables),
    ("path", installation::path),
    ("versions", installation::versions),
    ("disabled", installation::disabled),
    ("client", installation::client),
    ("settings", installation::settings),
    ("hooks", installation::registration),
    ("launchers", installation::launchers),
    ("cache", installation::cache),
    ("fired", installation::fired),
    ("terminal", sessions::terminals),
    ("tmux", sessions::tmux),
    ("storage", storage::storage),
    ("database", storage::database),
    ("config", storage::config),
    ("permissions", storage::permissions),
    ("transcript", sessions::transcripts),
    ("conflicts", installation::peers),
    ("snapshots", storage::snapshots),
    ("space", storage::space),
    ("notifications", services::notifications),
    ("limits", services::limits),
    ("agents", other_agents::agents),
    ("sync", services::sync),
    ("worker", services::worker),
    ("model", services::model),
    ("embeddings", services::embeddings),
    ("bridge", services::bridge),
    ("keys", sessions::keys),
    ("codex", other_agents::codex),
];

/// Runs every check. `folder` is the current folder, whose project settings apply.
pub fn examine(env: &Env, shell: &Shell, exe: &Path, folder: &Path) -> Result<Vec<Finding>> {
    let facts = Facts::collect(env, shell, exe, folder)?;
    let reports = CHECKS.iter().map(|(name, check)| {
        let mut report = Report::of(name);
        check(&facts, &mut report);
        report.findings
    });
    Ok(reports.flatten().collect())
}

/// Claude Code's command line.
enum Client {
    /// It is not on the path.
    Missing,
    /// It returned an error.
    Failed(String),
    /// It does not answer in time.
    Hangs,
    Found(Vec<Plugin>),
}

impl Client {
    fn read(program: Option<&Path>) -> Self {
        let limit = waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR;
        match program.map(|program| claude_command::plugins_within(program, limit)) {
            None => Self::Missing,
            Some(None) => Self::Hangs,
            Some(Some(Err(error))) => Self::Failed(error.to_string()),
            Some(Some(Ok(plugins))) => Self::Found(plugins),
        }
    }

    /// Returns the installed plugins; none if it did not answer.
    fn plugins(&self) -> &[Plugin] {
        match self {
            Self::Found(plugins) => plugins,
            Self::Missing | Self::Failed(_) | Self::Hangs => &[],
        }
    }
}

/// What several checks need.
struct Facts<'a> {
    env: &'a Env,
    shell: &'a Shell,
    exe: &'a Path,
    /// The time now, in milliseconds.
    now: u64,
    paths: InstallPaths,
    /// The configuration and what is wrong with it; `Err` if it cannot be read.
    config: std::result::Result<(Config, Vec<Warning>), String>,
    manifest: Option<Manifest>,
    /// `claude` on the path.
    program: Option<PathBuf>,
    client: Client,
    /// The Claude Code processes that run now.
    running: Vec<ClientRecord>,
    /// The first `longhaul` on the path, with links resolved.
    on_path: Option<PathBuf>,
    /// Claude Code's settings files that apply here.
    settings: Vec<(PathBuf, Value)>,
    /// Those that are not JSON objects, each with the problem.
    broken_settings: Vec<(PathBuf, String)>,
    /// Where the hooks are registered.
    sources: Vec<Source>,
    tmux_confs: Vec<(PathBuf, String)>,
    /// Why nothing can be stored.
    storage: Option<StorageTrouble>,
    /// The time and the session of the last hook that ran.
    last_hook: Option<(u64, String)>,
}

impl<'a> Facts<'a> {
    fn collect(env: &'a Env, shell: &'a Shell, exe: &'a Path, folder: &Path) -> Result<Self> {
        let paths = InstallPaths::of(env, shell)?;
        let program = shell.client();
        let client = Client::read(program.as_deref());
        let (settings, broken_settings) = installation::settings_files(env, &paths, folder);
        let text = |path: &PathBuf| Some((path.clone(), bounded_read::text(path, bounded_read::LARGE).ok()?));
        Ok(Self {
            env,
            shell,
            exe,
            now: env.now.0,
            config: longhaul_runtime::config(env).map_err(|error| error.chain()),
            manifest: Manifest::load(&paths.manifest()),
            running: running_clients(env),
            on_path: shell.find(PLUGIN).into_iter().next().map(|path| fs::canonicalize(&path).unwrap_or(path)),
            sources: installation::sources(&client, &settings),
            tmux_confs: paths.tmux_confs.iter().filter_map(text).collect(),
            storage: StorageTrouble::look(paths.data.dir()),
            last_hook: last_hook(&paths.data.sessions()),
            program,
            client,
            settings,
            broken_settings,
            paths,
        })
    }

    fn config(&self) -> Option<&Config> {
        self.config.as_ref().ok().map(|(config, _)| config)
    }

    fn store(&self) -> Option<Store> {
        Store::open_to_read(&self.paths.data.database(), waiting_times::DATABASE_FOR_DOCTOR).ok()
    }
}

/// Every hook that does anything appends to its session's log.
fn last_hook(sessions: &Path) -> Option<(u64, String)> {
    let logs = names(sessions).into_iter().filter_map(|name| {
        let session = SessionId::from_file_stem(name.strip_suffix(".log")?)?;
        Some((written(&sessions.join(&name))?, session.to_string()))
    });
    logs.max()
}

/// Returns when a file was last written to, in milliseconds.
fn written(path: &Path) -> Option<u64> {
    let modified = path.metadata().ok()?.modified().ok()?;
    modified.duration_since(UNIX_EPOCH).ok().map(|since| since.as_millis() as u64)
}

/// Returns how long ago `at` was, such as `5m ago`.
fn ago(now: u64, at: u64) -> String {
    match now.saturating_sub(at) / 1000 {
        0..60 => "just now".to_owned(),
        seconds => format!("{} ago", longhaul_tracker::age(seconds)),
    }
}

/// How many items of a list are named.
const NAMED: usize = 5;

/// Returns the first of the names, and how many more there are.
fn few(names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let named = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        rest => format!("{named} and {rest} more"),
    }
}
