use std::collections::BTreeMap;

use longhaul_core::config::{Notify, NotifyState, NotifyWay, OtherSession};
use longhaul_core::{Config, Millis, Status};
use longhaul_runtime::tmux::Client;
use longhaul_store::NotifyEvent;
use longhaul_tracker::{Trigger, next};
use proptest::prelude::*;
use proptest::test_runner::Config as Runs;
use serde_json::json;

use crate::decision::{Attention, SessionNow, Suppression, attention, attention_by_draft, suppression};
use crate::message::{Message, Subject, TerminalKind, duration, ntfy_body, terminal_sequence, webhook_body};

/// Returns the section `notify` of a configuration.
fn config(json: &str) -> Notify {
    let (config, warnings) = Config::from_json(&format!(r#"{{"notify": {json}}}"#));
    assert_eq!(warnings, []);
    config.notify
}

fn subject(state: NotifyState, waits_for: Option<&str>, turn_ms: Option<u64>) -> Subject {
    let mut subject = Subject::new(state, "api");
    subject.branch = Some("main".to_owned());
    subject.waits_for = waits_for.map(str::to_owned);
    subject.turn_ms = turn_ms;
    subject
}

#[test]
fn a_message_names_project_branch_what_it_waits_for_and_how_long() {
    let long = Some(12 * 60_000);
    for (state, waits_for, turn_ms, title, text) in [
        (
            NotifyState::Blocked,
            Some("wants to run: cargo publish"),
            long,
            "api (main) waits for you",
            "wants to run: cargo publish, after 12m",
        ),
        (NotifyState::Blocked, Some("asks a question"), None, "api (main) waits for you", "asks a question"),
        (NotifyState::Blocked, None, long, "api (main) waits for you", "It waits for an answer"),
        (NotifyState::Completed, Some("not shown"), long, "api (main) has finished", "The turn took 12m"),
        (NotifyState::Completed, None, None, "api (main) has finished", "The turn has ended"),
        (NotifyState::Failed, Some("server_error"), long, "api (main) has failed", "server_error, after 12m"),
        (NotifyState::Failed, None, None, "api (main) has failed", "The turn ended in an error"),
        (NotifyState::Limit, Some("rate_limit"), None, "api (main) has reached a limit", "rate_limit"),
    ] {
        let message = Message::new(&subject(state, waits_for, turn_ms));
        assert_eq!((message.title.as_str(), message.text.as_str()), (title, text));
        assert_eq!(message.line(), format!("{title}: {text}"));
    }
}

#[test]
fn a_session_without_a_name_still_has_a_title() {
    let message = Message::new(&Subject::new(NotifyState::Blocked, "\u{1b}\u{7}"));
    assert_eq!(message.title, "a session waits for you");
}

#[test]
fn durations_are_short() {
    let shown = [0, 999, 59_999, 60_000, 3_599_000, 3_600_000, 7_500_000].map(duration);
    assert_eq!(shown, ["0s", "0s", "59s", "1m", "59m", "1h", "2h 5m"]);
}

#[test]
fn services_get_small_objects() {
    let subject = subject(NotifyState::Blocked, Some("asks a question"), Some(61_000));
    let message = Message::new(&subject);
    let body = ntfy_body("mine", NotifyState::Blocked, &message);
    assert_eq!(
        body,
        json!({ "topic": "mine", "title": "api (main) waits for you", "message": "asks a question, after 1m",
                "priority": 4, "tags": ["raised_hand"] })
    );
    assert_eq!(ntfy_body("mine", NotifyState::Completed, &message)["priority"], 3);
    assert_eq!(ntfy_body("mine", NotifyState::Limit, &message)["tags"], json!(["warning"]));
    let event = NotifyEvent { session: "s1".to_owned(), state: NotifyState::Blocked, at: Millis(5) };
    assert_eq!(
        webhook_body(&event, &subject, &message),
        json!({ "state": "blocked", "session": "s1", "project": "api", "branch": "main",
                "title": "api (main) waits for you", "text": "asks a question, after 1m", "turn_seconds": 61, "at_ms": 5 })
    );
}

proptest! {
    #[test]
    fn no_text_reaches_a_terminal_unfiltered_or_without_a_limit(
        project in any::<String>(), branch in any::<String>(), cause in ".{0,400}", hidden in "[\u{202a}-\u{202e}\u{200b}-\u{200f}\u{7f}-\u{9f}]{0,9}",
    ) {
        let cause = format!("{hidden}{cause}{hidden}");
        let mut subject = Subject::new(NotifyState::Blocked, &project);
        subject.branch = Some(branch);
        subject.waits_for = Some(cause);
        subject.turn_ms = Some(u64::MAX);
        let message = Message::new(&subject);
        for text in [&message.title, &message.text] {
            prop_assert!(text.chars().count() <= 200, "{}", text);
            let is_bad = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!text.chars().any(is_bad), "{:?}", text);
        }
    }
}

fn shown(kind: TerminalKind) -> String {
    let message = Message { title: "4;2;a (main) waits".to_owned(), text: "wants to run: a; b".to_owned() };
    String::from_utf8(terminal_sequence(&message, kind)).unwrap()
}

#[test]
fn a_terminal_gets_the_sequence_that_it_knows() {
    assert_eq!(shown(TerminalKind::Osc9), "\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}\u{7}");
    assert_eq!(shown(TerminalKind::Osc777), "\u{1b}]777;notify;4,2,a (main) waits;wants to run: a; b\u{7}\u{7}");
    assert_eq!(
        shown(TerminalKind::InTmux),
        "\u{1b}Ptmux;\u{1b}\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}\u{1b}\\\u{7}"
    );
    assert_eq!(
        shown(TerminalKind::InScreen),
        "\u{1b}P\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}\u{1b}\\\u{7}"
    );
    assert_eq!(shown(TerminalKind::Bell), "\u{7}");
}

#[test]
fn terminals_are_known_by_what_they_report_or_by_their_term() {
    for (term, program, kind) in [
        ("xterm-256color", "WezTerm 20240203", TerminalKind::Osc9),
        ("xterm-256color", "iTerm2 3.5.0", TerminalKind::Osc9),
        ("xterm-kitty", "", TerminalKind::Osc9),
        ("xterm-ghostty", "ghostty 1.0", TerminalKind::Osc9),
        ("foot", "foot(1.16)", TerminalKind::Osc777),
        ("rxvt-unicode-256color", "", TerminalKind::Osc777),
        ("xterm-256color", "VTE(7600)", TerminalKind::Osc777),
        ("tmux-256color", "tmux 3.4", TerminalKind::InTmux),
        ("screen-256color", "tmux 3.3a", TerminalKind::InTmux),
        ("screen", "", TerminalKind::InScreen),
        ("linux", "", TerminalKind::Bell),
        ("dumb", "", TerminalKind::Bell),
        ("", "", TerminalKind::Bell),
        ("xterm-256color", "", TerminalKind::Osc9),
        ("alacritty", "", TerminalKind::Osc9),
    ] {
        assert_eq!(TerminalKind::of(term, program), kind, "{term} {program}");
    }
}

const AT: Millis = Millis(1_000_000);
const NOON: u16 = 12 * 60;
const BOTH: &str = r#"{"blocked": ["desktop", "ntfy"], "completed": ["ntfy"]}"#;

/// Returns a session that is as it was, after a turn of a minute.
fn session(status: Status) -> SessionNow {
    let mut session = SessionNow::new(status, AT);
    session.prompted = Some(Millis(AT.0 - 60_000));
    session
}

#[track_caller]
fn check(state: NotifyState, session: Option<&SessionNow>, attention: Attention, expected: Option<Suppression>) {
    assert_eq!(suppression(state, AT, session, attention, &config(BOTH), NOON), expected);
}

#[test]
fn a_state_that_has_not_lasted_is_not_reported() {
    let elsewhere = Attention::Elsewhere;
    check(NotifyState::Blocked, Some(&session(Status::Blocked)), elsewhere, None);
    check(NotifyState::Failed, Some(&session(Status::Blocked)), elsewhere, None);
    check(NotifyState::Blocked, None, elsewhere, Some(Suppression::Ended));
    for now in [Status::Working, Status::Idle, Status::Completed] {
        check(NotifyState::Blocked, Some(&session(now)), elsewhere, Some(Suppression::DidNotLast(now)));
    }
    // Blocked, working and blocked again: the second one is reported by itself.
    let mut again = session(Status::Blocked);
    again.changed = Millis(AT.0 + 1);
    check(NotifyState::Blocked, Some(&again), elsewhere, Some(Suppression::DidNotLast(Status::Blocked)));
}

#[test]
fn a_turn_that_has_ended_is_reported_until_the_next_prompt() {
    let elsewhere = Attention::Elsewhere;
    check(NotifyState::Completed, Some(&session(Status::Completed)), elsewhere, None);
    // The tracker marks an active pane as seen, whether or not the user looks at it.
    let mut seen = session(Status::Idle);
    seen.changed = Millis(AT.0 + 100);
    check(NotifyState::Completed, Some(&seen), elsewhere, None);
    check(NotifyState::Completed, Some(&seen), Attention::Looking, Some(Suppression::Looking));
    let mut next = session(Status::Completed);
    next.prompted = Some(Millis(AT.0 + 1));
    check(NotifyState::Completed, Some(&next), elsewhere, Some(Suppression::DidNotLast(Status::Completed)));
    let working = session(Status::Working);
    check(NotifyState::Completed, Some(&working), elsewhere, Some(Suppression::DidNotLast(Status::Working)));
}

#[test]
fn a_short_turn_is_not_reported_where_a_minimum_is_set() {
    let mut short = session(Status::Completed);
    short.prompted = Some(Millis(AT.0 - 29_999));
    let why = Suppression::ShortTurn { took_ms: 29_999, least_ms: 30_000 };
    check(NotifyState::Completed, Some(&short), Attention::Elsewhere, Some(why));
    short.prompted = Some(Millis(AT.0 - 30_000));
    check(NotifyState::Completed, Some(&short), Attention::Elsewhere, None);
    // Its beginning is not known.
    short.prompted = None;
    check(NotifyState::Completed, Some(&short), Attention::Elsewhere, None);
    short.status = Status::Blocked;
    short.prompted = Some(AT);
    check(NotifyState::Blocked, Some(&short), Attention::Elsewhere, None);
}

#[test]
fn the_user_who_looks_or_types_is_not_called() {
    let blocked = session(Status::Blocked);
    check(NotifyState::Blocked, Some(&blocked), Attention::Looking, Some(Suppression::Looking));
    check(NotifyState::Blocked, Some(&blocked), Attention::Typed, Some(Suppression::Typed));
}

#[test]
fn other_sessions_are_silent_unless_they_are_named() {
    for kind in [OtherSession::Subagent, OtherSession::Teammate, OtherSession::Print] {
        let mut other = session(Status::Blocked);
        other.other = Some(kind);
        check(NotifyState::Blocked, Some(&other), Attention::Elsewhere, Some(Suppression::OtherSession(kind)));
        let named = config(r#"{"blocked": ["ntfy"], "also": ["subagent", "teammate", "print"]}"#);
        assert_eq!(suppression(NotifyState::Blocked, AT, Some(&other), Attention::Elsewhere, &named, NOON), None);
    }
}

#[test]
fn quiet_hours_are_quiet() {
    let night = config(r#"{"blocked": ["ntfy"], "quiet_hours": "22:00-07:00"}"#);
    let at = |minute| {
        suppression(NotifyState::Blocked, AT, Some(&session(Status::Blocked)), Attention::Elsewhere, &night, minute)
    };
    assert_eq!(at(23 * 60), Some(Suppression::QuietHours));
    assert_eq!(at(NOON), None);
}

#[test]
fn a_reason_says_what_a_person_can_change() {
    for (why, text) in [
        (Suppression::Ended, "the session has ended"),
        (
            Suppression::DidNotLast(Status::Working),
            "the state did not last two seconds: the session is working or has changed again",
        ),
        (
            Suppression::OtherSession(OtherSession::Print),
            "the session is of the kind print, which notify.also does not name",
        ),
        (Suppression::ShortTurn { took_ms: 12_000, least_ms: 90_000 }, "the turn took 12s, less than 1m"),
        (Suppression::QuietHours, "it is in notify.quiet_hours"),
        (Suppression::Looking, "you were looking at the pane"),
        (Suppression::Typed, "you have typed in the pane since"),
    ] {
        assert_eq!(why.to_string(), text);
    }
}

const SEEN_AT: Millis = Millis(1_000_500);
const NOW: Millis = Millis(1_002_500);

fn client(pane: &str, focused: Option<bool>, active_at: u64) -> Client {
    Client { pane: pane.to_owned(), focused, active_at, ..Client::default() }
}

#[track_caller]
fn check_attention(clients: &[Client], expected: Attention) {
    assert_eq!(attention("%1", clients, SEEN_AT, NOW), expected, "{clients:?}");
}

#[test]
fn a_focused_client_that_shows_the_pane_is_looked_at() {
    check_attention(&[], Attention::Elsewhere);
    check_attention(&[client("%1", Some(true), 10)], Attention::Looking);
    check_attention(&[client("%1", Some(false), 1_000)], Attention::Elsewhere);
    check_attention(&[client("%2", Some(true), 1_000)], Attention::Elsewhere);
    check_attention(&[client("%2", Some(true), 1_000), client("%1", Some(true), 10)], Attention::Looking);
}

#[test]
fn without_reports_of_the_focus_a_person_goes_away_after_a_while() {
    check_attention(&[client("%1", None, 1_000)], Attention::Looking);
    check_attention(&[client("%1", None, 883)], Attention::Looking);
    check_attention(&[client("%1", None, 882)], Attention::Elsewhere);
}

#[test]
fn only_a_key_after_the_change_and_in_that_pane_counts_as_typed() {
    check_attention(&[client("%1", Some(false), 1_001)], Attention::Typed);
    check_attention(&[client("%1", Some(true), 1_001)], Attention::Typed);
    check_attention(&[client("%2", Some(true), 1_001)], Attention::Elsewhere);
    // The second of the change itself.
    check_attention(&[client("%1", Some(false), 1_000)], Attention::Elsewhere);
}

#[test]
fn a_draft_of_the_last_minute_counts_as_typed() {
    let now = Millis(1_000_000);
    let with = |draft: Option<u64>| attention_by_draft(draft.map(Millis), now, Attention::Elsewhere);
    assert_eq!(with(None), Attention::Elsewhere);
    assert_eq!((with(Some(1_000_000)), with(Some(940_000))), (Attention::Typed, Attention::Typed));
    assert_eq!(with(Some(939_999)), Attention::Elsewhere);
    assert_eq!(attention_by_draft(None, now, Attention::Looking), Attention::Looking);
}

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
        trigger: Trigger::ALL.iter().position(|known| *known == trigger).unwrap_or_default(),
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
        let clients: Vec<Client> = self
            .looks_at
            .map(|session| Client {
                pane: format!("%{session}"),
                focused: Some(true),
                active_at: self.last_key / 1000,
                ..Client::default()
            })
            .into_iter()
            .collect();
        let pane = format!("%{}", process.session);
        let attention = attention(&pane, &clients, Millis(process.at), Millis(self.now));
        let session = SessionNow { other: process.other, ..self.sessions[process.session].clone() };
        let suppressed = suppression(process.state, Millis(process.at), Some(&session), attention, config, 0);
        for way in config.ways_of(process.state).iter().copied() {
            let key = (process.session, process.at, process.state, way);
            let row = self.log.entry(key).or_insert(Row::Waiting);
            match suppressed {
                Some(why) if *row == Row::Waiting => *row = Row::Suppressed(why),
                None if *row == Row::Waiting => {
                    *row = Row::Sending;
                    self.sent.push(key);
                    // A way that fails or hangs does not change what the others do.
                    *row = if way == NotifyWay::Webhook { Row::Failed } else { Row::Sent };
                }
                Some(_) | None => {}
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
        for way in config.ways_of(state) {
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
        !later.any(|(_, change)| matches!(change, Change::Status(changed, _) if *changed == session))
    }
}

proptest! {
    #![proptest_config(Runs::with_cases(500))]

    #[test]
    fn every_state_that_lasts_is_reported_once(steps in prop::collection::vec(step(), 1..120)) {
        let config = config(
            r#"{"blocked": ["terminal", "ntfy", "webhook"], "completed": ["desktop"], "min_seconds": 0,
                "limit": ["ntfy"]}"#,
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
