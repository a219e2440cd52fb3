//! A session on its way into our database, a piece at a time: all of it may not fit into the memory.

use longhaul_core::{Millis, SessionId};
use longhaul_memory::Summary;
use longhaul_store::{ForeignSession, Moved, MovedCall, MovedTurn};

use crate::handoff::Project;

/// How many records are stored in one transaction: few commits, and no hook waits long for one.
const RECORDS_AT_ONCE: usize = 500;

/// How many bytes of text are stored in one transaction.
const BYTES_AT_ONCE: usize = 4 << 20;

/// A session, and what has been read of it and is not stored yet.
pub(super) struct Arrival<'a> {
    pub(super) session: &'a ForeignSession,
    pub(super) id: &'a SessionId,
    pub(super) project: &'a Project,
    /// When the last thing was observed.
    pub(super) ended: Option<Millis>,
    /// Whether something of it is stored.
    pub(super) is_begun: bool,
    /// The number of the prompt that was stored last.
    pub(super) prompt_number: i64,
    pub(super) turns: Vec<MovedTurn>,
    records: usize,
    bytes: usize,
}

impl<'a> Arrival<'a> {
    pub(super) fn new(
        session: &'a ForeignSession,
        id: &'a SessionId,
        project: &'a Project,
        ended: Option<Millis>,
    ) -> Self {
        let (turns, is_begun) = (Vec::new(), false);
        Self { session, id, project, ended, is_begun, prompt_number: 0, turns, records: 0, bytes: 0 }
    }

    /// Adds a prompt, which begins a turn.
    pub(super) fn prompt(&mut self, prompt: Moved<String>) {
        self.weigh(prompt.what.len());
        self.turns.push(MovedTurn { prompt: Some(prompt), ..MovedTurn::default() });
    }

    /// Adds an observation to the newest turn.
    pub(super) fn call(&mut self, call: Moved<MovedCall>) {
        let MovedCall { observation, input, response } = &call.what;
        let lists = [&observation.facts, &observation.files_read, &observation.files_modified];
        let listed: usize = lists.into_iter().flatten().map(String::len).sum();
        self.weigh(input.len() + response.len() + observation.narrative.len() + listed);
        self.newest().calls.push(call);
    }

    /// Adds a summary to the newest turn.
    pub(super) fn summary(&mut self, summary: Moved<Summary>) {
        self.weigh(0);
        self.newest().summaries.push(summary);
    }

    /// Returns whether it is time to store.
    pub(super) fn is_full(&self) -> bool {
        self.records >= RECORDS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    /// Takes what is to be stored; none of the turns is empty.
    pub(super) fn take(&mut self) -> Vec<MovedTurn> {
        (self.records, self.bytes) = (0, 0);
        let mut turns = std::mem::take(&mut self.turns);
        turns.retain(|turn| turn.prompt.is_some() || !turn.calls.is_empty() || !turn.summaries.is_empty());
        turns
    }

    fn weigh(&mut self, bytes: usize) {
        self.records += 1;
        self.bytes += bytes;
    }

    /// Returns the turn that a record belongs to; after a piece was stored, one that goes on with its last.
    fn newest(&mut self) -> &mut MovedTurn {
        if self.turns.is_empty() {
            self.turns.push(MovedTurn::default());
        }
        self.turns.last_mut().expect("there is one")
    }
}
