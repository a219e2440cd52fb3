//! The state machine, pair by pair.

use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};

use crate::Trigger::{self, *};
use crate::{NotifiedDialog, next, notified_dialog, transition, turn_ended};

/// What each trigger makes of working, blocked, idle and completed.
const TABLE: [(Trigger, [Option<Status>; 4]); 16] = [
    // any → working
    (Prompt, [None, Some(Working), Some(Working), Some(Working)]),
    // idle, blocked, completed → working; nothing at all while working
    (ToolUsed, [None, Some(Working), Some(Working), Some(Working)]),
    // its dialog was answered; it must not wake a completed pane
    (SubagentToolUsed, [None, Some(Working), None, None]),
    // working → blocked
    (PermissionRequested, [Some(Blocked), None, None, None]),
    (Notified, [Some(Blocked), None, None, None]),
    // working, blocked → completed
    (Stopped, [Some(Completed), Some(Completed), None, None]),
    // not while others run
    (StoppedWhileOthersRun, [None, None, None, None]),
    // working → blocked, with the error's kind
    (Failed, [Some(Blocked), None, None, None]),
    // blocked → working
    (SubagentReturned, [None, Some(Working), None, None]),
    // → idle, unconditionally
    (TeammateIdle, [Some(Idle), Some(Idle), None, Some(Idle)]),
    // completed → idle
    (Seen, [None, None, None, Some(Idle)]),
    // idle there, and working or blocked here → idle
    (ClientIdle, [Some(Idle), Some(Idle), None, None]),
    // → completed if a Stop came
    (ClientIdleAfterStop, [Some(Completed), Some(Completed), None, None]),
    // busy there → working
    (ClientBusy, [None, Some(Working), Some(Working), Some(Working)]),
    // waiting there → blocked
    (ClientWaiting, [Some(Blocked), None, Some(Blocked), Some(Blocked)]),
    // a dialog that the user opened himself matters to a running turn only
    (ClientInDialog, [Some(Blocked), None, None, None]),
];

#[test]
fn every_pair_is_as_the_table_has_it() {
    for (trigger, row) in TABLE {
        for (status, expected) in [Working, Blocked, Idle, Completed].into_iter().zip(row) {
            assert_eq!(next(status, trigger), expected, "{trigger:?} on {status:?}");
        }
    }
}

#[test]
fn the_table_and_the_list_hold_every_trigger_once() {
    let of_table: Vec<Trigger> = TABLE.iter().map(|(trigger, _)| *trigger).collect();
    for trigger in Trigger::ALL {
        assert_eq!(of_table.iter().filter(|one| **one == trigger).count(), 1, "{trigger:?}");
    }
}

#[test]
fn the_guard_of_the_database_says_what_the_machine_says() {
    for trigger in Trigger::ALL {
        for status in Status::ALL {
            let guarded = transition(trigger).filter(|it| it.from.contains(&status)).map(|it| it.to);
            assert_eq!(guarded, next(status, trigger), "{trigger:?} on {status:?}");
        }
    }
    assert_eq!(transition(StoppedWhileOthersRun), None);
}

#[test]
fn a_change_is_a_change() {
    for trigger in Trigger::ALL {
        for status in Status::ALL {
            assert_ne!(next(status, trigger), Some(status), "{trigger:?} on {status:?}");
        }
    }
}

#[test]
fn only_an_aborted_turn_is_reported_by_no_hook() {
    assert_eq!(turn_ended("aborted"), Some(ClientIdle));
    for reason in ["", "completed", "error", "Aborted"] {
        assert_eq!(turn_ended(reason), None, "{reason}");
    }
}

#[test]
fn only_a_notification_of_a_dialog_asks_the_user() {
    assert_eq!(notified_dialog(Some("permission_prompt")), Some(NotifiedDialog::Permission));
    assert_eq!(notified_dialog(None), Some(NotifiedDialog::Permission));
    assert_eq!(notified_dialog(Some("elicitation_dialog")), Some(NotifiedDialog::Other));
    for kind in ["idle_prompt", "auth_success", "", "Permission_prompt"] {
        assert_eq!(notified_dialog(Some(kind)), None, "{kind}");
    }
}
