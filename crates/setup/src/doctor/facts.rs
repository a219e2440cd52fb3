//! The facts that the checks need, collected without changing anything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use longhaul_core::catalog::{self, Job};
use longhaul_core::config::Warning;
use longhaul_core::{Env, SessionId};
use longhaul_inject::TerminalCommand;
use longhaul_runtime::memory::meaning::ModelsState;
use longhaul_runtime::memory::salvage::SetAside;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::waiting_times::{self, DATABASE_FOR_DOCTOR};
use longhaul_runtime::{Shell, StorageTrouble, bounded_read, is_executable, run_program_in, running_clients, worker};
use longhaul_store::{Health, Schema, VectorStats};
use longhaul_universal_bundle::Location;

use super::installation::{self, Peer, Source};
use super::limits::LimitFacts;
use super::other_agents::{AgentFacts, CodexFacts};
use super::services::{ModelFacts, NotifyFacts, SyncFacts};
use super::sessions::KeyFacts;
use super::storage::{SnapshotFacts, Space};
use crate::claude_command::{self, Plugin};
use crate::current_state::{InstallPaths, Manifest, names};
use crate::tmux::{self, SetupState, setup_state};
use crate::{PLUGIN, Result};

/// Claude Code's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// It is not on the path.
    Missing,
    /// It returned an error.
    Failed(String),
    /// It does not answer in time.
    Hangs,
    /// It answers.
    Found(Vec<Plugin>),
}

impl Client {
    /// Returns the installed plugins; none if it did not answer.
    pub(super) fn plugins(&self) -> &[Plugin] {
        match self {
            Self::Found(plugins) => plugins,
            Self::Missing | Self::Failed(_) | Self::Hangs => &[],
        }
    }
}

/// The database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// Nothing was ever stored.
    Missing,
    /// There is one.
    Found {
        /// Its schema, if that can be read.
        schema: Option<Schema>,
        /// Whether it is damaged.
        health: Health,
        /// How much of its search index is built, if that can be read.
        index: Option<longhaul_store::IndexProgress>,
    },
}

/// tmux.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TmuxFacts {
    /// Whether it is installed.
    pub is_there: bool,
    /// The setup of the server in which this process runs; `None` outside tmux.
    pub server: Option<std::result::Result<SetupState, String>>,
    /// Whether the executable that the server runs does not exist any more.
    pub is_command_gone: bool,
    /// Whether a tmux.conf sets it up.
    pub has_line: bool,
    /// The program that the line of `install` runs, if the line exists and the program does not.
    pub missing_program: Option<PathBuf>,
}

/// The worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// It does not run.
    Off,
    /// It answers, on this port.
    Answers(u16),
    /// This process runs but does not answer.
    Silent(u32),
}

/// The module that Claude Code loads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BridgeFacts {
    /// The number of running Claude Code processes.
    pub clients: usize,
    /// The processes that have loaded it, each with its last error.
    pub loaded: Vec<(u32, Option<String>)>,
}

