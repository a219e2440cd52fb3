//! What ran between two snapshots of a work tree: turns with their edit calls and commands.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use longhaul_core::{Env, SessionId};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{ActivityLog, Home, reopen};
use longhaul_store::{CommandCall, Snapshot, SnapshotKind, Store, StoredTurn};

use super::calls::EditCall;
use super::decision::{ActiveTurn, Change, Turn};
use super::is_same_file;
use crate::Error;
use crate::place::Place;

/// How much later than a snapshot was asked for a call may have written what it shows: the files are read a moment later.
const LATE_MS: u64 = 10_000;

/// How much later a command that was under way may have ended.
const STILL_RUNNING_MS: u64 = 600_000;

/// How much later than the end of its turn a call may be noted.
const AFTER_END_MS: u64 = 2_000;

/// How far the times of a prompt in the memory and of its snapshot may be apart.
const SAME_PROMPT_MS: u64 = 5_000;

/// Turns of a work tree, with their calls that are not for one file.
#[derive(Debug)]
pub(super) struct Turns {
    all: Vec<Turn>,
    /// The turns by their numbers in the memory.
    rows: HashMap<i64, usize>,
    calls: Vec<CommandCall>,
    project_key: String,
}

/// Turns and calls of a work tree, for one file.
#[derive(Debug)]
pub(super) struct Activity<'a> {
    pub(super) of_tree: &'a Turns,
    turns: Vec<Turn>,
    /// Edit calls for the file, each with its turn, the oldest first.
    edits: Vec<(EditCall, usize)>,
    /// Edit calls for a file of this name in the repository, in whatever work tree.
    past: Vec<(EditCall, usize)>,
    /// Commands, each with its turn, the oldest first.
    commands: Vec<Command>,
    /// The turns of which a call is stored.
    with_calls: HashSet<usize>,
}

#[derive(Debug)]
struct Command {
    id: String,
    at: u64,
    turn: usize,
    /// Whether the client reported that it has changed the file.
    is_reported: bool,
}

impl Turns {
    /// Reads what the database knows of the turns that the snapshots show, and of others in the same project.
    pub(super) fn read(
        env: &Env,
        home: &Home,
        store: &Store,
        place: &Place,
        snapshots: &[Snapshot],
    ) -> Result<Self, Error> {
        let project_key = Project::of(env, Some(&place.tree.top)).key;
        let stored = store.turns_of_tree(&project_key, &place.key)?;
        let mut turns = turns_of(snapshots, &stored, env.now.0);
        let places = store.session_places()?;
        for turn in turns.iter_mut().filter(|turn| turn.to == u64::MAX) {
            let place = places.iter().find(|place| place.session == turn.session && place.pid.is_some());
            add_end(home, turn, place.is_none_or(reopen::is_running));
        }
        let mut rows: HashMap<i64, usize> = HashMap::new();
        for stored_turn in &stored {
            let same = turns.iter().enumerate().filter(|(_, turn)| is_turn(turn, stored_turn));
            let known = same.min_by_key(|(_, turn)| turn.from.abs_diff(stored_turn.at)).map(|(at, _)| at);
            let at = known.unwrap_or_else(|| {
                let to = stored_turn.replied_at.unwrap_or(stored_turn.at).max(stored_turn.at);
                turns.push(Turn {
                    session: stored_turn.session.clone(),
                    prompt_id: stored_turn.prompt_id.clone(),
                    from: stored_turn.at,
                    to,
                    is_end_known: stored_turn.replied_at.is_some(),
                    is_private: false,
                    is_forgotten: stored_turn.is_forgotten,
                    is_here: false,
                });
                turns.len() - 1
            });
            rows.insert(stored_turn.id, at);
        }
        let oldest = snapshots.first().map_or(u64::MAX, |first| first.created_at);
        let calls = store.calls_of_tree(&place.key, oldest.min(i64::MAX as u64))?;
        Ok(Self { all: turns, rows, calls, project_key })
    }

    /// Returns the turn of a call: by the number of its prompt, or else the last one of its session that began before it.
    fn find(&self, row: Option<i64>, session: &str, at: u64) -> Option<usize> {
        row.and_then(|row| self.rows.get(&row).copied()).or_else(|| {
            let of_session = |turn: &Turn| turn.session == session && turn.from <= at;
            let candidates = self.all.iter().enumerate().filter(|(_, turn)| of_session(turn));
            candidates.max_by_key(|(_, turn)| turn.from).map(|(at, _)| at)
        })
    }
}

