//! What a session hands over to the next one: stored while it runs, shown when the next one starts.

mod ingest;
mod inherit;
mod tail;

use std::path::Path;

use longhaul_core::event::Common;
use longhaul_core::text::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_core::{Env, Millis, SessionId};
use longhaul_handoff::{LOADED_TURNS, RenderInput, Rendered, TimedText, TurnView, allowance, render_into};
use longhaul_store::{BOOKMARK, NewSession, Session, Store, Turn};

pub(crate) use self::ingest::resume;
pub use self::ingest::{Progress, catch_up};
pub use self::inherit::{Claim, Heir};
pub use self::tail::Unread;
pub(crate) use self::tail::unread_turns;
use crate::{Error, git};

/// The project of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// The key that identifies the project: the git folder that all its worktrees share, or the path without git. A
    /// repository that the folder only claims to belong to does not count.
    pub key: String,
    /// Its folder.
    pub path: String,
}

impl Project {
    /// Returns the project in which a session was started. It stays the same when the working directory changes.
    pub fn of(env: &Env, cwd: Option<&Path>) -> Self {
        Self::in_dir(env.project_dir.as_deref().or(cwd).unwrap_or(Path::new("/")))
    }

    /// Returns the project in a folder.
    pub fn in_dir(dir: &Path) -> Self {
        let path = dir.to_string_lossy().into_owned();
        let name = dir.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        // Different paths to the same folder give the same key.
        let key = git::identity(dir).or_else(|| dir.canonicalize().ok());
        let key = key.map_or_else(|| path.clone(), |dir| dir.to_string_lossy().into_owned());
        Self { name, key, path }
    }

    /// Returns the row of a new session whose client and transcript are not known yet.
    pub fn session<'a>(&'a self, id: &'a SessionId, at: Millis) -> NewSession<'a> {
        NewSession {
            session: id.as_str(),
            project: &self.name,
            project_key: &self.key,
            project_path: &self.path,
            client_pid: 0,
            transcript: None,
            at,
        }
    }
}

/// Records the session of an event. Returns it as stored.
pub(crate) fn register(store: &Store, env: &Env, common: &Common) -> Result<Option<Session>, Error> {
    let transcript = common.transcript.as_ref().map(|path| path.to_string_lossy());
    // The session is nearly always known and unchanged. Checking that first saves a commit, which is slow.
    let is_known = |session: &Session| {
        (transcript.is_none() || session.transcript.as_deref() == transcript.as_deref())
            && env.client_pid.is_none_or(|pid| session.client_pid == pid)
    };
    if let Some(session) = store.session(common.session.as_str())?.filter(is_known) {
        return Ok(Some(session));
    }
    let project = Project::of(env, common.cwd.as_deref());
    store.register_session(&NewSession {
        client_pid: env.client_pid.unwrap_or_default(),
        transcript: transcript.as_deref(),
        ..project.session(&common.session, env.now)
    })?;
    Ok(store.session(common.session.as_str())?)
}

/// How a session is handed over, and to which one.
#[derive(Debug)]
pub struct Handover<'a> {
    /// The session that receives it. Turns that this session has already are left out.
    pub heir: Option<&'a str>,
    /// Turns that are not stored yet, newer than the stored ones.
    pub unread: Unread,
    /// The handoff that the heir was already shown. It is the end of the last reply.
    pub shown: Option<&'a str>,
    /// Maximum number of characters.
    pub room: usize,
}

impl Default for Handover<'_> {
    fn default() -> Self {
        Self { heir: None, unread: Unread::default(), shown: None, room: CONTEXT_CHARS }
    }
}