/// Everything that the checks need.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The time now, in milliseconds.
    pub now: u64,
    /// The paths of the installation.
    pub paths: InstallPaths,
    /// This executable.
    pub exe: PathBuf,
    /// Executables of the bundle that are not beside it.
    pub missing: Vec<&'static str>,
    /// Every `longhaul` on the path with links resolved, in the order of the path.
    pub on_path: Vec<PathBuf>,
    /// The manifest of the installation.
    pub manifest: Option<Manifest>,
    /// Claude Code's command line.
    pub client: Client,
    /// Where the hooks are registered.
    pub sources: Vec<Source>,
    /// Why the last session could not replace the launchers of a universal bundle.
    pub launcher_problem: Option<String>,
    /// The version of the `longhaul` that a shell starts.
    pub path_version: Option<String>,
    /// The settings file that disables all hooks.
    pub switched_off_by: Option<PathBuf>,
    /// Claude Code's settings files that are not JSON objects, each with the problem.
    pub broken_settings: Vec<(PathBuf, String)>,
    /// What sets `LONGHAUL_DISABLE=1`.
    pub disabled_by: Vec<String>,
    /// Why nothing can be stored.
    pub storage: Option<StorageTrouble>,
    /// Databases from before the first release that were renamed.
    pub unreleased: Vec<String>,
    /// The versions in Claude Code's cache.
    pub cached: Vec<String>,
    /// The time and the session of the last hook that ran.
    pub last_hook: Option<(u64, String)>,
    /// When a transcript was last written to.
    pub last_transcript: Option<u64>,
    /// Running sessions of which no hook has run.
    pub without_hooks: Vec<String>,
    /// Running sessions of people into whose terminal nothing can be typed, with the reason.
    pub untypable: Vec<(String, String)>,
    /// tmux.
    pub tmux: TmuxFacts,
    /// Files and folders that other users can read or write.
    pub open_to_others: Vec<PathBuf>,
    /// The database.
    pub database: Database,
    /// Damaged databases that were renamed.
    pub damaged: Vec<SetAside>,
    /// What is wrong with the configuration; `Err` if it cannot be read.
    pub config: std::result::Result<Vec<Warning>, String>,
    /// Sessions whose transcript does not exist, with its path.
    pub stale: Vec<(String, PathBuf)>,
    /// Other programs that do the same as one of the jobs.
    pub peers: Vec<Peer>,
    /// What Longhaul takes on the disk.
    pub space: Vec<Space>,
    /// Snapshots of files; `None` if they are disabled.
    pub snapshots: Option<SnapshotFacts>,
    /// Notifications.
    pub notify: NotifyFacts,
    /// What sessions may spend.
    pub limits: LimitFacts,
    /// The other agents that Longhaul is installed for.
    pub agents: Vec<AgentFacts>,
    /// The exchange with other machines.
    pub sync: SyncFacts,
    /// The worker.
    pub worker: Worker,
    /// The model that rewrites records; `None` if none is enabled.
    pub model: Option<ModelFacts>,
    /// The models that compute vectors; `None` if there is none.
    pub embeddings: Option<ModelsState>,
    /// How many vectors the memory has, for each model.
    pub vectors: Vec<VectorStats>,
    /// The module that Claude Code loads.
    pub bridge: BridgeFacts,
    /// The key that submits what is typed.
    pub keys: KeyFacts,
    /// Codex; `None` if it was never used here.
    pub codex: Option<CodexFacts>,
}