impl<'a> Activity<'a> {
    pub(super) fn of_file(turns: &'a Turns, store: &Store, place: &Place, path: &[u8]) -> Result<Self, Error> {
        let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A record has the name without its control characters, as JSON.
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '"' | '\\' | '\u{fffd}');
        let name = name.split(|c| !is_plain(c)).max_by_key(|part| part.len()).unwrap_or_default().to_owned();
        let (mut edits, mut past) = (Vec::new(), Vec::new());
        for call in store.edit_calls(&turns.project_key, &place.key, &name)? {
            let Some(turn) = turns.find(call.prompt, &call.session, call.at) else { continue };
            let own = |named: &str| is_same_file(&place.tree.top, path, named);
            if let Some(read) = EditCall::read(&call.tool_use_id, call.at, &call.input, &own) {
                edits.push((read.clone(), turn));
                past.push((read, turn));
                continue;
            }
            // The same file of another work tree, from which a commit may have come.
            let other = |named: &str| Path::new(named).ends_with(OsStr::from_bytes(path));
            past.extend(EditCall::read(&call.tool_use_id, call.at, &call.input, &other).map(|read| (read, turn)));
        }
        let quoted = serde_json::Value::from(String::from_utf8_lossy(path)).to_string();
        let full = serde_json::Value::from(place.tree.top.join(OsStr::from_bytes(path)).to_string_lossy()).to_string();
        let mut with_calls: HashSet<usize> = edits.iter().map(|(_, turn)| *turn).collect();
        let mut commands = Vec::new();
        for call in &turns.calls {
            let Some(turn) = turns.find(call.prompt, &call.session, call.at) else { continue };
            with_calls.insert(turn);
            if !call.is_harmless {
                let is_reported = call.files_modified.contains(&quoted) || call.files_modified.contains(&full);
                commands.push(Command { id: call.tool_use_id.clone(), at: call.at, turn, is_reported });
            }
        }
        let mut activity = Self { of_tree: turns, turns: turns.all.clone(), edits, past, commands, with_calls };
        activity.add_late_work();
        Ok(activity)
    }

    /// Adds what a turn has done after its end: a subagent or a command in the background, or another plugin that let it go on.
    fn add_late_work(&mut self) {
        let mut last: HashMap<usize, u64> = HashMap::new();
        let edits = self.edits.iter().map(|(call, turn)| (*turn, call.at));
        for (turn, at) in edits.chain(self.commands.iter().map(|command| (command.turn, command.at))) {
            let newest = last.entry(turn).or_default();
            *newest = at.max(*newest);
        }
        for (at, newest) in last {
            let turn = &self.turns[at];
            if turn.is_here && turn.is_end_known && turn.to != u64::MAX && newest > turn.to.saturating_add(AFTER_END_MS)
            {
                self.turns.push(Turn { from: turn.to, to: newest, is_end_known: false, ..turn.clone() });
            }
        }
    }

    /// Returns the edit calls that may have written a line which no snapshot shows.
    pub(super) fn past_calls(&self) -> impl Iterator<Item = (&EditCall, &Turn)> {
        self.past
            .iter()
            .map(|(call, turn)| (call, &self.turns[*turn]))
            .filter(|(_, turn)| !turn.is_private && !turn.is_forgotten)
    }

    /// Returns how many of the snapshots, from the oldest on, show nothing that a later call could explain.
    pub(super) fn settled(&self, snapshots: &[Snapshot]) -> usize {
        let open = self.turns.iter().filter(|turn| turn.to == u64::MAX).map(|turn| turn.from).min().unwrap_or(u64::MAX);
        snapshots.partition_point(|snapshot| snapshot.created_at <= open)
    }

    /// Returns what happened between two times; `took_ms` is how long after the second one the files were read.
    pub(super) fn change(&self, from: u64, to: u64, took_ms: u64, head: Option<&str>) -> Change<'_> {
        let in_gap = |at: u64| at > from && at <= to;
        let mut change = Change { from, to, new_head: head.map(str::to_owned), ..Change::default() };
        let mut active: Vec<usize> = Vec::new();
        let mut add = |turn: usize| {
            if !active.contains(&turn) {
                active.push(turn);
            }
        };
        // What changed while a snapshot waited for another process is in it.
        let seen = if took_ms > LATE_MS { to.saturating_add(took_ms) } else { to };
        for (at, turn) in self.turns.iter().enumerate() {
            if turn.is_here && turn.from < seen && turn.to > from {
                add(at);
            }
        }
        let late = to.saturating_add(LATE_MS.max(took_ms));
        for (call, turn) in &self.edits {
            let whole = (call, &self.turns[*turn]);
            if in_gap(call.at) {
                add(*turn);
                change.calls.push(whole);
            } else if call.at > to && call.at <= late {
                change.late_calls.push(whole);
            }
        }
        for command in self.commands.iter().filter(|command| in_gap(command.at)) {
            add(command.turn);
        }
        // A command that began before the files were read.
        let soon = to.saturating_add(took_ms);
        for command in self.commands.iter().filter(|command| took_ms > 0 && command.at > to && command.at <= soon) {
            add(command.turn);
        }
        change.may_be_outside = !self.is_covered(&active, from, seen);
        for at in active {
            let of_turn = || self.commands.iter().filter(|command| command.turn == at);
            let mut commands: Vec<&Command> = of_turn().filter(|command| in_gap(command.at)).collect();
            if commands.is_empty() {
                // One that was still running.
                commands =
                    of_turn().filter(|command| command.at > to && command.at - to < STILL_RUNNING_MS).take(1).collect();
            }
            let mut reported = commands.iter().filter(|command| command.is_reported);
            let only = reported.next().filter(|_| reported.next().is_none());
            change.turns.push(ActiveTurn {
                turn: &self.turns[at],
                reported: only.map(|command| command.id.as_str()),
                commands: commands.iter().map(|command| command.id.as_str()).collect(),
                knows_calls: self.with_calls.contains(&at),
            });
        }
        change
    }

    /// Returns whether some turn ran at every moment between two times, as far as that is known.
    fn is_covered(&self, active: &[usize], from: u64, to: u64) -> bool {
        let mut spans: Vec<(u64, u64)> = active
            .iter()
            .map(|at| &self.turns[*at])
            .filter(|turn| turn.is_end_known && turn.is_here)
            .map(|turn| (turn.from, turn.to))
            .collect();
        spans.sort_unstable();
        let mut reached = from;
        for (start, end) in spans {
            if start > reached {
                break;
            }
            reached = reached.max(end);
        }
        reached >= to
    }
}

