//! Random days of six sessions, with a simulated clock: every state that lasts is reported exactly once by each way, none in
//! the pane that the user looks at or for a subagent, and the log accounts for every one.

use std::collections::BTreeMap;

use longhaul_core::config::{Notify, NotifyState, NotifyWay, OtherSession};
use longhaul_core::{Millis, Status};
use longhaul_tracker::{Trigger, next};
use proptest::prelude::*;
use proptest::test_runner::Config as Runs;

use super::config;
use crate::{Attention, Focus, SessionNow, Suppression, TmuxClient, Verdict, attention, decide};

const SESSIONS: usize = 6;
const DELAY: u64 = 2_000;
const START: u64 = 1_000_000;

/// What happens next, after a time.
#[derive(Debug, Clone)]
enum Step {
    /// An event of a session; a dialog may be that of a subagent. The hook may start the process twice, as after a damaged database.
    Event { session: usize, trigger: usize, by_subagent: bool, twice: bool },
    /// The user switches to the pane of a session, or away from the terminal.
    Look(Option<usize>),
    /// The user presses a key.
    Key,
    /// The newest process is killed.
    Kill,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let triggers = Trigger::ALL.len();
    let event = (0..SESSIONS, 0..triggers, prop::bool::weighted(0.1))
        .prop_map(|(session, trigger, twice)| Step::Event { session, trigger, by_subagent: false, twice });
    // Prompts and permission dialogs are the most frequent events.
    let triggers = vec![Trigger::Prompt, Trigger::PermissionRequested, Trigger::Stopped];
    let common = (0..SESSIONS, prop::sample::select(triggers), prop::bool::weighted(0.4));
    let common = common.prop_map(|(session, trigger, by_subagent)| Step::Event {
        session,
        trigger: Trigger::ALL.iter().position(|one| *one == trigger).unwrap_or_default(),
        by_subagent,
        twice: false,
    });
    let what = prop_oneof![
        3 => event,
        6 => common,
        2 => prop::option::of(0..SESSIONS).prop_map(Step::Look),
        1 => Just(Step::Key),
        1 => Just(Step::Kill),
    ];
    (1u64..4_000, what)
}

/// A row of the log. The key is unique, as in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Waiting,
    Sending,
    Sent,
    Failed,
    Suppressed(Suppression),
}

type Key = (usize, u64, NotifyState, NotifyWay);

/// A process that was started for a change of a session.
#[derive(Debug, Clone)]
struct Process {
    session: usize,
    at: u64,
    state: NotifyState,
    other: Option<OtherSession>,
    is_dead: bool,
}

#[derive(Debug, Default)]
struct World {
    now: u64,
    sessions: Vec<SessionNow>,
    /// Whether the last dialog of a session is that of a subagent.
    subagent_asked: Vec<bool>,
    /// The changes that are those of a subagent, which are not reported.
    silent: Vec<(usize, u64)>,
    looks_at: Option<usize>,
    last_key: u64,
    log: BTreeMap<Key, Row>,
    sent: Vec<Key>,
    running: Vec<Process>,
    /// Every change, with what the user looked at and typed afterwards: for the expectation.
    history: Vec<(u64, Change)>,
    killed: Vec<(usize, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Status(usize, Status),
    Look(Option<usize>),
    Key,
}

impl World {
    fn new() -> Self {
        let session = SessionNow::new(Status::Idle, Millis(START));
        Self { now: START, sessions: vec![session; SESSIONS], subagent_asked: vec![false; SESSIONS], ..Self::default() }
    }

    /// Lets the time pass, and lets each process whose delay is over decide and send.
    fn pass(&mut self, ms: u64, config: &Notify) {
        let end = self.now + ms;
        while let Some(at) = self.running.iter().position(|process| process.at + DELAY <= end) {
            let process = self.running.remove(at);
            self.now = process.at + DELAY;
            if !process.is_dead {
                self.finish(&process, config);
            }
        }
        self.now = end;
    }

    fn finish(&mut self, process: &Process, config: &Notify) {
        let clients: Vec<TmuxClient> = self
            .looks_at
            .map(|session| TmuxClient {
                pane: format!("%{session}"),
                focus: Focus::Focused,
                active_at: self.last_key / 1000,
            })
            .into_iter()
            .collect();
        let pane = format!("%{}", process.session);
        let attention = attention(&pane, &clients, Millis(process.at), Millis(self.now), 0);
        let session = SessionNow { other: process.other, ..self.sessions[process.session].clone() };
        for (way, verdict) in decide(process.state, Millis(process.at), Some(&session), attention, config, 0) {
            let key = (process.session, process.at, process.state, way);
            let row = self.log.entry(key).or_insert(Row::Waiting);
            match verdict {
                Verdict::Suppress(why) if *row == Row::Waiting => *row = Row::Suppressed(why),
                Verdict::Send if *row == Row::Waiting => {
                    *row = Row::Sending;
                    self.sent.push(key);
                    // A way that fails or hangs does not change what the others do.
                    *row = if way == NotifyWay::Webhook { Row::Failed } else { Row::Sent };
                }
                Verdict::Suppress(_) | Verdict::Send => {}
            }
        }
    }

    fn take(&mut self, step: &Step, config: &Notify) {
        match step {
            Step::Look(session) => {
                self.looks_at = *session;
                self.history.push((self.now, Change::Look(*session)));
            }
            Step::Key => {
                self.last_key = self.now;
                self.history.push((self.now, Change::Key));
            }
            Step::Kill => {
                if let Some(process) = self.running.last_mut().filter(|process| !process.is_dead) {
                    process.is_dead = true;
                    self.killed.push((process.session, process.at));
                }
            }
            Step::Event { session, trigger, by_subagent, twice } => {
                let trigger = Trigger::ALL[*trigger];
                let by_subagent = *by_subagent && trigger == Trigger::PermissionRequested;
                self.event(*session, trigger, by_subagent, *twice, config);
            }
        }
    }

