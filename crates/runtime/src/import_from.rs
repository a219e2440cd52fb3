//! Moving in: what the programs that came before have kept, taken over.
//!
//! Their files are read and never changed. Each record comes over once: a second run brings only what is new there, and
//! what was forgotten here stays forgotten. May be killed at any moment: what is stored is stored whole, and the next run
//! carries on.

mod claude_mem;
mod folders;
mod keys;
mod tav;
mod throughline;
mod tracker;

use std::path::{Path, PathBuf};

use longhaul_core::{Config, Env, Millis, SessionId};
use longhaul_store::{Bulk, Session, Store};

use crate::handoff::Project;
use crate::{Error, Home};

/// A program that came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Bookmarks.
    Tav,
    /// Every agent's state in tmux.
    Tracker,
    /// Handing over after `/clear`.
    Throughline,
    /// Memory.
    ClaudeMem,
}

impl Origin {
    /// Every one, in the order in which they are taken over: settings first, as they say what may be remembered.
    pub const ALL: [Self; 4] = [Self::Tav, Self::Tracker, Self::Throughline, Self::ClaudeMem];

    /// Returns the name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tav => "tav",
            Self::Tracker => "tmux-claude-agent-tracker",
            Self::Throughline => "throughline",
            Self::ClaudeMem => "claude-mem",
        }
    }

    /// Returns where it keeps what it has, if that is known.
    pub fn usual_place(self, env: &Env) -> Option<PathBuf> {
        let home = env.home_dir.as_ref()?;
        Some(match self {
            Self::Tav => env.client_dir.clone().unwrap_or_else(|| home.join(".claude")).join("tav"),
            Self::Tracker => home.join(".tmux-claude-agent-tracker"),
            Self::Throughline => home.join(".throughline"),
            Self::ClaudeMem => home.join(".claude-mem"),
        })
    }

    /// Returns whether it is there: its folder, or, of the one that is set up in tmux, its options.
    pub fn is_found(self, env: &Env, place: &Path) -> bool {
        place.is_dir() || (self == Self::Tracker && !tracker::options(env).is_empty())
    }
}

/// What came over from a program, and what did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The program.
    pub origin: Origin,
    /// Where it keeps what it has.
    pub place: PathBuf,
    /// What came over, and how much of it.
    pub brought: Vec<(&'static str, usize)>,
    /// What did not, how much of it, and why.
    pub left: Vec<(&'static str, usize, String)>,
    /// Settings that came over: the key in our config, and its value.
    pub settings: Vec<(String, String)>,
    /// What the user may do about the rest, line by line.
    pub advice: Vec<String>,
    /// Why it was given up.
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
    /// It comes over.
    Move,
    /// It is only said what would.
    DryRun,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A program's records begin, so many of them.
    Begins(Origin, usize),
    /// So many more are done.
    Done(usize),
    /// They are all done.
    Ends,
}

/// Takes over.
#[derive(Debug)]
pub struct Move<'a> {
    /// Clock and environment.
    pub env: &'a Env,
    /// Where things are stored.
    pub home: &'a Home,
    /// The configuration in force.
    pub config: &'a Config,
    /// Whether anything is written.
    pub mode: Mode,
}

impl Move<'_> {
    /// Takes over from one program, whose files are in `place`.
    ///
    /// What is wrong with those is in the report; an error means that ours cannot be read or written.
    pub fn from(&self, origin: Origin, place: PathBuf, tell: &mut dyn FnMut(Step)) -> Result<Report, Error> {
        let mut report = Report::new(origin, place);
        let done = match origin {
            Origin::Tav => tav::run(self, &mut report),
            Origin::Tracker => tracker::run(self, &mut report),
            Origin::Throughline => throughline::run(self, &mut report, tell),
            Origin::ClaudeMem => claude_mem::run(self, &mut report, tell),
        };
        match done {
            Ok(()) => {}
            Err(Trouble::Theirs(error)) => report.failed = Some(error.chain()),
            Err(Trouble::Ours(error)) => return Err(error),
        }
        Ok(report)
    }

    /// Returns the database of this name in the program's folder; `None`, with the reason, where none is to be read.
    fn database(&self, report: &mut Report, name: &str) -> Option<PathBuf> {
        let path = report.place.join(name);
        if !path.exists() {
            report.leaves("databases", 1, &format!("{name} is not there"));
            return None;
        }
        if !self.config.memory.enabled {
            report.leaves("databases", 1, "memory is switched off: set memory.enabled to true in the config");
            return None;
        }
        Some(path)
    }

    /// Opens our database; `None` where there is none yet and nothing is to be written.
    fn store(&self) -> Result<Option<Store>, Trouble> {
        let store = match self.mode {
            Mode::Move => self.home.store(crate::waiting_times::DATABASE).map(Some),
            Mode::DryRun => self.home.existing_store(),
        };
        store.map_err(Trouble::Ours)
    }
}

/// Whose file it is that cannot be used.
enum Trouble {
    Theirs(Error),
    Ours(Error),
}

/// Says that an error is about another program's files.
fn theirs(error: impl Into<Error>) -> Trouble {
    Trouble::Theirs(error.into())
}

/// Says that an error is about our own.
fn ours(error: impl Into<Error>) -> Trouble {
    Trouble::Ours(error.into())
}

/// Adds a session, or leaves it as it is where it is known.
fn register(store: &Store, id: &SessionId, project: &Project, at: Millis) -> Result<(), Trouble> {
    store.register_session(&project.session(id, at)).map_err(ours)
}

/// Where records go.
enum Sink<'a> {
    Store(Bulk<'a>),
    /// Nowhere: it is only looked at what is new.
    Count(Option<&'a Store>),
}

impl<'a> Sink<'a> {
    fn new(mode: Mode, store: &'a mut Option<Store>) -> Result<Self, Trouble> {
        match (mode, store) {
            (Mode::Move, Some(store)) => Ok(Self::Store(store.bulk().map_err(ours)?)),
            (_, store) => Ok(Self::Count(store.as_ref())),
        }
    }

    /// Returns our database as it can be read; `None` where there is none yet.
    fn read(&mut self) -> Option<&Store> {
        match self {
            Self::Store(bulk) => Some(bulk.plain()),
            Self::Count(store) => *store,
        }
    }

    /// Returns a session that we know.
    fn session(&mut self, id: &SessionId) -> Result<Option<Session>, Trouble> {
        self.read().map_or(Ok(None), |store| store.session(id.as_str())).map_err(ours)
    }

    /// Returns whether a record has come over before.
    fn has(&mut self, origin: Origin, key: &str) -> Result<bool, Trouble> {
        self.read().map_or(Ok(false), |store| store.has_moved_in(origin.name(), key)).map_err(ours)
    }
}
