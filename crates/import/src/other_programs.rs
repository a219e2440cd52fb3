//! Imports the data of other programs.
//!
//! Their files are read and never changed. Each record is imported once: a second run imports only new records, and
//! what the user deleted here is not imported again. The import may be killed at any time: every transaction is
//! complete, and the next run continues. Settings are imported into the configuration file; values that the user has
//! set are kept.

mod claude_mem;
mod tav;
mod throughline;
mod tracker;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_core::config::new_problem;
use longhaul_core::{Config, Env, Millis, SessionId, json_text};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use longhaul_runtime::{Error, Home};
use longhaul_store::{Bulk, Session, Store};
use serde_json::Value;

use crate::transcripts::{sources, started_in};

longhaul_core::named! {
    /// A program whose data can be imported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Origin {
        /// tav, for bookmarks.
        Tav = "tav",
        /// tmux-claude-agent-tracker, for the state of every session in tmux.
        Tracker = "tmux-claude-agent-tracker",
        /// Throughline, for the handover after `/clear`.
        Throughline = "throughline",
        /// claude-mem, for the memory.
        ClaudeMem = "claude-mem",
    }
}

impl Origin {
    /// Returns the usual folder of its data, if it is known.
    pub fn usual_place(self, env: &Env) -> Option<PathBuf> {
        let home = env.home_dir.as_ref()?;
        Some(match self {
            Self::Tav => env.client_dir.clone().unwrap_or_else(|| home.join(".claude")).join("tav"),
            Self::Tracker => home.join(".tmux-claude-agent-tracker"),
            Self::Throughline => home.join(".throughline"),
            Self::ClaudeMem => home.join(".claude-mem"),
        })
    }

    /// Returns whether its data exists: its folder, or for the tracker its options in tmux.
    pub fn is_found(self, env: &Env, place: &Path) -> bool {
        place.is_dir() || (self == Self::Tracker && !tracker::options(env).is_empty())
    }
}

/// The result of importing from one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The program.
    pub origin: Origin,
    /// The folder of its data.
    pub place: PathBuf,
    /// The kinds of imported records, with their numbers.
    pub brought: Vec<(&'static str, usize)>,
    /// The kinds of records that were not imported, with their numbers and the reasons.
    pub left: Vec<(&'static str, usize, String)>,
    /// Imported settings: the key in the configuration, and its value.
    pub settings: Vec<(String, String)>,
    /// Advice for the user about the rest, line by line.
    pub advice: Vec<String>,
    /// The error that ended the import.
    pub failed: Option<String>,
}

impl Report {
    fn new(origin: Origin, place: PathBuf) -> Self {
        let (brought, left, settings) = (Vec::new(), Vec::new(), Vec::new());
        Self { origin, place, brought, left, settings, advice: Vec::new(), failed: None }
    }

    fn brings(&mut self, what: &'static str, count: usize) {
        match self.brought.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += count,
            None => self.brought.push((what, count)),
        }
    }

    fn leaves(&mut self, what: &'static str, count: usize, why: &str) {
        if count == 0 {
            return;
        }
        match self.left.iter_mut().find(|(known, _, because)| *known == what && because == why) {
            Some((_, sum, _)) => *sum += count,
            None => self.left.push((what, count, why.to_owned())),
        }
    }
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The data is imported.
    Move,
    /// The result is only computed.
    DryRun,
}

/// Progress of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The import from a program begins, with the number of its records.
    Begins(Origin, usize),
    /// This many more records are done.
    Done(usize),
    /// All records are done.
    Ends,
}

/// An import.
#[derive(Debug)]
pub struct Move<'a> {
    /// Clock and environment.
    pub env: &'a Env,
    /// The data folder.
    pub home: &'a Home,
    /// The effective configuration.
    pub config: &'a Config,
    /// Whether anything is written.
    pub mode: Mode,
}

impl Move<'_> {
    /// Imports from one program, whose files are in `place`.
    ///
    /// A problem with those files is in the report. An error means that Longhaul's own data cannot be read or written.
    pub fn from(&self, origin: Origin, place: PathBuf, progress: &mut dyn FnMut(Step)) -> Result<Report, Error> {
        let mut report = Report::new(origin, place);
        let done = match origin {
            Origin::Tav => tav::run(self, &mut report),
            Origin::Tracker => tracker::run(self, &mut report),
            Origin::Throughline => throughline::run(self, &mut report, progress),
            Origin::ClaudeMem => claude_mem::run(self, &mut report, progress),
        };
        match done {
            Ok(()) => {}
            Err(Trouble::Theirs(error)) => report.failed = Some(error.chain()),
            Err(Trouble::Ours(error)) => return Err(error),
        }
        Ok(report)
    }

    /// Returns the database `name` in the program's folder; `None`, with the reason in the report, if it cannot be
    /// imported.
    fn database(&self, report: &mut Report, name: &str) -> Option<PathBuf> {
        let path = report.place.join(name);
        if !path.exists() {
            report.leaves("databases", 1, &format!("{name} does not exist"));
            return None;
        }
        if !self.config.memory.enabled {
            report.leaves("databases", 1, "memory is switched off: set memory.enabled to true in the config");
            return None;
        }
        Some(path)
    }

    /// Opens Longhaul's database; `None` if it does not exist yet and nothing is to be written.
    fn store(&self) -> Result<Option<Store>, Trouble> {
        let store = match self.mode {
            Mode::Move => self.home.store(longhaul_runtime::waiting_times::DATABASE).map(Some),
            Mode::DryRun => self.home.existing_store(),
        };
        store.map_err(Trouble::Ours)
    }
}

