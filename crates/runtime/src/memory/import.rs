//! Past sessions, read from the client's own transcripts: memory on the first day.
//!
//! Everything is stored under the ids that the client gave it, so that reading a transcript again changes nothing,
//! whether an earlier import was cut off, or hooks have told the same before.

mod head;
mod ledger;
mod story;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use longhaul_core::{Config, Env, SessionId};
use longhaul_store::{NewSession, Session, Store};

use self::head::Head;
use self::ledger::Ledger;
use self::story::Story;
use super::is_excluded;
use crate::handoff::{Project, catch_up};
use crate::{Error, Home, Keeper};

/// Transcripts of subagents, which older clients keep beside the sessions' own.
const SIDECHAIN: &str = "agent-";

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// When it was last written, in milliseconds.
    modified: u64,
}

/// What became of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was read.
    Read,
    /// It was read before, and is as it was.
    Unchanged,
    /// There is nothing in it.
    Empty,
    /// The user wants nothing of its project to be remembered.
    Excluded,
    /// It could not be read; see [`Imported::failed`].
    Failed,
}

/// What an import brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Transcripts that were read.
    pub files: usize,
    /// Transcripts that were as an earlier import left them.
    pub unchanged: usize,
    /// Transcripts of projects that are not to be remembered.
    pub excluded: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// Sessions that are new.
    pub sessions: usize,
    /// Prompts that are new.
    pub prompts: usize,
    /// Observations that are new.
    pub observations: usize,
    /// Summaries that are new, or say something new.
    pub summaries: usize,
    /// Transcripts that could not be read, and why.
    pub failed: Vec<(PathBuf, String)>,
}

/// Returns the transcripts of sessions in a folder and in the folders in it, the one last written to last.
///
/// In this order numbers grow with time, as they do for sessions that hooks tell of.
pub fn sources(dir: &Path) -> Result<Vec<Source>, Error> {
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            // One that cannot be read, perhaps somebody else's, does not keep the others from being read.
            found.extend(fs::read_dir(&path).into_iter().flatten().flatten().filter_map(|entry| source(entry.path())));
        } else {
            found.extend(source(path));
        }
    }
    found.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    Ok(found)
}

fn source(path: PathBuf) -> Option<Source> {
    let name = path.file_name()?.to_str()?;
    if !name.ends_with(".jsonl") || name.starts_with(SIDECHAIN) {
        return None;
    }
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Source { bytes: metadata.len(), modified: modified.as_millis() as u64, path })
}

/// Takes past sessions in, and tells of each transcript what became of it.
///
/// May be killed at any moment: the next import carries on. One transcript that cannot be read does not keep the others
/// from being read; a database that cannot be written ends it.
pub fn import(
    store: &mut Store,
    home: &Home,
    env: &Env,
    config: &Config,
    sources: &[Source],
    mut tell: impl FnMut(&Source, Outcome),
) -> Result<Imported, Error> {
    store.expect_much()?;
    let mut ledger = Ledger::open(home)?;
    let mut imported = Imported::default();
    for source in sources {
        let outcome = match import_one(store, env, config, source, &ledger, &mut imported) {
            Ok(outcome) => outcome,
            Err(error @ Error::Store(_)) => return Err(error),
            Err(error) => {
                imported.failed.push((source.path.clone(), error.chain()));
                Outcome::Failed
            }
        };
        match outcome {
            Outcome::Read => {
                imported.files += 1;
                imported.bytes += source.bytes;
                ledger.add(source)?;
            }
            Outcome::Unchanged => imported.unchanged += 1,
            Outcome::Excluded => imported.excluded += 1,
            Outcome::Empty | Outcome::Failed => {}
        }
        tell(source, outcome);
    }
    ledger.tidy()?;
    Ok(imported)
}

fn import_one(
    store: &mut Store,
    env: &Env,
    config: &Config,
    source: &Source,
    ledger: &Ledger,
    imported: &mut Imported,
) -> Result<Outcome, Error> {
    let stem = source.path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::new);
    let Some(id) = stem else { return Ok(Outcome::Empty) };
    let known = store.session(id.as_str())?;
    if known.is_some() && ledger.has(source) {
        return Ok(Outcome::Unchanged);
    }
    let Some(head) = Head::read(&source.path)? else { return Ok(Outcome::Empty) };
    let folder = known.as_ref().map_or(head.cwd.as_path(), |session| Path::new(&session.project_path));
    if is_excluded(&config.memory, env, folder) {
        return Ok(Outcome::Excluded);
    }
    let is_new = known.is_none();
    let session = match known {
        Some(session) => session,
        None => register(store, &id, &head, &source.path)?,
    };
    if reads_for(&session, &source.path) {
        let session = Session { transcript: Some(source.path.to_string_lossy().into_owned()), ..session.clone() };
        catch_up(store, &session, Keeper::new(config), env.now, u64::MAX, None)?;
    }
    let mut story = Story::new(store, config, &session, head.at.unwrap_or(env.now));
    story.read(&source.path)?;
    story.end()?;
    let brought = story.brought;
    imported.prompts += brought.prompts;
    imported.observations += brought.observations;
    imported.summaries += brought.summaries;
    imported.sessions += usize::from(is_new);
    if is_new {
        store.complete_session(&session.session, "imported", brought.last_at)?;
    }
    Ok(Outcome::Read)
}

fn register(store: &Store, id: &SessionId, head: &Head, transcript: &Path) -> Result<Session, Error> {
    // A folder that is gone has no repository any more: its path is all there is.
    let project = Project::in_dir(&head.cwd);
    let transcript = transcript.to_string_lossy();
    store.register_session(&NewSession {
        session: id.as_str(),
        project: &project.name,
        project_key: &project.key,
        project_path: &project.path,
        client_pid: 0,
        transcript: Some(&transcript),
        at: head.at.unwrap_or_default(),
    })?;
    store.session(id.as_str())?.ok_or_else(|| Error::Read {
        path: PathBuf::from(&*transcript),
        source: std::io::Error::other("its session was deleted meanwhile"),
    })
}

/// Returns whether a file is the one that the session's turns are read from.
///
/// Of a copy, only what has an id of its own is taken: its bytes need not be those that were read before.
fn reads_for(session: &Session, path: &Path) -> bool {
    session.transcript.as_deref().is_none_or(|own| Path::new(own) == path || !Path::new(own).exists())
}

/// Returns whether the user wants nothing of a project to be remembered.
pub fn leaves_out(config: &Config, env: &Env, project: &Path) -> bool {
    is_excluded(&config.memory, env, project)
}
