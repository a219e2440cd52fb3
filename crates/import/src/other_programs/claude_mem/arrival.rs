//! A session that is imported in pieces, because it may not fit into memory as a whole.

use longhaul_core::{Millis, SessionId};
use longhaul_memory::Summary;
use longhaul_store::{ForeignSession, Moved, MovedCall, MovedTurn};

use longhaul_runtime::handoff::Project;

/// Maximum number of records per transaction: large enough for few commits, small enough that no hook waits long.
const RECORDS_AT_ONCE: usize = 500;

/// Maximum number of bytes of text per transaction.
const BYTES_AT_ONCE: usize = 4 << 20;

/// A session, and the part of it that was read but is not stored yet.
pub(super) struct Arrival<'a> {
    pub(super) session: &'a ForeignSession,
    pub(super) id: &'a SessionId,
    pub(super) project: &'a Project,
    /// Time of the last observation.
    pub(super) ended: Option<Millis>,
    /// Whether a part of it is stored.
    pub(super) is_begun: bool,
    /// Number of the last stored prompt.
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

    /// Adds a prompt, which starts a turn.
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

    /// Returns whether the piece is large enough to be stored.
    pub(super) fn is_full(&self) -> bool {
        self.records >= RECORDS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    /// Takes the turns to store. None of them is empty.
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

    /// Returns the turn that a record belongs to. After a piece was stored, it is a new one that continues the last.
    fn newest(&mut self) -> &mut MovedTurn {
        if self.turns.is_empty() {
            self.turns.push(MovedTurn::default());
        }
        self.turns.last_mut().expect("there is one")
    }
}
