use std::thread;

use longhaul_core::config::{NotifyState, NotifyWay};
use longhaul_core::{Millis, Status};
use longhaul_tracker::{Trigger, transition};

use super::{empty, open, place, sighting};
use crate::{Notification, NotifyEvent, NotifyResult, PermissionQuestion, PromptOrigin, last_notifications_of};

const BOTH: [NotifyWay; 2] = [NotifyWay::Desktop, NotifyWay::Ntfy];

fn event(at: u64) -> NotifyEvent {
    NotifyEvent { session: "s".to_owned(), state: NotifyState::Blocked, at: Millis(at) }
}

fn ended(event: NotifyEvent, way: NotifyWay, result: NotifyResult) -> Notification {
    let text = Some("api waits".to_owned());
    Notification { event, way, result, why: None, project: Some("api".to_owned()), text, ended: Some(Millis(9)) }
}

#[test]
fn of_many_processes_exactly_one_sends() {
    let (_folder, path) = place();
    open(&path).unwrap();
    let claims = thread::scope(|scope| {
        let claim = || {
            let store = open(&path).unwrap();
            store.begin_notifications(&event(5), &BOTH, Millis(0)).unwrap();
            BOTH.into_iter().filter(|way| store.claim_notification(&event(5), *way).unwrap()).count()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(claim)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(claims, BOTH.len());
}

#[test]
fn a_result_is_stored_once_and_listed() {
    let (_folder, store) = empty();
    store.begin_notifications(&event(5), &BOTH, Millis(0)).unwrap();
    assert!(store.claim_notification(&event(5), NotifyWay::Desktop).unwrap());
    // Nothing was recorded for this one.
    assert!(!store.claim_notification(&event(6), NotifyWay::Desktop).unwrap());
    assert!(!store.claim_notification(&event(5), NotifyWay::Command).unwrap());
    let sent = ended(event(5), NotifyWay::Desktop, NotifyResult::Sent);
    store.end_notification(&sent).unwrap();
    store.end_notification(&ended(event(5), NotifyWay::Desktop, NotifyResult::Failed)).unwrap();
    assert!(!store.claim_notification(&event(5), NotifyWay::Desktop).unwrap());
    // Starting again changes nothing.
    store.begin_notifications(&event(5), &BOTH, Millis(0)).unwrap();
    let rows = store.notifications(10).unwrap();
    assert_eq!(rows[0], sent);
    assert_eq!((rows[1].way, rows[1].result), (NotifyWay::Ntfy, NotifyResult::Waiting));
    assert_eq!(store.notifications(1).unwrap().len(), 1);
}

#[test]
fn old_rows_are_deleted_and_the_newest_of_each_way_is_found() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    for at in [5, 6, 7] {
        store.begin_notifications(&event(at), &BOTH, Millis(0)).unwrap();
        let result = if at == 6 { NotifyResult::Failed } else { NotifyResult::Sent };
        store.end_notification(&ended(event(at), NotifyWay::Ntfy, result)).unwrap();
    }
    let last = |at: u64| last_notifications_of(&path, std::time::Duration::ZERO).unwrap()[0].event.at == Millis(at);
    assert!(last(7));
    assert_eq!(store.prune_notifications(Millis(6)).unwrap(), 2);
    store.begin_notifications(&event(8), &BOTH, Millis(7)).unwrap();
    let left: Vec<u64> = store.notifications(10).unwrap().iter().map(|row| row.event.at.0).collect();
    assert_eq!(left, [7, 7, 8, 8]);
    assert!(last(7));
}

#[test]
fn a_row_says_what_is_asked_for_and_when_the_turn_began() {
    let (_folder, store) = empty();
    let at = |ms| sighting("s", None, ms);
    store.add_agent(&at(1_000), Status::Idle, None).unwrap();
    assert_eq!(store.agent("s").unwrap().unwrap().prompt_ms, None);
    store.note_prompt(&at(2_000), PromptOrigin::User, None).unwrap();
    let requested = transition(Trigger::PermissionRequested);
    let asked = PermissionQuestion { by: Some("a1"), reason: "permission: Bash", wants: Some("wants to run: make") };
    let change = store.ask_permission("s", &requested, &asked, Millis(3_000)).unwrap().unwrap();
    assert_eq!((change.to, change.failed), (Status::Blocked, false));
    let row = store.agent("s").unwrap().unwrap();
    assert_eq!(row.wants.as_deref(), Some("wants to run: make"));
    assert_eq!((row.asked_by.as_deref(), row.prompt_ms, row.touched_ms), (Some("a1"), Some(2_000), 3_000));
    // Whatever ends the question ends what is asked for.
    store.change_status("s", &transition(Trigger::ClientIdle), None, Millis(4_000)).unwrap();
    assert_eq!(store.agent("s").unwrap().unwrap().wants, None);
    store.note_prompt(&at(5_000), PromptOrigin::User, None).unwrap();
    store.note_failure("s").unwrap();
    let failed = store.change_status("s", &transition(Trigger::Failed), Some("rate_limit"), Millis(6_000));
    assert!(failed.unwrap().unwrap().failed);
}

#[test]
fn a_turn_is_measured_from_what_the_user_asked_for() {
    let (_folder, store) = empty();
    let at = |ms| sighting("s", None, ms);
    let prompted = || store.agent("s").unwrap().unwrap().prompt_ms;
    store.note_prompt(&at(1_000), PromptOrigin::User, None).unwrap();
    store.note_prompt(&at(2_000), PromptOrigin::Bookmark, None).unwrap();
    assert_eq!(prompted(), Some(1_000), "a bookmark in the running turn");
    store.change_status("s", &transition(Trigger::Stopped), None, Millis(3_000)).unwrap();
    store.note_prompt(&at(4_000), PromptOrigin::Task, None).unwrap();
    assert_eq!(prompted(), Some(1_000), "the result of a task");
    store.change_status("s", &transition(Trigger::Stopped), None, Millis(5_000)).unwrap();
    store.note_prompt(&at(6_000), PromptOrigin::Bookmark, None).unwrap();
    assert_eq!(prompted(), Some(6_000), "a bookmark between two turns");
    store.note_prompt(&at(7_000), PromptOrigin::User, None).unwrap();
    assert_eq!(prompted(), Some(7_000));
}

#[test]
fn the_main_conversation_that_asks_after_a_subagent_is_a_change() {
    let (_folder, store) = empty();
    store.note_prompt(&sighting("s", None, 1_000), PromptOrigin::User, None).unwrap();
    let requested = transition(Trigger::PermissionRequested);
    let ask = |by: Option<&str>, wants: &str, ms: u64| {
        let asked = PermissionQuestion { by, reason: "permission: Bash", wants: Some(wants) };
        store.ask_permission("s", &requested, &asked, Millis(ms)).unwrap()
    };
    let first = ask(Some("a1"), "one", 2_000).unwrap();
    assert_eq!((first.asked_by.as_deref(), first.wants.as_deref()), (Some("a1"), Some("one")));
    let second = ask(None, "two", 3_000).unwrap();
    assert_eq!((second.from, second.to), (Some(Status::Blocked), Status::Blocked));
    assert_eq!((second.asked_by.as_deref(), second.wants.as_deref()), (None, Some("two")));
    assert_eq!(store.agent("s").unwrap().unwrap().touched_ms, 3_000);
    assert_eq!(ask(None, "two", 3_000), None, "the same hook again");
    // The dialog of a subagent behind that of the main conversation is no change, and the last one to be answered.
    assert_eq!(ask(Some("a2"), "three", 4_000), None);
    let row = store.agent("s").unwrap().unwrap();
    assert_eq!((row.touched_ms, row.asked_by.as_deref()), (3_000, Some("a2")));
}
