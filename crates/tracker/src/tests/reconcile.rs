//! Changes that only the record of Claude Code shows.

use longhaul_core::Millis;
use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};

use super::{NOW, agent, pane};
use crate::{Agent, ClientRecord, ClientStatus, Trigger, Viewer, has_been_seen, may_be_interrupted, reconcile};

const HOOK: Millis = Millis(5_000);

/// Soon after the hook, when an older record may not be up to date.
const SOON: Millis = Millis(6_000);

fn record(status: ClientStatus, since: u64) -> ClientRecord {
    ClientRecord {
        pid: 1,
        session: "s".to_owned(),
        cwd: None,
        pane: None,
        status,
        waiting_for: None,
        since: Millis(since),
    }
}

#[track_caller]
fn check(record: &ClientRecord, statuses: [Status; 4], expected: [Option<Trigger>; 4]) {
    for (status, expected) in statuses.into_iter().zip(expected) {
        assert_eq!(reconcile(&agent("s", status, 0), HOOK, record, SOON), expected, "{status:?}, {record:?}");
    }
}

const ORDER: [Status; 4] = [Working, Blocked, Idle, Completed];

#[test]
fn a_newer_record_corrects_what_differs_from_it() {
    let idle = Some(Trigger::ClientIdle);
    check(&record(ClientStatus::Idle, 5_001), ORDER, [idle, idle, None, None]);
    let busy = Some(Trigger::ClientBusy);
    check(&record(ClientStatus::Busy, 5_001), ORDER, [None, busy, busy, busy]);
    let waiting = Some(Trigger::ClientWaiting);
    check(&record(ClientStatus::Waiting, 5_001), ORDER, [waiting, None, waiting, waiting]);
    // At the same moment the record, which is written on every change, is the later word.
    check(&record(ClientStatus::Idle, 5_000), ORDER, [idle, idle, None, None]);
}

#[test]
fn an_older_record_and_that_of_another_session_are_ignored() {
    for status in [ClientStatus::Idle, ClientStatus::Busy, ClientStatus::Waiting] {
        check(&record(status, 4_999), ORDER, [None; 4]);
        check(&ClientRecord { session: "other".to_owned(), ..record(status, 9_000) }, ORDER, [None; 4]);
    }
}

#[test]
fn idle_after_a_stop_is_completed() {
    let record = record(ClientStatus::Idle, 9_000);
    for (status, expected) in [
        (Working, Some(Trigger::ClientIdleAfterStop)),
        (Blocked, Some(Trigger::ClientIdleAfterStop)),
        (Idle, None),
        (Completed, None),
    ] {
        let stopped = Agent { stopped: true, ..agent("s", status, 0) };
        assert_eq!(reconcile(&stopped, HOOK, &record, SOON), expected, "{status:?}");
    }
}

#[test]
fn a_dialog_that_the_user_opened_blocks_a_running_turn_only() {
    let opened = ClientRecord { waiting_for: Some("dialog open".to_owned()), ..record(ClientStatus::Waiting, 9_000) };
    check(&opened, ORDER, [Some(Trigger::ClientInDialog), None, None, None]);
    let asks = ClientRecord { waiting_for: Some("permission prompt".to_owned()), ..opened };
    let waiting = Some(Trigger::ClientWaiting);
    check(&asks, ORDER, [waiting, None, waiting, waiting]);
}

#[test]
fn an_older_record_that_still_stands_seconds_later_is_believed() {
    let later = Millis(8_000);
    let waiting = record(ClientStatus::Waiting, 4_000);
    assert_eq!(reconcile(&agent("s", Working, 0), HOOK, &waiting, later), Some(Trigger::ClientWaiting));
    let idle = record(ClientStatus::Idle, 4_000);
    assert_eq!(reconcile(&agent("s", Working, 0), HOOK, &idle, later), Some(Trigger::ClientIdle));
}

#[test]
fn an_older_record_is_ignored_for_three_seconds_after_the_hook() {
    let idle = record(ClientStatus::Idle, 4_000);
    for (now, expected) in [(7_999, None), (8_000, Some(Trigger::ClientIdle))] {
        assert_eq!(reconcile(&agent("s", Working, 0), HOOK, &idle, Millis(now)), expected, "{now}");
    }
}

#[test]
fn a_turn_that_failed_stays_shown_while_the_client_is_idle() {
    let failed = Agent { failed: true, ..agent("s", Blocked, 0) };
    assert_eq!(reconcile(&failed, HOOK, &record(ClientStatus::Idle, 9_000), SOON), None);
    let busy = record(ClientStatus::Busy, 9_000);
    assert_eq!(reconcile(&failed, HOOK, &busy, SOON), Some(Trigger::ClientBusy));
}

#[test]
fn after_the_clock_was_set_back_the_record_is_believed() {
    let agent = agent("s", Working, 0);
    let idle = record(ClientStatus::Idle, 5_000);
    // A hook an hour in the future, and one that is only a little ahead.
    assert_eq!(reconcile(&agent, Millis(3_600_000), &idle, Millis(6_000)), Some(Trigger::ClientIdle));
    assert_eq!(reconcile(&agent, Millis(7_000), &idle, Millis(6_000)), None);
}

#[test]
fn only_a_silent_session_that_should_work_may_be_interrupted() {
    let mut agent = Agent::new("s", 1);
    agent.status = Status::Working;
    assert!(may_be_interrupted(&agent, Millis(1_000), Millis(11_000)));
    assert!(!may_be_interrupted(&agent, Millis(1_001), Millis(11_000)));
    agent.status = Status::Idle;
    assert!(!may_be_interrupted(&agent, Millis(0), Millis(1_000_000)));
}

#[test]
fn the_end_of_a_turn_on_the_screen_is_seen_by_somebody_who_is_there() {
    let ended = |age| Agent { pane: Some(pane("/s", "%1")), ..agent("s", Completed, age) };
    let check = |age, id: &str, focused, idle_seconds, expected| {
        let viewer = Viewer { pane: id.to_owned(), focused, idle_seconds };
        assert_eq!(has_been_seen(&ended(age), std::slice::from_ref(&viewer), NOW, 5), expected, "{age} {viewer:?}");
    };
    // Not before a refresh, whatever is known.
    check(4, "%1", Some(true), 0, false);
    check(5, "%1", Some(true), 1000, true);
    check(1000, "%1", Some(false), 0, false);
    check(1000, "%2", Some(true), 0, false);
    // Without a report of the focus, a key since then.
    check(5, "%1", None, 5, false);
    check(5, "%1", None, 4, true);
    assert!(!has_been_seen(&ended(1000), &[], NOW, 0));
}