impl Facts {
    /// Collects the facts. `folder` is the current folder, whose project settings apply.
    pub fn collect(env: &Env, shell: &Shell, exe: &Path, folder: &Path) -> Result<Self> {
        let paths = InstallPaths::of(env, shell)?;
        let program = shell.client();
        let client = match program
            .as_ref()
            .map(|program| claude_command::plugins_within(program, waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR))
        {
            None => Client::Missing,
            Some(None) => Client::Hangs,
            Some(Some(Err(error))) => Client::Failed(error.to_string()),
            Some(Some(Ok(plugins))) => Client::Found(plugins),
        };
        let (files, broken_settings) = installation::settings_files(env, &paths, folder);
        let confs = paths
            .tmux_confs
            .iter()
            .filter_map(|path| Some((path.clone(), bounded_read::text(path, bounded_read::LARGE).ok()?)));
        let confs: Vec<(PathBuf, String)> = confs.collect();
        let config = longhaul_runtime::config(env);
        let on_path = shell.find(PLUGIN).into_iter().map(|path| fs::canonicalize(&path).unwrap_or(path));
        let on_path: Vec<PathBuf> = on_path.collect();
        Ok(Self {
            now: env.now.0,
            agents: AgentFacts::collect(env, shell, &paths),
            missing: missing(exe),
            exe: exe.to_owned(),
            path_version: on_path.first().and_then(|program| version_of(program)),
            on_path,
            manifest: Manifest::load(&paths.manifest()),
            sources: installation::sources(&client, &files),
            launcher_problem: bounded_read::text(&paths.data.launcher_problem(), bounded_read::SMALL).ok(),
            switched_off_by: installation::switched_off_by(&files),
            broken_settings,
            disabled_by: disabled_by(env, &files),
            storage: StorageTrouble::look(paths.data.dir()),
            unreleased: unreleased(paths.data.dir()),
            cached: names(&paths.cache().join(PLUGIN)),
            last_hook: last_hook(&paths.data.sessions()),
            last_transcript: last_transcript(&paths.client_dir),
            without_hooks: without_hooks(env, &paths),
            untypable: super::sessions::untypable(env, &paths),
            tmux: tmux(env, shell, &paths, &confs),
            open_to_others: open_to_others(paths.data.dir()),
            database: database(&paths.data.database()),
            damaged: paths.data.set_aside_databases(),
            config: config.map(|(_, warnings)| warnings).map_err(|error| error.chain()),
            stale: super::sessions::stale(&paths),
            peers: installation::peers(&client, &files, &confs),
            space: Space::collect(&paths),
            snapshots: SnapshotFacts::collect(env, &paths),
            notify: NotifyFacts::collect(env, &paths),
            limits: LimitFacts::collect(env, &paths),
            sync: SyncFacts::collect(env, &paths),
            worker: worker_of(&paths),
            model: ModelFacts::collect(env, &paths, program.as_deref()),
            embeddings: super::services::collect(env, &paths),
            vectors: super::services::vectors(&paths),
            bridge: bridge(env, &paths),
            keys: KeyFacts::collect(env, &paths, program.as_deref().filter(|_| matches!(client, Client::Found(_)))),
            codex: CodexFacts::collect(env, shell, &paths),
            client,
            paths,
        })
    }
}

/// Returns the plugin.json of the bundle that an executable is in.
fn bundle_of(exe: &Path) -> Option<serde_json::Value> {
    let about = Location::of(exe)?.bundle.join(".claude-plugin/plugin.json");
    serde_json::from_slice(&bounded_read::bytes(&about, bounded_read::LARGE).ok()?).ok()
}

/// Returns the version of a `longhaul`: that of its bundle, or the one that it prints.
fn version_of(program: &Path) -> Option<String> {
    if let Some(version) = bundle_of(program).and_then(|about| Some(about["version"].as_str()?.to_owned())) {
        return Some(version);
    }
    let argv = vec![program.to_str()?.to_owned(), "--version".to_owned()];
    let printed =
        run_program_in(Path::new("/"), &TerminalCommand { argv, stdin: None }, waiting_times::OTHER_VERSION).ok()?;
    printed.trim().strip_prefix("longhaul ").map(str::to_owned)
}

/// Returns what sets `LONGHAUL_DISABLE=1`: this environment, or Claude Code's settings files.
fn disabled_by(env: &Env, files: &[(PathBuf, serde_json::Value)]) -> Vec<String> {
    let here = env.disabled.then(|| "the environment".to_owned());
    let files = files.iter().filter(|(_, value)| value["env"]["LONGHAUL_DISABLE"] == "1");
    here.into_iter().chain(files.map(|(path, _)| path.display().to_string())).collect()
}

/// Returns the executables of the bundle that are not beside `exe`.
fn missing(exe: &Path) -> Vec<&'static str> {
    let about = bundle_of(exe);
    let job = about.as_ref().and_then(|about| installation::job_of(about["name"].as_str()?));
    let job = Job::ALL.into_iter().find(|known| job == Some(known.name()));
    catalog::executables(job).filter(|name| !is_executable(&exe.with_file_name(name))).collect()
}

/// Returns when a file was last written to, in milliseconds.
pub(super) fn written(path: &Path) -> Option<u64> {
    let modified = path.metadata().ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64)
}

/// Returns the databases from before the first release that were renamed.
fn unreleased(data: &Path) -> Vec<String> {
    let is_one =
        |name: &String| name.starts_with("longhaul.db.before-") && !name.ends_with("-wal") && !name.ends_with("-shm");
    names(data).into_iter().filter(is_one).collect()
}