    fn event(&mut self, at: usize, trigger: Trigger, by_subagent: bool, twice: bool, config: &Notify) {
        let session = &mut self.sessions[at];
        if trigger == Trigger::Prompt {
            session.prompted = Some(Millis(self.now));
        }
        let asks = trigger == Trigger::PermissionRequested;
        // The main conversation that asks behind a subagent is a change, too.
        let joins = asks && !by_subagent && session.status == Status::Blocked && self.subagent_asked[at];
        let changed = next(session.status, trigger).or(joins.then_some(Status::Blocked));
        self.subagent_asked[at] = match changed.unwrap_or(session.status) {
            Status::Blocked if asks => by_subagent,
            Status::Blocked => self.subagent_asked[at],
            Status::Working | Status::Completed | Status::Idle => false,
        };
        let Some(status) = changed else { return };
        (session.status, session.changed) = (status, Millis(self.now));
        self.history.push((self.now, Change::Status(at, status)));
        let error = (trigger == Trigger::Failed).then_some("rate_limit");
        let Some(state) = NotifyState::of(status, error) else { return };
        for way in &config.rule(state).ways.0 {
            self.log.entry((at, self.now, state, *way)).or_insert(Row::Waiting);
        }
        if by_subagent {
            self.silent.push((at, self.now));
        }
        let other = by_subagent.then_some(OtherSession::Subagent);
        let process = Process { session: at, at: self.now, state, other, is_dead: false };
        self.running.extend(std::iter::repeat_n(process, if twice { 2 } else { 1 }));
    }

    /// Returns what the user does at the time `now` with the pane of a session that changed `at`, from the history alone.
    fn attention_at(&self, session: usize, at: u64, now: u64) -> Attention {
        let until = |now: u64| self.history.iter().filter(move |(when, _)| *when < now);
        let looked =
            until(now).rev().find_map(|(_, change)| if let Change::Look(on) = change { Some(*on) } else { None });
        if looked.flatten() != Some(session) {
            return Attention::Elsewhere;
        }
        let key = until(now).rev().find(|(_, change)| *change == Change::Key).map_or(0, |(when, _)| *when);
        if key / 1000 > at / 1000 { Attention::Typed } else { Attention::Looking }
    }

    /// Returns whether the status of a session did not change between two times.
    fn lasted(&self, session: usize, at: u64, until: u64) -> bool {
        // What happens in the millisecond of the decision comes after it.
        let is_later = |(when, _): &&(u64, Change)| *when > at && *when < until;
        let mut later = self.history.iter().filter(is_later);
        !later.any(|(_, change)| matches!(change, Change::Status(one, _) if *one == session))
    }
}

proptest! {
    #![proptest_config(Runs::with_cases(500))]

    #[test]
    fn every_state_that_lasts_is_reported_once(steps in prop::collection::vec(step(), 1..120)) {
        let config = config(
            r#"{"blocked": {"ways": ["terminal", "ntfy", "webhook"]}, "completed": {"ways": ["desktop"], "min_seconds": 0},
                "limit": {"ways": ["ntfy"]}}"#,
        );
        let mut world = World::new();
        for (ms, step) in &steps {
            world.pass(*ms, &config);
            world.take(step, &config);
        }
        world.pass(2 * DELAY, &config);

        let mut once = world.sent.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), world.sent.len(), "a notification was sent twice");

        let mut expected = Vec::new();
        let mut started = 0;
        for (at, change) in world.history.clone() {
            let Change::Status(session, _) = change else { continue };
            let keys: Vec<Key> = world.log.keys().copied().filter(|key| key.0 == session && key.1 == at).collect();
            started += keys.len();
            for key in keys {
                // Only one of two processes for a change may have been killed: either result is right then.
                if world.killed.contains(&(session, at)) {
                    continue;
                }
                let ended = at + DELAY;
                let attention = world.attention_at(session, at, ended);
                let is_due = match key.2 {
                    NotifyState::Blocked | NotifyState::Limit => world.lasted(session, at, ended),
                    // Seen is not a change of what is reported.
                    _ => !matches!(world.log[&key], Row::Suppressed(Suppression::DidNotLast(_))),
                };
                let is_own = !world.silent.contains(&(session, at));
                if is_due && is_own && attention == Attention::Elsewhere {
                    expected.push(key);
                    prop_assert!(world.sent.contains(&key), "{:?} was not sent: {:?}", key, world.log[&key]);
                } else {
                    prop_assert!(matches!(world.log[&key], Row::Suppressed(_)), "{:?}: {:?}", key, world.log[&key]);
                    prop_assert!(!world.sent.contains(&key), "{:?} was sent", key);
                }
            }
        }
        // The log has a row for every process, and a result for each that was not killed.
        prop_assert_eq!(started, world.log.len());
        for (key, row) in &world.log {
            let was_killed = world.killed.contains(&(key.0, key.1));
            prop_assert!(was_killed || !matches!(row, Row::Waiting | Row::Sending), "{:?}: {:?}", key, row);
            let failed = *row == Row::Failed;
            prop_assert_eq!(failed, world.sent.contains(key) && key.3 == NotifyWay::Webhook);
        }
        prop_assert!(expected.iter().all(|key| world.sent.contains(key)));
    }
}