/// Renders what a session would hand over now.
pub fn render_session(
    store: &Store,
    env: &Env,
    session: &SessionId,
    handover: Handover<'_>,
    offset_seconds: i32,
) -> Result<Rendered, Error> {
    let (mut turns, older_turns) = store.turns(session.as_str(), handover.heir, LOADED_TURNS)?;
    let after_gap = go_on(&mut turns, handover.unread);
    let newest = after_gap.map(|count| joined(turns.split_off(turns.len().saturating_sub(count))));
    let after_gap = newest.as_ref().map(Vec::len);
    let mut turns = joined(turns);
    turns.extend(newest.unwrap_or_default());
    if let Some(turn) = turns.last_mut() {
        turn.replied = without_handoff(std::mem::take(&mut turn.replied), handover.shown);
    }
    let project = store.session(session.as_str())?.map(|session| session.project_path).unwrap_or_default();
    let changed = store.changed_files(session.as_str(), &project)?;
    let views: Vec<TurnView<'_>> = turns.iter().map(view).collect();
    let said = |turn: &Turn| tokens_of_chars((turn.asked.len() + turn.replied.len()) as u64);
    let mut context = RenderInput::new(session.as_str(), &views, env.now);
    context.reader = handover.heir.unwrap_or_default();
    context.changed_files = &changed;
    context.older_turns = older_turns;
    context.after_gap = after_gap;
    context.offset_seconds = offset_seconds;
    context.said_tokens = turns.iter().map(said).sum();
    context.transcript_tokens = turns.iter().map(|turn| tokens_of_chars(turn.bytes)).sum();
    Ok(render_into(&context, allowance(&context).min(handover.room)))
}

/// Returns the part of a reply before the handoff at its end.
fn without_handoff(reply: String, shown: Option<&str>) -> String {
    let Some((before, _)) = shown.filter(|shown| !shown.is_empty()).and_then(|shown| reply.split_once(shown)) else {
        return reply;
    };
    // The front matter of the handoff is removed as well.
    let begin = before.lines().position(|line| line.trim() == "---");
    before.lines().take(begin.unwrap_or(usize::MAX)).collect::<Vec<_>>().join("\n")
}

/// Appends turns that are not stored yet. The first of them may be a longer version of the last stored turn.
///
/// Returns how many of the turns follow a part of the transcript that was not read; `None` if no turn is missing.
fn go_on(turns: &mut Vec<Turn>, unread: Unread) -> Option<usize> {
    let Unread { turns: mut unread, mut has_gap } = unread;
    let is_same = |last: &Turn, first: &Turn| last.origin == first.origin && last.asked.trim() == first.asked.trim();
    if let (Some(last), Some(first)) = (turns.last_mut(), unread.first())
        && is_same(last, first)
    {
        if first.replied.contains(&last.replied) {
            last.replied.clone_from(&first.replied);
        } else if !last.replied.contains(&first.replied) {
            last.replied = format!("{}\n\n{}", last.replied, first.replied);
        }
        last.replied_at = last.replied_at.max(first.replied_at);
        last.has_detail |= first.has_detail;
        unread.remove(0);
        has_gap = false;
    }
    let after_gap = has_gap.then_some(unread.len());
    turns.extend(unread);
    after_gap
}

/// Joins what followed a bookmark to the turn in which it was set: a bookmark is not a request.
fn joined(turns: Vec<Turn>) -> Vec<Turn> {
    let mut joined: Vec<Turn> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        if turn.role != BOOKMARK {
            joined.push(turn);
            continue;
        }
        match joined.last_mut().filter(|last| last.origin == turn.origin) {
            Some(last) => {
                last.replied = format!("{}\n\n{}", last.replied, turn.replied).trim().to_owned();
                if !turn.replied.trim().is_empty() {
                    last.replied_at = turn.replied_at;
                    last.skeleton = format!("{}; {}", last.skeleton, turn.skeleton);
                }
                last.has_detail |= turn.has_detail;
                last.bytes += turn.bytes;
            }
            None => {
                turn.asked.clear();
                joined.push(turn);
            }
        }
    }
    joined
}

fn view(turn: &Turn) -> TurnView<'_> {
    let asked = TimedText::new(turn.at, &turn.asked);
    let replied = TimedText::new(turn.replied_at, &turn.replied);
    let mut view = TurnView::new(&turn.origin, asked, replied);
    view.role = &turn.role;
    view.skeleton = &turn.skeleton;
    view.has_detail = turn.has_detail;
    view
}
