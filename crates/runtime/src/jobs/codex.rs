//! Jobs for Codex only: its sessions are remembered from their rollouts.

mod context_limit;
mod rewind;
mod window;

use std::io::Read;
use std::path::Path;

use longhaul_core::SessionId;
use longhaul_core::event::HookEvent;
use longhaul_core::event::predicates::in_subagent;
use longhaul_memory::Call;
use longhaul_store::{Session, Store};
use longhaul_transcript::{Turn, merge_turns};

use crate::handoff::{register, resume};
use crate::memory::{clean_prompt, recorded_call, store_calls};
use crate::transcript_file::TranscriptFile;
use crate::{Error, Flow, Hook};

pub use self::context_limit::near_limit;
pub use self::rewind::follow_rewind;
pub use self::window::{find_window, find_window_of_prompt, find_window_of_start};

/// Maximum number of bytes read. Of a longer turn, only the beginning is remembered.
const MOST: u64 = 64 * 1024 * 1024;

/// Skips events inside a subagent. They belong to the thread that started it.
pub fn leave_subagents<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    Ok(if in_subagent(hook.event.common()) { Flow::Done } else { Flow::Next })
}

/// Remembers the prompts and calls that were added to the rollout since it was last read.
///
/// Stop alone is sufficient: no other hook of Codex has to run, and an interrupted turn is stored with the next one.
/// PreCompact needs the calls of the turn that runs. This job must run before the turn is ingested, which moves the cursor. A prompt or call that is read twice is stored
/// once, by its id.
pub fn remember_turns<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    if !hook.remembers() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, hook.event.common())? else { return Ok(Flow::Next) };
    let turns = match new_turns(&session) {
        Err(error) if error.is_missing_file() => return Ok(Flow::Next),
        turns => turns?,
    };
    let mut calls = Vec::new();
    for turn in turns {
        if hook.remember_prompt(&store, &session, &turn)? {
            calls.extend(hook.recorded_calls(&session, turn));
        }
    }
    let calls: Vec<&Call> = calls.iter().collect();
    store_calls(&store, &hook.event.common().session, &calls, &session.project_path, None)?;
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Remembers the prompt of a turn. Returns whether anything of the turn may be stored.
    fn remember_prompt(&self, store: &Store, session: &Session, turn: &Turn) -> Result<bool, Error> {
        let id = session.session.as_str();
        let Some(prompt) = turn.prompt.as_ref().filter(|_| turn.origin.is_person()) else {
            // The rest of a turn is stored if its beginning is.
            return Ok(turn.begins || store.has_turn(id, &turn.id)?);
        };
        let kept = clean_prompt(&prompt.text, self.sanitizer());
        let prompt_id = turn.prompt_id.as_deref().unwrap_or(&turn.id);
        let is_private = SessionId::new(id).is_some_and(|id| super::privacy::is_marked(&self.home, &id, prompt_id));
        let Some(kept) = kept.filter(|_| !is_private) else { return Ok(false) };
        if store.prompt_number(id, prompt_id)?.is_none() {
            // The prompt hook did not run, for example because the user has not trusted it.
            if !store.has_turn(id, &turn.id)? {
                store.count_prompt(id, Some(&kept))?;
            }
            store.remember_prompt(id, Some(prompt_id), &kept, turn.at.unwrap_or(self.env.now))?;
        }
        Ok(true)
    }

    fn recorded_calls(&self, session: &Session, mut turn: Turn) -> Vec<Call> {
        let calls = std::mem::take(&mut turn.calls);
        let (root, now) = (session.project_path.as_str(), self.env.now);
        calls
            .into_iter()
            .filter_map(|call| recorded_call(call, &turn, root, now, &self.config, self.sanitizer()))
            .collect()
    }
}

/// Reads the turns that were added since the rollout was last read.
fn new_turns(session: &Session) -> Result<Vec<Turn>, Error> {
    let Some(path) = session.transcript.as_deref().map(Path::new) else { return Ok(Vec::new()) };
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut file = TranscriptFile::open(path).map_err(failed)?;
    let mut cursor = session.cursor.clone();
    let mut reader = resume(&mut file, &mut cursor).map_err(failed)?;
    let mut turns = Vec::new();
    let mut piece = vec![0; 256 * 1024];
    let mut file = file.take(MOST);
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 => break,
            read => reader.feed(&piece[..read]),
        }
        merge_turns(&mut turns, reader.take().turns);
    }
    reader.finish();
    merge_turns(&mut turns, reader.take().turns);
    Ok(turns)
}
