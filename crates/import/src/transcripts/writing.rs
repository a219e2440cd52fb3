//! Stores the messages of the reader.

use std::cmp::Ordering;
use std::path::Path;

use longhaul_core::{Config, Env, Millis, SessionId};
use longhaul_memory::Summary;
use longhaul_runtime::handoff::catch_up;
use longhaul_runtime::memory::new_observation;
use longhaul_runtime::{Error, codex_turns_left_out};
use longhaul_store::{Bulk, NewObservation, PastPrompt, PastTurn, Session, Store};
use longhaul_transcript::{Batch, Cursor, RolloutName};

use super::reading::{Done, Part};
use super::{Head, Imported, Task, register};

/// The import of one session.
pub(super) struct Writer<'a> {
    env: &'a Env,
    config: &'a Config,
    session: Session,
    is_new: bool,
    turns: Turns,
    prompt_number: i64,
    prompts: usize,
    observations: usize,
}

/// Where the turns of a session come from.
#[derive(PartialEq, Eq)]
enum Turns {
    /// From this read: none were read before.
    Here,
    /// From a separate read, which continues where the last one ended.
    Apart,
    /// From another file, or not at all.
    Elsewhere,
}

impl<'a> Writer<'a> {
    pub(super) fn begin(
        bulk: &Bulk<'_>,
        env: &'a Env,
        config: &'a Config,
        task: &Task<'_>,
        head: &Head,
    ) -> Result<Self, Error> {
        let path = &task.source.path;
        let (session, is_new) = match bulk.plain().session(task.id.as_str())? {
            Some(known) => (known, false),
            None => (register(bulk.plain(), &task.id, head, path)?, true),
        };
        let own = session.transcript.as_ref().map(Path::new);
        let turns = match own.map(|own| (own, rollout_order(own, path))) {
            Some((own, Some(Ordering::Less))) => {
                follow_rewind(bulk.plain(), &task.id, own, path, head)?;
                Turns::Apart
            }
            // The turns of an earlier rollout come before those that are stored already.
            Some((_, Some(Ordering::Greater))) => Turns::Elsewhere,
            // For a copy of the transcript, only records with an id are stored, because its bytes may differ from the
            // original.
            Some((own, _)) if own != path && own.exists() => Turns::Elsewhere,
            _ if session.cursor == Cursor::default() => Turns::Here,
            _ => Turns::Apart,
        };
        let session = Session { transcript: Some(path.to_string_lossy().into_owned()), ..session };
        let (prompt_number, prompts, observations) = (0, 0, 0);
        Ok(Self { env, config, session, is_new, turns, prompt_number, prompts, observations })
    }

    pub(super) fn piece(&mut self, bulk: &Bulk<'_>, batch: Batch, parts: Vec<Part>) -> Result<(), Error> {
        // Prompts first, because replies are stored with them.
        self.store(bulk, parts)?;
        if self.turns == Turns::Here && batch.cursor != self.session.cursor {
            let (store, expected) = (bulk.plain(), self.session.cursor.clone());
            let is_ours = store.ingest(&self.session, &expected, &batch, self.config, self.env.now)?;
            self.session.cursor = batch.cursor;
            if !is_ours {
                // A hook has started to read the same transcript.
                self.turns = Turns::Apart;
            }
        }
        Ok(())
    }

    pub(super) fn end(
        mut self,
        bulk: &Bulk<'_>,
        parts: Vec<Part>,
        summary: Option<Summary>,
        last_at: Millis,
        imported: &mut Imported,
    ) -> Result<(), Error> {
        self.store(bulk, parts)?;
        let id = self.session.session.clone();
        if self.turns == Turns::Apart
            && let Some(session) = bulk.plain().session(&id)?
        {
            let session = Session { transcript: self.session.transcript.clone(), ..session };
            catch_up(bulk.plain(), &session, self.config, self.env.now, u64::MAX, None)?;
        }
        bulk.link_replies(&id)?;
        if let Some(summary) = &summary {
            let is_new = bulk.write_past_summary(&id, self.prompt_number, summary, last_at)?;
            imported.summaries += usize::from(is_new);
        }
        if self.is_new {
            bulk.plain().complete_session(&id, "imported", last_at)?;
        }
        imported.prompts += self.prompts;
        imported.observations += self.observations;
        imported.sessions += usize::from(self.is_new);
        Ok(())
    }

    fn store(&mut self, bulk: &Bulk<'_>, mut parts: Vec<Part>) -> Result<(), Error> {
        if parts.is_empty() {
            return Ok(());
        }
        // Raw text is stored once, with the turns.
        let has_raw = self.turns == Turns::Elsewhere;
        let turns = parts.iter_mut().map(|part| past_turn(part, has_raw)).collect();
        if let Some(past) = bulk.take_in_past(&self.session.session, turns, self.prompt_number)? {
            self.prompt_number = past.prompt_number;
            self.prompts += past.prompts;
            self.observations += past.observations;
        }
        Ok(())
    }
}

/// Compares two rollouts of Codex by the time at which they were begun; `None` if one of the files is another transcript.
fn rollout_order(own: &Path, other: &Path) -> Option<Ordering> {
    Some(RolloutName::of(own)?.rollout.cmp(RolloutName::of(other)?.rollout))
}

/// Marks the turns that a rewind took back, and makes the new rollout the transcript of the session, as the hooks do.
///
/// What is read of the session from now on is read from `new`, also by the next import if this one is killed.
fn follow_rewind(store: &Store, id: &SessionId, old: &Path, new: &Path, head: &Head) -> Result<(), Error> {
    let turns = match codex_turns_left_out(id.own(), old, new) {
        // A file that cannot be read does not stop the import.
        Err(Error::Read { .. }) => Vec::new(),
        turns => turns?,
    };
    store.leave_out(id.as_str(), &turns)?;
    register(store, id, head, new).map(drop)
}

/// Returns a part of a turn as it is stored. With `has_raw`, the raw text of the calls is included.
pub(crate) fn past_turn(part: &mut Part, has_raw: bool) -> PastTurn<'_> {
    PastTurn {
        prompt: part.asked.as_ref().map(|asked| PastPrompt { id: &asked.id, text: &asked.text, at: asked.at }),
        calls: part.done.iter_mut().map(|done| observed(done, has_raw)).collect(),
    }
}

fn observed(done: &mut Done, has_raw: bool) -> NewObservation<'_> {
    let Done { call, command_key, observation, fix } = done;
    let new = new_observation(call, command_key.as_deref(), observation.clone(), fix.take());
    // The turn determines the prompt of a call.
    let new = NewObservation { prompt_id: None, ..new };
    if has_raw { new } else { NewObservation { input: "", response: "", ..new } }
}
