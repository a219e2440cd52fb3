use longhaul_core::config::{NotifyState, NotifyWay, OtherSession};
use longhaul_core::{Millis, Status};

use super::config;
use crate::{Attention, SessionNow, Suppression, Verdict, decide};

const AT: Millis = Millis(1_000_000);
const NOON: u16 = 12 * 60;
const BOTH: &str =
    r#"{"blocked": {"ways": ["desktop", "ntfy"]}, "completed": {"ways": ["ntfy"]}, "failed": {"ways": ["ntfy"]}}"#;

/// Returns a session that is as it was, after a turn of a minute.
fn session(status: Status) -> SessionNow {
    let mut session = SessionNow::new(status, AT);
    session.prompted = Some(Millis(AT.0 - 60_000));
    session
}

#[track_caller]
fn check(state: NotifyState, session: Option<&SessionNow>, attention: Attention, expected: Option<Suppression>) {
    let verdict = expected.map_or(Verdict::Send, Verdict::Suppress);
    let verdicts = decide(state, AT, session, attention, &config(BOTH), NOON);
    assert!(!verdicts.is_empty() && verdicts.iter().all(|(_, found)| *found == verdict), "{verdicts:?}");
}

#[test]
fn every_way_of_the_state_gets_a_verdict_and_no_other_way() {
    let blocked = session(Status::Blocked);
    let ways = |state| {
        let verdicts = decide(state, AT, Some(&blocked), Attention::Elsewhere, &config(BOTH), NOON);
        verdicts.into_iter().map(|(way, _)| way).collect::<Vec<_>>()
    };
    assert_eq!(ways(NotifyState::Blocked), [NotifyWay::Desktop, NotifyWay::Ntfy]);
    assert_eq!(ways(NotifyState::Completed), [NotifyWay::Ntfy]);
    assert_eq!(ways(NotifyState::Limit), []);
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
        let named = config(r#"{"blocked": {"ways": ["ntfy"]}, "also": ["subagent", "teammate", "print"]}"#);
        let verdicts = decide(NotifyState::Blocked, AT, Some(&other), Attention::Elsewhere, &named, NOON);
        assert_eq!(verdicts, [(NotifyWay::Ntfy, Verdict::Send)]);
    }
}

#[test]
fn quiet_hours_are_quiet() {
    let night = config(r#"{"blocked": {"ways": ["ntfy"]}, "quiet_hours": "22:00-07:00"}"#);
    let at = |minute| {
        decide(NotifyState::Blocked, AT, Some(&session(Status::Blocked)), Attention::Elsewhere, &night, minute)
    };
    assert_eq!(at(23 * 60), [(NotifyWay::Ntfy, Verdict::Suppress(Suppression::QuietHours))]);
    assert_eq!(at(NOON), [(NotifyWay::Ntfy, Verdict::Send)]);
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
