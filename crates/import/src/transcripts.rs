//! Imports past sessions from the transcripts of Claude Code and Codex.
//!
//! Everything is stored under the ids in the transcript, so that reading it again changes nothing, whether an earlier
//! import was interrupted or hooks have stored the same before.

mod head;
mod ledger;
mod reading;
pub(crate) mod turns_to_records;
mod writing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use longhaul_core::{Config, Env, SessionId};
use longhaul_store::{Bulk, NewSession, Session, Store};
use longhaul_transcript::RolloutName;

use self::head::Head;
use self::ledger::Ledger;
use self::reading::{ReaderMessage, WAITING, read_all};
pub(crate) use self::turns_to_records::{Part, RecordBuilder};
use self::writing::Writer;
pub(crate) use self::writing::past_turn;
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Error, Home, files};

/// The prefix of transcripts of subagents, which older versions of Claude Code write beside those of the sessions.
const SIDECHAIN: &str = "agent-";

/// The prefix of Codex's rollouts.
const ROLLOUT: &str = "rollout-";

/// Maximum depth of rollouts: year, month, day.
const DEEPEST: usize = 4;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path of the file.
    pub path: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// Modification time, in milliseconds since the Unix epoch.
    modified: u64,
}

/// The result for a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was read.
    Read,
    /// It was read before and has not changed.
    Unchanged,
    /// It contains nothing.
    Empty,
    /// Its project is excluded.
    Excluded,
    /// It could not be read; see [`Imported::failed`].
    Failed,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Transcripts that were read.
    pub files: usize,
    /// Transcripts that have not changed since an earlier import.
    pub unchanged: usize,
    /// Transcripts of excluded projects.
    pub excluded: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// Sessions that are new.
    pub sessions: usize,
    /// Prompts that are new.
    pub prompts: usize,
    /// Observations that are new.
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

/// A transcript to import.
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
