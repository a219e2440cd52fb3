//! Imports past sessions from the transcripts of Claude Code and Codex.
//!
//! Everything is stored under the ids in the transcript, so that reading it again changes nothing, whether an earlier
//! import was interrupted or hooks have stored the same before. The list of transcripts that were read completely only
//! saves time: a transcript that is missing in it is read again, without changing anything.

mod reading;
mod writing;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use longhaul_core::{Config, Env, Millis, SessionId};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Error, Home, TranscriptFile, bounded_read, files};
use longhaul_store::{Bulk, NewSession, Session, Store};
use longhaul_transcript::{RolloutName, SessionMeta, parse_timestamp};
use serde::{Deserialize, Serialize};

use self::reading::{ReaderMessage, WAITING, read_all};
use self::writing::Writer;

pub(crate) use self::reading::{Part, RecordBuilder};
pub(crate) use self::writing::past_turn;

/// The prefix of transcripts of subagents, which older versions of Claude Code write beside those of the sessions.
const SIDECHAIN: &str = "agent-";

/// The prefix of Codex's rollouts.
const ROLLOUT: &str = "rollout-";

/// Maximum depth of rollouts: year, month, day.
const DEEPEST: usize = 4;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// Modification time, in milliseconds since the Unix epoch.
    modified: u64,
}

/// The result for a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Read,
    /// It was read before and has not changed.
    Unchanged,
    /// It contains nothing.
    Empty,
    Excluded,
    /// It could not be read; see [`Imported::failed`].
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Transcripts that were read.
    pub files: usize,
    /// Transcripts that have not changed since an earlier import.
    pub unchanged: usize,
    pub excluded: usize,
    pub bytes: u64,
    pub sessions: usize,
    pub prompts: usize,
    pub observations: usize,
    /// Summaries that are new or have changed.
    pub summaries: usize,
    /// Transcripts that could not be read, with the reasons.
    pub failed: Vec<(PathBuf, String)>,
}

impl Imported {
    fn count(&mut self, source: &Source, outcome: Outcome) {
        match outcome {
            Outcome::Read => {
                self.files += 1;
                self.bytes += source.bytes;
            }
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Excluded => self.excluded += 1,
            Outcome::Empty | Outcome::Failed => {}
        }
    }
}

/// Returns the transcripts in a folder and its subfolders, the most recently changed last.
///
/// In this order the numbers of records grow with time, as they do for records of hooks.
///
/// Codex's rollouts are deeper, in a folder for each day. A compressed rollout is ignored if the plain one exists
/// beside it.
pub fn sources(dir: &Path) -> Result<Vec<Source>, Error> {
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_folder(&mut found, &path, 1);
        } else {
            found.extend(source(path));
        }
    }
    found.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    Ok(found)
}

/// Adds the transcripts in a folder. An unreadable folder, perhaps of another user, is skipped.
fn add_folder(found: &mut Vec<Source>, dir: &Path, depth: usize) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if depth < DEEPEST && path.is_dir() {
            add_folder(found, &path, depth + 1);
        } else if depth == 1 || is_rollout(&path) {
            found.extend(source(path));
        }
    }
}

fn is_rollout(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(ROLLOUT))
}

/// Returns the session of a transcript by the name of the file.
fn session_of(path: &Path) -> Option<SessionId> {
    if is_rollout(path) {
        return SessionId::codex(RolloutName::of(path)?.session);
    }
    SessionId::new(path.file_name()?.to_str()?.strip_suffix(".jsonl")?)
}

fn source(path: PathBuf) -> Option<Source> {
    let name = path.file_name()?.to_str()?;
    let is_packed = name.starts_with(ROLLOUT) && name.ends_with(".jsonl.zst") && !path.with_extension("").exists();
    if !(name.ends_with(".jsonl") || is_packed) || name.starts_with(SIDECHAIN) {
        return None;
    }
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = files::since_epoch(metadata.modified().ok()?)?;
    Some(Source { bytes: metadata.len(), modified: modified.0, path })
}

struct Task<'a> {
    source: &'a Source,
    id: SessionId,
    /// The session, if hooks or an earlier import have stored it.
    known: Option<Session>,
    is_unchanged: bool,
}