/// Whose file cannot be used.
enum Trouble {
    Theirs(Error),
    Ours(Error),
}

/// Marks an error as one of the other program's files.
fn theirs(error: impl Into<Error>) -> Trouble {
    Trouble::Theirs(error.into())
}

/// Marks an error as one of Longhaul's own files.
fn ours(error: impl Into<Error>) -> Trouble {
    Trouble::Ours(error.into())
}

/// Adds a session unless it is known.
fn register(store: &Store, id: &SessionId, project: &Project, at: Millis) -> Result<(), Trouble> {
    store.register_session(&project.session(id, at)).map_err(ours)
}

/// The destination of records.
enum Sink<'a> {
    Store(Bulk<'a>),
    /// None: new records are only counted.
    Count(Option<&'a Store>),
}

impl<'a> Sink<'a> {
    fn new(mode: Mode, store: &'a mut Option<Store>) -> Result<Self, Trouble> {
        match (mode, store) {
            (Mode::Move, Some(store)) => Ok(Self::Store(store.bulk().map_err(ours)?)),
            (_, store) => Ok(Self::Count(store.as_ref())),
        }
    }

    /// Returns Longhaul's database for reading; `None` if it does not exist yet.
    fn read(&mut self) -> Option<&Store> {
        match self {
            Self::Store(bulk) => Some(bulk.plain()),
            Self::Count(store) => *store,
        }
    }

    fn session(&mut self, id: &SessionId) -> Result<Option<Session>, Trouble> {
        self.read().map_or(Ok(None), |store| store.session(id.as_str())).map_err(ours)
    }

    /// Returns whether a record was imported before.
    fn has(&mut self, origin: Origin, key: &str) -> Result<bool, Trouble> {
        self.read().map_or(Ok(false), |store| store.has_moved_in(origin.as_str(), key)).map_err(ours)
    }
}

/// What is known of sessions and projects.
struct Folders {
    /// Claude Code's transcripts, by session.
    transcripts: HashMap<String, PathBuf>,
    /// Projects by name; `None` if several have that name.
    named: HashMap<String, Option<Project>>,
    /// Projects by folder, so that git files are read once for each.
    folders: HashMap<PathBuf, Project>,
}

impl Folders {
    /// Finds the transcripts in Claude Code's folder.
    fn new(client_dir: Option<&Path>) -> Self {
        let found = client_dir.and_then(|dir| sources(&dir.join("projects")).ok()).unwrap_or_default();
        let stem = |path: &Path| SessionId::new(path.file_stem()?.to_str()?).map(|id| id.to_string());
        let transcripts = found.into_iter().filter_map(|source| Some((stem(&source.path)?, source.path))).collect();
        Self { transcripts, named: HashMap::new(), folders: HashMap::new() }
    }

    /// Returns whether the transcript of a session still exists.
    fn has_transcript(&self, session: &SessionId) -> bool {
        self.transcripts.contains_key(session.as_str())
    }

    /// Returns the project of a session from Longhaul's database or its transcript, and records it by name.
    fn of_session(&mut self, store: Option<&Store>, session: &SessionId, name: &str) -> Result<Option<Project>, Error> {
        let known = store.map_or(Ok(None), |store| store.session(session.as_str()))?;
        let project = match known {
            Some(known) => Some(Project { name: known.project, key: known.project_key, path: known.project_path }),
            None => {
                let transcript = self.transcripts.get(session.as_str());
                let folder = transcript.and_then(|path| started_in(path).ok().flatten());
                folder.map(|folder| self.in_folder(&folder))
            }
        };
        if let Some(project) = &project {
            let seen = self.named.entry(name.to_owned()).or_insert_with(|| Some(project.clone()));
            // Two projects have the same name, so that it identifies neither.
            if seen.as_ref().is_some_and(|seen| seen.key != project.key) {
                *seen = None;
            }
        }
        Ok(project)
    }

    fn named(&self, name: &str) -> Option<Project> {
        self.named.get(name).cloned().flatten()
    }

    fn in_folder(&mut self, folder: &Path) -> Project {
        self.folders.entry(folder.to_owned()).or_insert_with(|| Project::in_dir(folder)).clone()
    }

    /// Returns the project of a file with an absolute path, if one of its parent folders has the name.
    fn of_file(&mut self, file: &str, name: &str) -> Option<Project> {
        let path = Path::new(file);
        // The name of a worktree may contain that of its repository.
        let leaf = name.rsplit('/').next().filter(|leaf| !leaf.is_empty())?;
        let mut above = path.is_absolute().then(|| path.ancestors().skip(1))?;
        let folder = above.find(|folder| folder.file_name().is_some_and(|name| name == leaf))?.to_owned();
        Some(self.in_folder(&folder))
    }
}

/// A setting to import.
struct TheirSetting {
    /// The key in the other program.
    theirs: String,
    /// The key in Longhaul; `None` if there is none.
    ours: Option<String>,
    value: Value,
}

/// The new configuration file, and the result for each setting.
#[derive(Default)]
struct Brought {
    text: String,
    /// The keys that were added, with their values.
    added: Vec<(String, String)>,
    /// The reasons why the others were not added.
    left: Vec<String>,
}

/// Why nothing is added.
enum Hindrance {
    /// The file is not a JSON object.
    NotObject,
    Failed(Error),
}

impl From<Error> for Hindrance {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Adds settings to the configuration file unless they are set there. Returns the configuration that is, or would be,
/// in effect then.
fn bring_settings(mover: &Move<'_>, report: &mut Report, wanted: Vec<TheirSetting>) -> Result<Config, Trouble> {
    let Some(path) = mover.env.config_path.as_deref().filter(|_| !wanted.is_empty()) else {
        return Ok(mover.config.clone());
    };
    let brought = match mover.mode {
        Mode::DryRun => would_put_settings(path, &wanted),
        Mode::Move => put_settings(path, &wanted),
    };
    match brought {
        Ok(brought) => {
            for why in brought.left {
                report.leaves("settings", 1, &why);
            }
            let config =
                if brought.added.is_empty() { mover.config.clone() } else { Config::from_json(&brought.text).0 };
            report.settings.extend(brought.added);
            Ok(config)
        }
        Err(Hindrance::NotObject) => {
            let why = format!("{} is not a JSON object: fix it, then import again", path.display());
            report.leaves("settings", wanted.len(), &why);
            Ok(mover.config.clone())
        }
        Err(Hindrance::Failed(error)) => Err(ours(error)),
    }
}

fn put_settings(path: &Path, wanted: &[TheirSetting]) -> Result<Brought, Hindrance> {
    let brought = RefCell::new(Brought::default());
    shared_file::change(path, (Backup::None, NewFile::Private), |text| {
        let new = add_settings(path, text, wanted)?;
        let changed = (!new.added.is_empty()).then(|| new.text.clone());
        brought.replace(new);
        Ok::<_, Hindrance>(changed)
    })?;
    Ok(brought.into_inner())
}

/// Returns the result that [`put`] would have.
fn would_put_settings(path: &Path, wanted: &[TheirSetting]) -> Result<Brought, Hindrance> {
    add_settings(path, shared_file::read(path)?.as_deref(), wanted)
}

/// Adds settings to the text of the file, unless they are set there.
fn add_settings(path: &Path, text: Option<&str>, wanted: &[TheirSetting]) -> Result<Brought, Hindrance> {
    let is_object = |text: &str| json_text::from_file::<Value>(text.as_bytes()).is_ok_and(|value| value.is_object());
    if !text.is_none_or(is_object) {
        return Err(Hindrance::NotObject);
    }
    let mut brought = Brought { text: text.unwrap_or_default().to_owned(), ..Brought::default() };
    for TheirSetting { theirs, ours, value } in wanted {
        let Some(key) = ours else {
            brought.left.push(format!("{theirs} has no counterpart here"));
            continue;
        };
        let keys: Vec<&str> = key.split('.').collect();
        let now: Value = json_text::from_file(brought.text.as_bytes()).unwrap_or_default();
        match (now.pointer(&format!("/{}", keys.join("/"))), json_text::insert(&brought.text, &keys, value)) {
            (Some(set), _) if set == value => brought.left.push(format!("{key} already has that value")),
            (Some(set), _) => brought.left.push(format!("{key} is set to {set} here, not to {value}")),
            (None, Some(with)) => match new_problem(&brought.text, &with) {
                Some(why) => brought.left.push(format!("{theirs} cannot be used: {}", why.problem)),
                None => {
                    brought.added.push((key.clone(), value.to_string()));
                    brought.text = with;
                }
            },
            (None, None) => brought.left.push(format!("{key} has no place in {}", path.display())),
        }
    }
    Ok(brought)
}