/// Adds what the session's log shows of a turn of which there is no snapshot of the end.
fn add_end(home: &Home, turn: &mut Turn, client_runs: bool) {
    let id = SessionId::new(&turn.session).filter(|id| home.session_file(id, "log").is_file());
    let Some(Ok(metrics)) = id.map(|id| ActivityLog::open(home, &id).and_then(|log| log.metrics())) else { return };
    if metrics.is_turn_running() {
        // Up to now, unless its client was killed with it: when, nobody knows.
        turn.is_end_known = client_runs;
    } else if let Some(last) = metrics.last_line.filter(|last| last.0 >= turn.from) {
        turn.to = last.0;
    }
}

/// Returns whether a turn of the snapshots is one of the memory, which has no private ones.
fn is_turn(turn: &Turn, stored: &StoredTurn) -> bool {
    turn.session == stored.session
        && !turn.is_private
        && match (&turn.prompt_id, &stored.prompt_id) {
            (Some(id), Some(other)) => id == other,
            _ => turn.from.abs_diff(stored.at) <= SAME_PROMPT_MS,
        }
}

/// Returns the turns that the snapshots show: each begins with the snapshot of a prompt.
fn turns_of(snapshots: &[Snapshot], stored: &[StoredTurn], now: u64) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut open: HashMap<&str, usize> = HashMap::new();
    for snapshot in snapshots {
        let at = snapshot.created_at;
        match snapshot.kind {
            SnapshotKind::Prompt => {
                let id = snapshot.prompt_id.as_deref();
                if let Some(last) = open.remove(snapshot.session.as_str()) {
                    // A prompt that is sent while the turn runs goes on with it. After an interruption no end is reported.
                    turns[last].to = at;
                    turns[last].is_end_known = id.is_some() && turns[last].prompt_id.as_deref() == id;
                }
                open.insert(&snapshot.session, turns.len());
                turns.push(Turn {
                    session: snapshot.session.clone(),
                    prompt_id: snapshot.prompt_id.clone(),
                    from: at,
                    to: u64::MAX,
                    is_end_known: false,
                    is_private: snapshot.is_private,
                    is_forgotten: false,
                    is_here: true,
                });
            }
            SnapshotKind::End => {
                if let Some(last) = open.remove(snapshot.session.as_str()) {
                    turns[last].to = at;
                    turns[last].is_end_known = true;
                }
            }
            SnapshotKind::Start
            | SnapshotKind::Bookmark
            | SnapshotKind::Compaction
            | SnapshotKind::Restore
            | SnapshotKind::Work => {}
        }
    }
    for turn in &mut turns {
        let same = stored.iter().filter(|stored_turn| is_turn(turn, stored_turn));
        let known = same.min_by_key(|stored_turn| turn.from.abs_diff(stored_turn.at));
        turn.is_forgotten = known.is_some_and(|stored_turn| stored_turn.is_forgotten);
        // A turn whose end nobody saw: the last reply was its end, if that was long ago.
        if !turn.is_end_known && turn.to == u64::MAX && now.saturating_sub(turn.from) > ABANDONED_MS {
            turn.to = known.and_then(|stored_turn| stored_turn.replied_at).unwrap_or(now).max(turn.from);
        }
    }
    turns
}

/// After this time, a turn without an end does not run any more.
const ABANDONED_MS: u64 = 24 * 3_600_000;