/// Imports past sessions. Calls `show` with the result of each transcript.
///
/// May be killed at any time: the next import continues. An unreadable transcript does not stop the import; a database
/// that cannot be written does.
pub fn import(
    store: &mut Store,
    home: &Home,
    env: &Env,
    config: &Config,
    sources: &[Source],
    mut show: impl FnMut(&Source, Outcome),
) -> Result<Imported, Error> {
    let mut ledger = Ledger::open(home)?;
    let tasks = tasks(store, sources, &ledger)?;
    let bulk = store.bulk()?;
    let mut imported = Imported::default();
    thread::scope(|scope| {
        let (to, from) = sync_channel(WAITING);
        let tasks = &tasks;
        scope.spawn(move || read_all(tasks, env, config, &to));
        for task in tasks {
            let outcome = match task.is_unchanged {
                true => Outcome::Unchanged,
                false => write(&bulk, env, config, task, &from, &mut imported)?,
            };
            imported.count(task.source, outcome);
            if outcome == Outcome::Read {
                ledger.add(task.source)?;
            }
            show(task.source, outcome);
        }
        Ok::<(), Error>(())
    })?;
    ledger.tidy()?;
    Ok(imported)
}

fn tasks<'a>(store: &Store, sources: &'a [Source], ledger: &Ledger) -> Result<Vec<Task<'a>>, Error> {
    let mut tasks = Vec::with_capacity(sources.len());
    for source in in_order(sources) {
        let Some(id) = session_of(&source.path) else { continue };
        let known = store.session(id.as_str())?;
        let is_unchanged = known.is_some() && ledger.has(source);
        tasks.push(Task { source, id, known, is_unchanged });
    }
    Ok(tasks)
}

/// Returns the transcripts with the rollouts of each session of Codex in the order in which they were begun. After a
/// rewind, Codex writes another one, which says what of the earlier ones is no longer part of the conversation.
fn in_order(sources: &[Source]) -> Vec<&Source> {
    let mut ordered: Vec<&Source> = sources.iter().collect();
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        if let Some(name) = RolloutName::of(&source.path) {
            places.entry(name.session).or_default().push(place);
        }
    }
    for places in places.into_values() {
        let mut own: Vec<&Source> = places.iter().map(|place| &sources[*place]).collect();
        let rollout = |source: &&Source| RolloutName::of(&source.path).map(|name| name.rollout.to_owned());
        own.sort_by_cached_key(rollout);
        for (place, source) in places.into_iter().zip(own) {
            ordered[place] = source;
        }
    }
    ordered
}

/// Stores the messages of the reader about one transcript.
fn write(
    bulk: &Bulk<'_>,
    env: &Env,
    config: &Config,
    task: &Task<'_>,
    from: &Receiver<ReaderMessage>,
    imported: &mut Imported,
) -> Result<Outcome, Error> {
    let mut writer = None;
    for message in from {
        match (message, writer.as_mut()) {
            (ReaderMessage::Begins(head), _) => writer = Some(Writer::begin(bulk, env, config, task, &head)?),
            (ReaderMessage::Piece { batch, parts }, Some(writer)) => writer.piece(bulk, batch, parts)?,
            (ReaderMessage::Ends { parts, summary, last_at }, Some(_)) => {
                if let Some(writer) = writer.take() {
                    writer.end(bulk, parts, summary, last_at, imported)?;
                }
                return Ok(Outcome::Read);
            }
            (ReaderMessage::Empty, _) => return Ok(Outcome::Empty),
            (ReaderMessage::Excluded, _) => return Ok(Outcome::Excluded),
            (ReaderMessage::Failed(error), _) => {
                imported.failed.push((task.source.path.clone(), error.chain()));
                return Ok(Outcome::Failed);
            }
            (ReaderMessage::Piece { .. } | ReaderMessage::Ends { .. }, None) => {}
        }
    }
    // The channel is closed, which happens only after the last transcript.
    Ok(Outcome::Empty)
}

/// Returns the folder in which a transcript's session was started; `None` if the transcript contains nothing.
pub(crate) fn started_in(transcript: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(Head::read(transcript)?.map(|head| head.cwd))
}

