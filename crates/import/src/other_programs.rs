//! Imports the data of other programs.
//!
//! Their files are read and never changed. Each record is imported once: a second run imports only new records, and
//! what the user deleted here is not imported again. The import may be killed at any time: every transaction is
//! complete, and the next run continues.

mod claude_mem;
mod folders;
mod keys;
mod tav;
mod throughline;
mod tracker;

use std::path::{Path, PathBuf};

use longhaul_core::{Config, Env, Millis, SessionId};
use longhaul_store::{Bulk, Session, Store};

use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Error, Home};

/// A program whose data can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// tav, for bookmarks.
    Tav,
    /// tmux-claude-agent-tracker, for the state of every session in tmux.
    Tracker,
    /// Throughline, for the handover after `/clear`.
    Throughline,
    /// claude-mem, for the memory.
    ClaudeMem,
}

impl Origin {
    /// All programs, in the order of the import. Settings come first, because they decide what may be remembered.
    pub const ALL: [Self; 4] = [Self::Tav, Self::Tracker, Self::Throughline, Self::ClaudeMem];

    /// Returns the name of the program, as in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tav => "tav",
            Self::Tracker => "tmux-claude-agent-tracker",
            Self::Throughline => "throughline",
            Self::ClaudeMem => "claude-mem",
        }
    }

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

    /// Returns a known session.
    fn session(&mut self, id: &SessionId) -> Result<Option<Session>, Trouble> {
        self.read().map_or(Ok(None), |store| store.session(id.as_str())).map_err(ours)
    }

    /// Returns whether a record was imported before.
    fn has(&mut self, origin: Origin, key: &str) -> Result<bool, Trouble> {
        self.read().map_or(Ok(false), |store| store.has_moved_in(origin.name(), key)).map_err(ours)
    }
}
