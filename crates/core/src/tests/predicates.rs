use crate::event::predicates::{
    asks_nothing, in_subagent, is_compaction, is_task_notification, stopped_at_context_limit, stopped_by_user,
};
use crate::event::{HookEvent, Stop, parse};

fn stop(extra: &str) -> Stop {
    let text = format!(r#"{{"session_id":"s"{extra}}}"#);
    Stop::from_wire(parse(&text).unwrap()).unwrap()
}

#[test]
fn a_subagent_and_a_compaction_are_recognized_by_their_fields() {
    let main = stop("").common;
    assert!(!in_subagent(&main) && !is_compaction(&main));
    assert!(in_subagent(&stop(r#","agent_id":"a","agent_type":"Explore""#).common));
    assert!(!in_subagent(&stop(r#","agent_id":"""#).common));
    assert!(is_compaction(&stop(r#","agent_type":"""#).common));
    assert!(!is_compaction(&stop(r#","agent_type":"Explore""#).common));
}

#[test]
fn a_task_notification_begins_with_its_tag() {
    assert!(is_task_notification(" \n<task-notification>x"));
    assert!(!is_task_notification("see <task-notification>"));
}

#[test]
fn two_modes_open_no_dialogs() {
    for (mode, expected) in
        [(Some("bypassPermissions"), true), (Some("dontAsk"), true), (Some("default"), false), (None, false)]
    {
        assert_eq!(asks_nothing(mode), expected, "{mode:?}");
    }
}

#[test]
fn the_reason_of_a_stop_is_found_in_every_field() {
    for field in ["stop_reason", "stopReason", "reason", "end_turn_reason", "endTurnReason"] {
        let full = stop(&format!(r#","{field}":"Model_Context_Window_exceeded""#));
        assert!(stopped_at_context_limit(&full) && !stopped_by_user(&full), "{field}");
    }
    for reason in ["aborted", "ABORT", "cancel", "interrupt", "by_user_cancel_now", "user_interrupt", "ctrl_c"] {
        let aborted = stop(&format!(r#","reason":"{reason}""#));
        assert!(stopped_by_user(&aborted) && !stopped_at_context_limit(&aborted), "{reason}");
    }
    assert!(stopped_by_user(&stop(r#","user_requested":true"#)) && stopped_by_user(&stop(r#","userRequested":true"#)));
    for other in ["", r#","reason":"end_turn""#, r#","reason":"cancelled_by_tool""#, r#","user_requested":false"#] {
        assert!(!stopped_by_user(&stop(other)) && !stopped_at_context_limit(&stop(other)), "{other}");
    }
}
