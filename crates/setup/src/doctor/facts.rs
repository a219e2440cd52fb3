//! What there is to know, read without changing anything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use longhaul_core::catalog::{self, Job};
use longhaul_core::{Env, SessionId};
use longhaul_inject::TerminalCommand;
use longhaul_runtime::tmux::{Server, SetupState};
use longhaul_runtime::{Shell, StorageTrouble, bounded_read, is_executable, run_program_in, running_clients, worker};
use longhaul_store::Health;

use super::keys::KeyFacts;
use super::model::ModelFacts;
use super::registered::{self, Peer, Source};
use crate::client::{self, Plugin};
use crate::current_state::names;
use crate::manifest::Manifest;
use crate::paths::Places;
use crate::{PLUGIN, Result, tmux_conf};

/// How long the client may take to list its plugins. It starts within a second or two, and a person waits.
pub(super) const CLIENT_LIMIT: Duration = Duration::from_secs(6);

/// How long another `longhaul` may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(2);

/// How long the worker may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The client's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// There is none on the path.
    Missing,
    /// It does not answer as it should.
    Failed(String),
    /// It does not answer in time.
    Hangs,
    /// It answers.
    Found(Vec<Plugin>),
}

impl Client {
    /// Returns the plugins that it has installed, as far as it told.
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
        /// Its schema, where that can be read.
        schema: Option<u32>,
        /// Whether it is damaged.
        health: Health,
        /// How far its search index is built, where that can be read.
        index: Option<longhaul_store::IndexProgress>,
    },
}

/// tmux.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TmuxFacts {
    /// Whether it is installed.
    pub is_there: bool,
    /// What the server that this runs in says about its setup; `None` outside tmux.
    pub server: Option<std::result::Result<SetupState, String>>,
    /// Whether what the server was told to run is not there any more.
    pub is_command_gone: bool,
    /// Whether a tmux.conf sets it up.
    pub has_line: bool,
    /// The program that the line of `install` runs, where the line is there and the program is not.
    pub missing_program: Option<PathBuf>,
}

/// The worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// None runs.
    Off,
    /// It answers, on this port.
    Answers(u16),
    /// This process does not.
    Silent(u32),
}

/// The client's own module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BridgeFacts {
    /// Whether it is wanted.
    pub is_wanted: bool,
    /// How many clients run.
    pub clients: usize,
    /// Those of them that have loaded it, each with what it could not do last.
    pub loaded: Vec<(u32, Option<String>)>,
}

/// What there is to know.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The time now, in milliseconds.
    pub now: u64,
    /// Where everything is.
    pub places: Places,
    /// This executable.
    pub exe: PathBuf,
    /// Executables that do not lie beside it, though its bundle has them.
    pub missing: Vec<&'static str>,
    /// Every `longhaul` on the path, without links; the one that a shell starts first.
    pub on_path: Vec<PathBuf>,
    /// What was installed.
    pub manifest: Option<Manifest>,
    /// The client.
    pub client: Client,
    /// Who is told of our hooks.
    pub sources: Vec<Source>,
    /// The version of the `longhaul` that a shell starts.
    pub path_version: Option<String>,
    /// The file that switches all hooks off.
    pub switched_off_by: Option<PathBuf>,
    /// Settings files of the client that are no JSON objects, each with what is wrong.
    pub broken_settings: Vec<(PathBuf, String)>,
    /// What sets `LONGHAUL_DISABLE=1`.
    pub disabled_by: Vec<String>,
    /// Why nothing can be stored.
    pub storage: Option<StorageTrouble>,
    /// The versions in the client's cache.
    pub cached: Vec<String>,
    /// The newest hook that left a trace: when, and of which session.
    pub last_hook: Option<(u64, String)>,
    /// When a transcript was last written to.
    pub last_transcript: Option<u64>,
    /// Sessions that run, and of which no hook has told.
    pub unheard: Vec<String>,
    /// tmux.
    pub tmux: TmuxFacts,
    /// Files and folders that others may read or write.
    pub open_to_others: Vec<PathBuf>,
    /// The database.
    pub database: Database,
    /// Databases that were set aside.
    pub damaged: Vec<String>,
    /// What is wrong with the configuration; `Err` where it cannot be read.
    pub config: std::result::Result<Vec<String>, String>,
    /// Sessions whose transcript is not where they said, with where that is.
    pub stale: Vec<(String, PathBuf)>,
    /// Programs that do one of our jobs.
    pub peers: Vec<Peer>,
    /// The worker.
    pub worker: Worker,
    /// The model that puts records into words; `None` where none is wanted.
    pub model: Option<ModelFacts>,
    /// The client's own module.
    pub bridge: BridgeFacts,
    /// The key that submits what is typed.
    pub keys: KeyFacts,
}