fn register(store: &Store, id: &SessionId, head: &Head, transcript: &Path) -> Result<Session, Error> {
    // A folder that no longer exists has no repository, so only its path is known.
    let project = Project::in_dir(&head.cwd);
    let transcript = transcript.to_string_lossy();
    let new = project.session(id, head.at.unwrap_or_default());
    store.register_session(&NewSession { transcript: Some(&transcript), ..new })?;
    store.session(id.as_str())?.ok_or_else(|| Error::Read {
        path: PathBuf::from(&*transcript),
        source: std::io::Error::other("its session was deleted meanwhile"),
    })
}

/// Maximum number of bytes read. Claude Code's own entries come first and take a few kilobytes.
const MOST_OF_HEAD: u64 = 16 * 1024 * 1024;

/// The folder and the time at which a session was started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    cwd: PathBuf,
    at: Option<Millis>,
}

#[derive(Deserialize)]
struct HeadWire {
    uuid: Option<String>,
    cwd: Option<String>,
    timestamp: Option<String>,
}

impl Head {
    /// Reads a transcript up to its first entry; `None` if there is none.
    ///
    /// If the entry names no folder, it is the folder that contains the transcript.
    fn read(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let mut lines = BufReader::new(TranscriptFile::open(path).map_err(failed)?.take(MOST_OF_HEAD));
        let mut line = Vec::new();
        let mut first: Option<Self> = None;
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                return Ok(first);
            }
            if let Some(SessionMeta { cwd, at, is_subagent, .. }) = SessionMeta::parse(&line) {
                // The work of a subagent is recorded in the session that started it.
                let cwd = cwd.map_or_else(|| path.parent().unwrap_or(path).to_owned(), PathBuf::from);
                return Ok((!is_subagent).then_some(Self { cwd, at }));
            }
            let Ok(HeadWire { uuid: Some(_), cwd, timestamp }) = serde_json::from_slice(&line) else { continue };
            let at = first.as_ref().and_then(|first| first.at).or_else(|| parse_timestamp(timestamp.as_deref()?));
            if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
                return Ok(Some(Self { cwd: PathBuf::from(cwd), at }));
            }
            first.get_or_insert_with(|| Self { cwd: path.parent().unwrap_or(path).to_owned(), at });
        }
    }
}

#[derive(Serialize, Deserialize)]
struct LedgerWire {
    path: String,
    bytes: u64,
    modified: u64,
    /// The inode of the database into which it was read. The entry does not apply to another one.
    database: u64,
}

/// Maximum size of the list, which has a line for each transcript.
const MOST_OF_LEDGER: u64 = 256 << 20;

/// The list of transcripts that were read.
struct Ledger {
    path: PathBuf,
    file: File,
    database: u64,
    read: BTreeMap<String, (u64, u64)>,
}

impl Ledger {
    fn open(home: &Home) -> Result<Self, Error> {
        let path = home.dir().join("imported.jsonl");
        let database = fs::metadata(home.database()).map_or(0, |metadata| metadata.ino());
        let lines = bounded_read::text(&path, MOST_OF_LEDGER).unwrap_or_default();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<LedgerWire>(line).ok());
        let read = lines
            .filter(|line| line.database == database)
            .map(|line| (line.path, (line.bytes, line.modified)))
            .collect();
        Ok(Self { file: files::open_append(&path)?, path, database, read })
    }

    /// Returns whether a transcript is unchanged since it was read.
    fn has(&self, source: &Source) -> bool {
        self.read.get(&*source.path.to_string_lossy()) == Some(&(source.bytes, source.modified))
    }

    /// Records that a transcript was read. Must be called after its last commit.
    fn add(&mut self, source: &Source) -> Result<(), Error> {
        let path = source.path.to_string_lossy().into_owned();
        let line = self.line(&path, source.bytes, source.modified);
        self.file.write_all(line.as_bytes()).map_err(|source| Error::Write { path: self.path.clone(), source })?;
        self.read.insert(path, (source.bytes, source.modified));
        Ok(())
    }

    /// Writes the list again, with each transcript once.
    fn tidy(&self) -> Result<(), Error> {
        let lines = self.read.iter().map(|(path, (bytes, modified))| self.line(path, *bytes, *modified));
        files::replace(&self.path, lines.collect::<String>().as_bytes())
    }

    fn line(&self, path: &str, bytes: u64, modified: u64) -> String {
        let line = LedgerWire { path: path.to_owned(), bytes, modified, database: self.database };
        serde_json::to_string(&line).map_or_else(|_| String::new(), |line| line + "\n")
    }
}
