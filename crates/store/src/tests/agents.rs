use longhaul_core::{Millis, Status};
use longhaul_tracker::{Pane, Trigger, next, transition};

use super::empty;
use crate::{PermissionQuestion, PromptOrigin, Sighting};

const NOW: Millis = Millis(5_000_000);

fn sighting<'a>(session: &'a str, pane: Option<&'a Pane>) -> Sighting<'a> {
    super::sighting(session, pane, NOW.0)
}

fn pane(id: &str) -> Pane {
    Pane { socket: "/tmp/tmux".to_owned(), id: id.to_owned() }
}

#[test]
fn the_guard_says_what_the_machine_says() {
    let (_folder, store) = empty();
    for status in Status::ALL {
        for trigger in Trigger::ALL {
            store.remove_agent("s").unwrap();
            store.add_agent(&sighting("s", None), status, None).unwrap();
            let change = store.change_status("s", &transition(trigger), None, Millis(NOW.0 + 9000)).unwrap();
            assert_eq!(change.as_ref().map(|change| change.to), next(status, trigger), "{trigger:?} on {status:?}");
            assert!(change.as_ref().is_none_or(|change| change.from == Some(status)));
            let row = &store.agents().unwrap()[0];
            assert_eq!(row.updated_at, if change.is_some() { 5009 } else { 5000 });
        }
    }
}

#[test]
fn a_session_that_starts_again_keeps_its_status() {
    let (_folder, store) = empty();
    assert!(store.add_agent(&sighting("s", None), Status::Working, None).unwrap());
    assert!(!store.add_agent(&sighting("s", None), Status::Idle, None).unwrap());
    assert_eq!(store.agents().unwrap()[0].status, Status::Working);
}

#[test]
fn a_busy_session_of_a_client_with_several_stays_in_its_pane() {
    let (_folder, store) = empty();
    let first = pane("%1");
    let seen = |session, pid| Sighting { client: "opencode", pid, ..sighting(session, Some(&first)) };
    let sessions =
        || store.agents().unwrap().into_iter().map(|row| row.session).collect::<std::collections::BTreeSet<_>>();
    store.note_prompt(&seen("opencode:a", Some(7)), PromptOrigin::User, None).unwrap();
    store.add_agent(&seen("opencode:b", Some(7)), Status::Idle, None).unwrap();
    assert_eq!(sessions(), ["opencode:a", "opencode:b"].map(str::to_owned).into(), "the first one works");
    store.note_prompt(&seen("opencode:c", Some(7)), PromptOrigin::User, None).unwrap();
    assert_eq!(sessions(), ["opencode:a", "opencode:c"].map(str::to_owned).into(), "the idle one is replaced");
    store.add_agent(&seen("opencode:d", Some(8)), Status::Idle, None).unwrap();
    assert_eq!(sessions(), ["opencode:d"].map(str::to_owned).into(), "another process is in the pane now");
    store.note_prompt(&seen("opencode:d", None), PromptOrigin::User, None).unwrap();
    store.add_agent(&seen("opencode:e", None), Status::Idle, None).unwrap();
    assert_eq!(sessions(), ["opencode:e"].map(str::to_owned).into(), "whether it is the same process is not known");
}

#[test]
fn a_pane_holds_one_session() {
    let (_folder, store) = empty();
    let (first, second) = (pane("%1"), pane("%2"));
    let elsewhere = Pane { socket: "/tmp/other".to_owned(), id: "%1".to_owned() };
    store.add_agent(&sighting("old", Some(&first)), Status::Working, None).unwrap();
    store.add_agent(&sighting("beside", Some(&second)), Status::Idle, None).unwrap();
    store.add_agent(&sighting("other server", Some(&elsewhere)), Status::Idle, None).unwrap();
    store.note_prompt(&sighting("new", Some(&first)), PromptOrigin::User, Some("hi")).unwrap();
    let mut left: Vec<String> = store.agents().unwrap().into_iter().map(|agent| agent.session).collect();
    left.sort();
    assert_eq!(left, ["beside", "new", "other server"]);
}