impl Facts {
    /// Looks, from a session's folder or any other.
    pub fn look(env: &Env, shell: &Shell, exe: &Path, folder: &Path) -> Result<Self> {
        let places = Places::of(env, shell)?;
        let program = shell.client();
        let client = match program.as_ref().map(|program| client::plugins_within(program, CLIENT_LIMIT)) {
            None => Client::Missing,
            Some(None) => Client::Hangs,
            Some(Some(Err(error))) => Client::Failed(error.to_string()),
            Some(Some(Ok(plugins))) => Client::Found(plugins),
        };
        let (files, broken_settings) = registered::settings_files(env, &places, folder);
        let confs = places
            .tmux_confs
            .iter()
            .filter_map(|path| Some((path.clone(), bounded_read::text(path, bounded_read::LARGE).ok()?)));
        let confs: Vec<(PathBuf, String)> = confs.collect();
        let config = longhaul_runtime::config(env);
        let on_path = shell.find(PLUGIN).into_iter().map(|path| fs::canonicalize(&path).unwrap_or(path));
        let on_path: Vec<PathBuf> = on_path.collect();
        Ok(Self {
            now: env.now.0,
            missing: missing(exe),
            exe: exe.to_owned(),
            path_version: on_path.first().and_then(|program| version_of(program)),
            on_path,
            manifest: Manifest::load(&places.manifest()),
            sources: registered::sources(&client, &files),
            switched_off_by: registered::switched_off_by(&files),
            broken_settings,
            disabled_by: disabled_by(env, &files),
            storage: StorageTrouble::look(places.data.dir()),
            cached: names(&places.cache().join(PLUGIN)),
            last_hook: last_hook(&places.data.sessions()),
            last_transcript: last_transcript(&places.client_dir),
            unheard: unheard(env, &places),
            tmux: tmux(env, shell, &places, &confs),
            open_to_others: open_to_others(places.data.dir()),
            database: database(&places.data.database()),
            damaged: names(places.data.dir()).into_iter().filter(|name| is_set_aside(name)).collect(),
            config: config
                .map(|(_, warnings)| warnings.iter().map(ToString::to_string).collect())
                .map_err(|error| error.chain()),
            stale: super::sessions::stale(&places),
            peers: registered::peers(&client, &files, &confs),
            worker: worker_of(&places),
            model: ModelFacts::look(env, &places, exe, program.as_deref()),
            bridge: bridge(env, &places),
            keys: KeyFacts::look(env, &places, program.as_deref().filter(|_| matches!(client, Client::Found(_)))),
            client,
            places,
        })
    }
}

/// Returns what the bundle in which an executable lies says of itself.
fn bundle_of(exe: &Path) -> Option<serde_json::Value> {
    let about = exe.parent()?.parent()?.join(".claude-plugin/plugin.json");
    serde_json::from_slice(&bounded_read::bytes(&about, bounded_read::LARGE).ok()?).ok()
}

/// Returns the version of a `longhaul`: that of its bundle, else what it says itself.
fn version_of(program: &Path) -> Option<String> {
    if let Some(version) = bundle_of(program).and_then(|about| Some(about["version"].as_str()?.to_owned())) {
        return Some(version);
    }
    let argv = vec![program.to_str()?.to_owned(), "--version".to_owned()];
    let printed = run_program_in(Path::new("/"), &TerminalCommand { argv, stdin: None }, VERSION_LIMIT).ok()?;
    printed.trim().strip_prefix("longhaul ").map(str::to_owned)
}

/// Returns what sets `LONGHAUL_DISABLE=1`: this environment, or the client's settings for its sessions.
fn disabled_by(env: &Env, files: &[(PathBuf, serde_json::Value)]) -> Vec<String> {
    let here = env.disabled.then(|| "the environment".to_owned());
    let files = files.iter().filter(|(_, value)| value["env"]["LONGHAUL_DISABLE"] == "1");
    here.into_iter().chain(files.map(|(path, _)| path.display().to_string())).collect()
}