/// Returns the time and the session of the last hook. Every hook that does anything appends to its session's log.
fn last_hook(sessions: &Path) -> Option<(u64, String)> {
    let logs = names(sessions).into_iter().filter_map(|name| {
        let session = SessionId::from_file_stem(name.strip_suffix(".log")?)?;
        Some((written(&sessions.join(&name))?, session.to_string()))
    });
    logs.max()
}

fn last_transcript(client_dir: &Path) -> Option<u64> {
    let projects = client_dir.join("projects");
    // Requests of the worker to a model run without hooks.
    let folders = names(&projects).into_iter().filter(|name| !name.ends_with("-longhaul-model"));
    let files = folders.flat_map(|folder| {
        let folder = projects.join(folder);
        names(&folder).into_iter().map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).filter_map(|path| written(&path)).max()
}

fn without_hooks(env: &Env, paths: &InstallPaths) -> Vec<String> {
    let is_known =
        |session: &str| SessionId::new(session).is_some_and(|id| paths.data.session_file(&id, "json").exists());
    running_clients(env).into_iter().map(|client| client.session).filter(|session| !is_known(session)).collect()
}

fn tmux(env: &Env, shell: &Shell, paths: &InstallPaths, confs: &[(PathBuf, String)]) -> TmuxFacts {
    let server = Server::of(env).map(|server| setup_state(&server).map_err(|error| error.chain()));
    let state = server.as_ref().and_then(|state| state.as_ref().ok());
    let has_our_line = confs.iter().any(|(_, text)| tmux::without_line(text).is_some());
    TmuxFacts {
        is_there: !shell.find("tmux").is_empty(),
        is_command_gone: state.is_some_and(|state| is_gone(&state.command)),
        missing_program: (has_our_line && !is_executable(&paths.link)).then(|| paths.link.clone()),
        server,
        has_line: confs.iter().any(|(_, text)| tmux::is_set_up(text)),
    }
}

/// Returns whether the executable in a server's command does not exist. It is the last of several quoted words.
fn is_gone(command: &str) -> bool {
    let program = command.rsplit(' ').next().unwrap_or(command).trim_matches('\'');
    // A path with spaces is not parsed: it counts as existing.
    program.starts_with('/') && !Path::new(program).exists()
}

/// Returns `path` and everything below it that other users can read or write.
fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let Ok(metadata) = path.symlink_metadata() else { return Vec::new() };
    if metadata.is_symlink() {
        return Vec::new();
    }
    let mut open: Vec<PathBuf> =
        (metadata.permissions().mode() & 0o077 != 0).then(|| path.to_owned()).into_iter().collect();
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        open.extend(entries.flat_map(|entry| open_to_others(&entry.path())));
    }
    open.sort();
    open
}

fn database(path: &Path) -> Database {
    if !path.exists() {
        return Database::Missing;
    }
    Database::Found {
        schema: longhaul_store::schema_of(path, DATABASE_FOR_DOCTOR),
        health: longhaul_store::health_of(path, DATABASE_FOR_DOCTOR),
        index: longhaul_store::index_progress_of(path, DATABASE_FOR_DOCTOR),
    }
}

fn bridge(env: &Env, paths: &InstallPaths) -> BridgeFacts {
    let running: Vec<u32> = running_clients(env).into_iter().map(|client| client.pid).collect();
    let known = longhaul_store::bridges_of(&paths.data.database(), DATABASE_FOR_DOCTOR).into_iter();
    BridgeFacts {
        clients: running.len(),
        loaded: known
            .filter(|bridge| running.contains(&bridge.client_pid))
            .map(|bridge| (bridge.client_pid, bridge.trouble))
            .collect(),
    }
}

fn worker_of(paths: &InstallPaths) -> Worker {
    match worker::running(&paths.data) {
        None => Worker::Off,
        Some(file) if file.ask("/api/health", waiting_times::WORKER_ANSWER).is_some() => Worker::Answers(file.port),
        Some(file) => Worker::Silent(file.pid),
    }
}
