//! Reads what a session knows before a compaction. What is given back of it is decided in `handoff/src/compaction.rs`.

use longhaul_core::short_session;
use longhaul_handoff::{CompactionCall, CompactionFacts, CompactionInput};
use longhaul_memory::{Kind, decisions};
use longhaul_store::{BOOKMARK, Session, SnapshotKind, Store, TurnWords};

use crate::Error;

/// Number of newest turns that are searched for prompts, and of those whose replies are searched for decisions.
const TURNS: usize = 400;
const DECIDING_TURNS: usize = 40;

/// Number of newest prompts among which the one that a hook reported last is looked for.
const RECENT: usize = 8;

/// The turn in which a compaction takes place.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompactedTurn<'a> {
    /// The id of its prompt, where that is known.
    pub prompt_id: Option<&'a str>,
    /// Whether it had ended.
    pub has_ended: bool,
    /// Whether the end of the transcript was not read.
    pub is_partial: bool,
}

/// Collects what a session may need after a compaction, from what is stored of it.
pub fn compaction_facts(store: &Store, session: &Session, turn: CompactedTurn<'_>) -> Result<CompactionFacts, Error> {
    let id = session.session.as_str();
    let turns = store.newest_words(id, TURNS)?;
    let says_something = |text: &str| text.chars().any(char::is_alphanumeric);
    // The turn that runs. A bookmark is set in it and begins no other, and `/compact` begins none.
    let is_side = |turn: &TurnWords| turn.role == BOOKMARK || turn.asked.trim_start().starts_with("/compact");
    let running = turns.iter().rposition(|turn| !is_side(turn)).filter(|_| !turn.has_ended);
    let is_request = |at: usize, turn: &TurnWords| match turn.role.as_str() {
        "user" => true,
        // Unlike a command of the client's own, such as `/compact`, one that the model has answered or works on is a request.
        "command" if is_side(turn) => false,
        "command" => Some(at) == running || !turn.replied.trim().is_empty(),
        _ => false,
    };
    let asked = turns.iter().enumerate().filter(|(at, turn)| is_request(*at, turn) && says_something(&turn.asked));
    let mut prompts: Vec<&str> = asked.map(|(_, turn)| turn.asked.as_str()).collect();
    // The transcript may not contain the newest prompt yet.
    let newest = session.last_prompt.as_deref().filter(|prompt| says_something(prompt) && !prompt.starts_with('/'));
    let newest =
        newest.filter(|newest| !prompts.iter().rev().take(RECENT).any(|prompt| prompt.trim() == newest.trim()));
    prompts.extend(newest);
    let of_turn = turn.prompt_id.map_or(Ok(0), |prompt| store.prompts_of_turn(id, prompt))?;
    let is_private = session.prompts > 0 && session.last_prompt.is_none();
    // A turn that a finished subagent has begun has no request of its own.
    let is_asked = newest.is_some() || running.is_none_or(|at| is_request(at, &turns[at]));
    let calls = store.calls_of(id)?;
    let calls: Vec<CompactionCall<'_>> = calls
        .iter()
        .map(|stored| {
            let mut call = CompactionCall::new(&stored.tool, &stored.input);
            call.output = &stored.output;
            call.is_error = stored.is_error;
            call
        })
        .collect();
    let changed = store.changed_files(id, &session.project_path)?;
    let recorded = store.observations_of(id, TURNS)?.into_iter().filter(|seen| seen.kind == Kind::Decision);
    let said = turns.iter().rev().take(DECIDING_TURNS).flat_map(|turn| decisions(&turn.replied));
    let decided: Vec<String> = said.chain(recorded.rev()).map(|decision| decision.title).collect();
    let mut input = CompactionInput::new(&session.project_path, &prompts, &calls);
    // Nothing of a private prompt is known, and an older one is not at hand.
    input.at_hand = if is_private || !is_asked { 0 } else { of_turn.max(1) };
    input.is_partial = turn.is_partial;
    input.has_ended = turn.has_ended;
    input.changed = &changed;
    input.decisions = &decided;
    Ok(CompactionFacts::new(&input))
}

/// Returns the line that says how a session reads more of what was compacted.
pub fn compaction_footer(store: &Store, session: &str) -> Result<String, Error> {
    let newest = store.snapshots_of_session(session, i64::MAX, 1)?.pop();
    let taken = newest.filter(|newest| newest.kind == SnapshotKind::Compaction && newest.commit.is_some());
    let files = taken.map(|snapshot| format!("; files as they were then: longhaul diff {}", snapshot.id));
    let of_session = short_session(session);
    Ok(format!(
        "[More] longhaul detail HH:MM-HH:MM --session {of_session} prints what was said and done, as do the MCP tools timeline and \
         get_observations{}",
        files.unwrap_or_default()
    ))
}
