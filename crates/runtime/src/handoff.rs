//! What a session hands over to the next: kept as it happens, shown when it goes on.

mod ingest;
mod inherit;
mod tail;

use std::path::Path;

use longhaul_core::budget::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_core::event::Common;
use longhaul_core::{Env, Millis, SessionId};
use longhaul_handoff::{RenderInput, Rendered, TimedText, TurnView, allowance, render_into};
use longhaul_store::{NewSession, Session, Store, Turn};

pub(crate) use self::ingest::resume;
pub use self::ingest::{Progress, catch_up};
pub use self::inherit::{Claim, Heir};
pub(crate) use self::tail::unread_turns;
use crate::{Error, git};

/// How many turns are read for rendering; what is older is only counted.
const MAX_TURNS: usize = 400;

/// Where a session belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// What tells projects apart: the git folder that all worktrees share, else the path.
    pub key: String,
    /// Its folder.
    pub path: String,
}

impl Project {
    /// Returns the project in which a session was started, wherever it works now.
    pub fn of(env: &Env, cwd: Option<&Path>) -> Self {
        Self::in_dir(env.project_dir.as_deref().or(cwd).unwrap_or(Path::new("/")))
    }

    /// Returns the project in a folder.
    pub fn in_dir(dir: &Path) -> Self {
        let path = dir.to_string_lossy().into_owned();
        let name = dir.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        // Whichever way leads to the folder, it is the same.
        let key = git::common_dir(dir).or_else(|| dir.canonicalize().ok());
        let key = key.map_or_else(|| path.clone(), |dir| dir.to_string_lossy().into_owned());
        Self { name, key, path }
    }

    /// Returns a session of it as it is recorded, as long as neither client nor transcript is known.
    pub(crate) fn session<'a>(&'a self, id: &'a SessionId, at: Millis) -> NewSession<'a> {
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

/// Records the session of an event; returns it as it is stored.
pub(crate) fn register(store: &Store, env: &Env, common: &Common) -> Result<Option<Session>, Error> {
    let transcript = common.transcript.as_ref().map(|path| path.to_string_lossy());
    // Nearly always it is known, and nothing of it has changed: a commit is what costs.
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

/// To whom and how a session is handed over.
#[derive(Debug)]
pub struct Handover<'a> {
    /// Who gets it; what it has already is not shown again.
    pub heir: Option<&'a str>,
    /// Turns that are not stored yet, newer than those that are.
    pub unread: Vec<Turn>,
    /// The handoff that the heir has been shown already; it is the end of the last reply.
    pub shown: Option<&'a str>,
    /// How many characters it may take.
    pub room: usize,
}

impl Default for Handover<'_> {
    fn default() -> Self {
        Self { heir: None, unread: Vec::new(), shown: None, room: CONTEXT_CHARS }
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
    let (mut turns, older_turns) = store.turns(session.as_str(), handover.heir, MAX_TURNS)?;
    go_on(&mut turns, handover.unread);
    if let Some(turn) = turns.last_mut() {
        turn.replied = without_handoff(std::mem::take(&mut turn.replied), handover.shown);
    }
    let views: Vec<TurnView<'_>> = turns.iter().map(view).collect();
    let said = |turn: &Turn| tokens_of_chars((turn.asked.len() + turn.replied.len()) as u64);
    let context = RenderInput {
        session: session.as_str(),
        turns: &views,
        older_turns,
        now: env.now,
        offset_seconds,
        said_tokens: turns.iter().map(said).sum(),
        transcript_tokens: turns.iter().map(|turn| tokens_of_chars(turn.bytes)).sum(),
    };
    Ok(render_into(&context, allowance(&context).min(handover.room)))
}

/// Returns what was said before the handoff that ends a reply.
fn without_handoff(reply: String, shown: Option<&str>) -> String {
    let Some((before, _)) = shown.filter(|shown| !shown.is_empty()).and_then(|shown| reply.split_once(shown)) else {
        return reply;
    };
    // Its front matter goes with it.
    let begin = before.lines().position(|line| line.trim() == "---");
    before.lines().take(begin.unwrap_or(usize::MAX)).collect::<Vec<_>>().join("\n")
}

/// Adds turns that are not stored yet; the first of them may be the last that is, read further.
fn go_on(turns: &mut Vec<Turn>, mut unread: Vec<Turn>) {
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
    }
    turns.extend(unread);
}

fn view(turn: &Turn) -> TurnView<'_> {
    TurnView {
        session: &turn.origin,
        role: &turn.role,
        asked: TimedText { at: turn.at, text: &turn.asked },
        replied: TimedText { at: turn.replied_at, text: &turn.replied },
        skeleton: &turn.skeleton,
        has_detail: turn.has_detail,
    }
}
