//! What ran between two snapshots of a work tree: turns with their edit calls and commands.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use longhaul_core::SessionId;
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{ActivityLog, Home, is_private_prompt};
use longhaul_store::{CommandCall, Snapshot, SnapshotKind, StoredTurn};

use super::calls::EditCall;
use super::decision::{ActiveTurn, Change, Turn};
use super::{Question, is_same_file};
use crate::Error;

/// How much later than a snapshot was asked for a call may have written what it shows: the files are read a moment later.
const LATE_MS: u64 = 10_000;

/// How much later a command that was under way may have ended.
const STILL_RUNNING_MS: u64 = 600_000;

/// How much later than the end of its turn a call may be noted.
const AFTER_END_MS: u64 = 2_000;

/// How far the times of a prompt in the memory and of its snapshot may be apart.
const SAME_PROMPT_MS: u64 = 5_000;

/// Turns and calls of a work tree.
#[derive(Debug)]
pub(super) struct Activity {
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

impl Activity {
    /// Reads what the database knows.
    pub(super) fn read(asked: &Question<'_>, snapshots: &[Snapshot]) -> Result<Self, Error> {
        let Question { env, home, store, place, path, .. } = asked;
        let project = Project::of(env, Some(&place.tree.top));
        let stored = store.turns_of_tree(&project.key, &place.key)?;
        let mut private: HashMap<&str, HashSet<String>> = HashMap::new();
        for snapshot in snapshots {
            if !private.contains_key(snapshot.session.as_str()) {
                private.insert(&snapshot.session, store.private_ids(&snapshot.session)?.into_iter().collect());
            }
        }
        let is_private = |session: &str, prompt: Option<&str>| {
            prompt.is_some_and(|id| {
                private.get(session).is_some_and(|ids| ids.contains(id)) || is_private_prompt(home, session, id)
            })
        };
        let mut turns = turns_of(snapshots, &stored, env.now.0, &is_private);
        for turn in turns.iter_mut().filter(|turn| turn.to == u64::MAX) {
            turn.is_end_known = is_running(home, &turn.session);
        }
        let mut rows: HashMap<i64, usize> = HashMap::new();
        for one in &stored {
            let known = turns.iter().position(|turn| is_turn(turn, one));
            let at = known.unwrap_or_else(|| {
                let to = one.replied_at.unwrap_or(one.at).max(one.at);
                turns.push(Turn {
                    session: one.session.clone(),
                    prompt_id: one.prompt_id.clone(),
                    from: one.at,
                    to,
                    is_end_known: one.replied_at.is_some(),
                    is_private: false,
                    is_forgotten: one.is_forgotten,
                    is_here: false,
                });
                turns.len() - 1
            });
            rows.insert(one.id, at);
        }
        let find = |turns: &[Turn], row: Option<i64>, session: &str, at: u64| {
            row.and_then(|row| rows.get(&row).copied()).or_else(|| {
                let of_session = |turn: &Turn| turn.session == session && turn.from <= at;
                let candidates = turns.iter().enumerate().filter(|(_, turn)| of_session(turn));
                candidates.max_by_key(|(_, turn)| turn.from).map(|(at, _)| at)
            })
        };
        let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A record has the name without its control characters, as JSON.
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '"' | '\\' | '\u{fffd}');
        let name = name.split(|c| !is_plain(c)).max_by_key(|part| part.len()).unwrap_or_default().to_owned();
        let (mut edits, mut past) = (Vec::new(), Vec::new());
        for call in store.edit_calls(&project.key, &place.key, &name)? {
            let Some(turn) = find(&turns, call.prompt, &call.session, call.at) else { continue };
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
        let oldest = snapshots.first().map_or(u64::MAX, |first| first.created_at);
        for call in store.calls_of_tree(&place.key, oldest.min(i64::MAX as u64))? {
            let CommandCall { tool_use_id, at, session, prompt, files_modified, is_harmless, .. } = call;
            let Some(turn) = find(&turns, prompt, &session, at) else { continue };
            with_calls.insert(turn);
            if !is_harmless {
                let is_reported = files_modified.contains(&quoted) || files_modified.contains(&full);
                commands.push(Command { id: tool_use_id, at, turn, is_reported });
            }
        }
        let mut activity = Self { turns, edits, past, commands, with_calls };
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
        snapshots.partition_point(|one| one.created_at <= open)
    }

    /// Returns what happened between two times; `took_ms` is how long the snapshot at the second one took.
    pub(super) fn change(&self, from: u64, to: u64, took_ms: u64, head: Option<&str>) -> Change<'_> {
        let in_gap = |at: u64| at > from && at <= to;
        let mut change = Change { to, new_head: head.map(str::to_owned), ..Change::default() };
        let mut active: Vec<usize> = Vec::new();
        let mut add = |turn: usize| {
            if !active.contains(&turn) {
                active.push(turn);
            }
        };
        for (at, turn) in self.turns.iter().enumerate() {
            if turn.is_here && turn.from < to && turn.to > from {
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
        change.may_be_outside = !self.is_covered(&active, from, to);
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

/// Returns whether a session's log shows that a turn is running.
fn is_running(home: &Home, session: &str) -> bool {
    let Some(id) = SessionId::new(session).filter(|id| home.session_file(id, "log").is_file()) else { return false };
    let metrics = ActivityLog::open(home, &id).and_then(|log| log.metrics());
    metrics.is_ok_and(|metrics| metrics.is_turn_running())
}

fn is_turn(turn: &Turn, stored: &StoredTurn) -> bool {
    turn.session == stored.session
        && match (&turn.prompt_id, &stored.prompt_id) {
            (Some(one), Some(other)) => one == other,
            _ => turn.from.abs_diff(stored.at) <= SAME_PROMPT_MS,
        }
}

/// Returns the turns that the snapshots show: each begins with the snapshot of a prompt.
fn turns_of(
    snapshots: &[Snapshot],
    stored: &[StoredTurn],
    now: u64,
    is_private: &dyn Fn(&str, Option<&str>) -> bool,
) -> Vec<Turn> {
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
                    is_private: is_private(&snapshot.session, id),
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
        let known = stored.iter().find(|one| is_turn(turn, one));
        turn.is_forgotten = known.is_some_and(|one| one.is_forgotten);
        // A turn whose end nobody saw: the last reply was its end, if that was long ago.
        if !turn.is_end_known && turn.to == u64::MAX && now.saturating_sub(turn.from) > ABANDONED_MS {
            turn.to = known.and_then(|one| one.replied_at).unwrap_or(now).max(turn.from);
        }
    }
    turns
}

/// After this time, a turn without an end does not run any more.
const ABANDONED_MS: u64 = 24 * 3_600_000;