/// Returns the executables that do not lie beside `exe`, though its bundle has them.
fn missing(exe: &Path) -> Vec<&'static str> {
    let about = bundle_of(exe);
    let job = about.as_ref().and_then(|about| registered::job_of(about["name"].as_str()?));
    let job = Job::ALL.into_iter().find(|known| job == Some(known.name()));
    catalog::executables(job).filter(|name| !is_executable(&exe.with_file_name(name))).collect()
}

fn is_set_aside(name: &str) -> bool {
    name.starts_with("longhaul.db.damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm")
}

/// Returns when a file was last written to, in milliseconds.
pub(super) fn written(path: &Path) -> Option<u64> {
    let modified = path.metadata().ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64)
}

/// Every hook that does anything appends to its session's log.
fn last_hook(sessions: &Path) -> Option<(u64, String)> {
    let logs = names(sessions).into_iter().filter_map(|name| {
        let session = SessionId::from_file_stem(name.strip_suffix(".log")?)?;
        Some((written(&sessions.join(&name))?, session.to_string()))
    });
    logs.max()
}

fn last_transcript(client_dir: &Path) -> Option<u64> {
    let projects = client_dir.join("projects");
    // What a model was asked of on our own behalf has no hooks.
    let folders = names(&projects).into_iter().filter(|name| !name.ends_with("-longhaul-model"));
    let files = folders.flat_map(|folder| {
        let folder = projects.join(folder);
        names(&folder).into_iter().map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).filter_map(|path| written(&path)).max()
}

fn unheard(env: &Env, places: &Places) -> Vec<String> {
    let is_known =
        |session: &str| SessionId::new(session).is_some_and(|id| places.data.session_file(&id, "json").exists());
    running_clients(env).into_iter().map(|client| client.session).filter(|session| !is_known(session)).collect()
}

fn tmux(env: &Env, shell: &Shell, places: &Places, confs: &[(PathBuf, String)]) -> TmuxFacts {
    let server = Server::of(env).map(|server| server.setup_state().map_err(|error| error.chain()));
    let state = server.as_ref().and_then(|state| state.as_ref().ok());
    let has_our_line = confs.iter().any(|(_, text)| tmux_conf::without_line(text).is_some());
    TmuxFacts {
        is_there: !shell.find("tmux").is_empty(),
        is_command_gone: state.is_some_and(|state| is_gone(&state.command)),
        missing_program: (has_our_line && !is_executable(&places.link)).then(|| places.link.clone()),
        server,
        has_line: confs.iter().any(|(_, text)| tmux_conf::is_set_up(text)),
    }
}

/// Returns whether the executable in a server's command is gone; it is the last of several quoted words.
fn is_gone(command: &str) -> bool {
    let program = command.rsplit(' ').next().unwrap_or(command).trim_matches('\'');
    // A path with spaces in it is not taken apart: it counts as there.
    program.starts_with('/') && !Path::new(program).exists()
}

/// Returns what below `path`, itself included, anybody but its owner may read or write.
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
        schema: longhaul_store::schema_of(path),
        health: longhaul_store::health_of(path),
        index: longhaul_store::index_progress_of(path),
    }
}

fn bridge(env: &Env, places: &Places) -> BridgeFacts {
    let running: Vec<u32> = running_clients(env).into_iter().map(|client| client.pid).collect();
    let known = longhaul_store::bridges_of(&places.data.database()).into_iter();
    BridgeFacts {
        is_wanted: longhaul_runtime::config(env).is_ok_and(|(config, _)| config.bridge.enabled),
        clients: running.len(),
        loaded: known
            .filter(|bridge| running.contains(&bridge.client_pid))
            .map(|bridge| (bridge.client_pid, bridge.trouble))
            .collect(),
    }
}

fn worker_of(places: &Places) -> Worker {
    match worker::running(&places.data) {
        None => Worker::Off,
        Some(file) if file.ask("/api/health", PATIENCE).is_some() => Worker::Answers(file.port),
        Some(file) => Worker::Silent(file.pid),
    }
}