#[test]
fn a_prompt_makes_it_work_whatever_it_did() {
    let (_folder, store) = empty();
    let change =
        store.note_prompt(&sighting("s", None), PromptOrigin::User, Some("it's \"quoted\" #{x}")).unwrap().unwrap();
    assert_eq!((change.from, change.to), (None, Status::Working));
    assert_eq!(change.summary.as_deref(), Some("it's \"quoted\" #{x}"));
    assert_eq!(store.note_prompt(&sighting("s", None), PromptOrigin::User, None).unwrap(), None, "working already");
    assert_eq!(store.agents().unwrap()[0].prompt_summary.as_deref(), Some("it's \"quoted\" #{x}"));
}

#[test]
fn a_notification_after_the_answer_is_ignored() {
    let (_folder, store) = empty();
    store.add_agent(&sighting("s", None), Status::Working, None).unwrap();
    let requested = transition(Trigger::PermissionRequested);
    assert!(
        store
            .ask_permission("s", &requested, &PermissionQuestion { by: None, reason: "Write", wants: None }, NOW)
            .unwrap()
            .is_some()
    );
    store.change_status("s", &transition(Trigger::ToolUsed), None, NOW).unwrap();
    let notified = transition(Trigger::Notified);
    let after =
        |seconds: u64| store.change_status_unless_asked_lately("s", &notified, None, Millis(NOW.0 + seconds * 1000));
    assert_eq!(after(6).unwrap(), None);
    assert!(after(60).unwrap().is_some());
}

#[test]
fn a_tool_call_answers_only_the_dialog_of_the_same_agent() {
    let (_folder, store) = empty();
    let (requested, used) = (transition(Trigger::PermissionRequested), transition(Trigger::ToolUsed));
    let agents = [None, Some("a1"), Some("a2")];
    for by in agents {
        let asked = PermissionQuestion { by, reason: "Write", wants: None };
        let is_answered_by = |agent| {
            store.note_prompt(&sighting("s", None), PromptOrigin::User, None).unwrap();
            store.ask_permission("s", &requested, &asked, NOW).unwrap();
            store.change_status_asked_by("s", agent, &used, NOW).unwrap().is_some()
        };
        assert_eq!(agents.map(is_answered_by), agents.map(|agent| agent == by));
    }
}

#[test]
fn looking_at_a_pane_changes_only_what_is_in_it() {
    let (_folder, store) = empty();
    let (first, second) = (pane("%1"), pane("%2"));
    store.add_agent(&sighting("a", Some(&first)), Status::Completed, None).unwrap();
    store.add_agent(&sighting("b", Some(&second)), Status::Completed, None).unwrap();
    let seen = transition(Trigger::Seen);
    assert_eq!(store.change_status_in_pane(&first, &seen, NOW).unwrap().map(|change| change.session), Some("a".into()));
    assert_eq!(store.change_status_in_pane(&first, &seen, NOW).unwrap(), None);
    let statuses: Vec<Status> = store.agents().unwrap().into_iter().map(|agent| agent.status).collect();
    assert_eq!(statuses, [Status::Idle, Status::Completed]);
}

#[test]
fn subagents_never_count_below_zero() {
    let (_folder, store) = empty();
    store.add_agent(&sighting("s", None), Status::Working, None).unwrap();
    store.count_subagent("s", 1).unwrap();
    store.count_subagent("s", -1).unwrap();
    store.count_subagent("s", -1).unwrap();
    assert_eq!(store.agents().unwrap()[0].subagents, 0);
}

#[test]
fn what_was_found_running_does_not_push_out_what_a_hook_told() {
    let (_folder, store) = empty();
    let first = pane("%1");
    store.note_prompt(&sighting("real", Some(&first)), PromptOrigin::User, None).unwrap();
    store.add_found_agent(&sighting("scan-1", Some(&first)), Status::Idle, None).unwrap();
    assert_eq!(store.agents().unwrap().len(), 1);
    store.remove_agent("real").unwrap();
    store.add_found_agent(&sighting("scan-1", Some(&first)), Status::Idle, None).unwrap();
    store.note_prompt(&sighting("real", Some(&first)), PromptOrigin::User, None).unwrap();
    let left: Vec<String> = store.agents().unwrap().into_iter().map(|agent| agent.session).collect();
    assert_eq!(left, ["real"], "the first real hook replaces what was found");
}
