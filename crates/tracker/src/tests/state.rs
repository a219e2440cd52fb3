//! The state machine, pair by pair.

use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};

use crate::Trigger::{self, *};
use crate::{
    NotifiedDialog, Script, failure_reason, next, notified_dialog, permission_reason, prompt_summary, script_text,
    shown_input, transition, turn_ended, wants, without_control_chars,
};

/// What each trigger makes of working, blocked, idle and completed.
const TABLE: [(Trigger, [Option<Status>; 4]); 15] = [
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
        assert_eq!(of_table.iter().filter(|known| **known == trigger).count(), 1, "{trigger:?}");
    }
}

#[test]
fn the_guard_of_the_database_says_what_the_machine_says() {
    for trigger in Trigger::ALL {
        for status in Status::ALL {
            let guarded = Some(transition(trigger)).filter(|it| it.from.contains(&status)).map(|it| it.to);
            assert_eq!(guarded, next(status, trigger), "{trigger:?} on {status:?}");
        }
    }
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

#[test]
fn a_dialog_says_what_the_tool_is_about_to_do() {
    for (tool, input, expected) in [
        ("Bash", Some("cargo publish"), "wants to run: cargo publish"),
        ("Bash", Some("  "), "wants to use: Bash"),
        ("Bash", None, "wants to use: Bash"),
        ("shell", Some("make"), "wants to run: make"),
        ("Write", Some("/home/me/api/src/main.rs"), "wants to write: main.rs"),
        ("Edit", Some("main.rs"), "wants to edit: main.rs"),
        ("MultiEdit", Some("/a/b/"), "wants to edit: b"),
        ("NotebookEdit", Some("/a/n.ipynb"), "wants to edit: n.ipynb"),
        ("Read", Some("/etc/passwd"), "wants to read: passwd"),
        ("Read", Some("/"), "wants to read: /"),
        ("WebFetch", Some("https://x.example/"), "wants to fetch: https://x.example/"),
        ("WebSearch", Some("rust"), "wants to search the web for: rust"),
        ("ExitPlanMode", None, "wants approval for a plan"),
        ("AskUserQuestion", None, "asks a question"),
        ("mcp__github__merge", None, "wants to use: merge of github"),
        ("mcp__odd", None, "wants to use: mcp__odd"),
        ("Task", Some("not shown"), "wants to use: Task"),
        ("", None, "wants permission"),
    ] {
        assert_eq!(wants(tool, input), expected);
    }
}

#[test]
fn the_content_that_a_tool_writes_is_never_shown() {
    for (tools, field) in [
        (&["Bash", "PowerShell", "shell"][..], Some("command")),
        (&["Write", "Edit", "MultiEdit", "Read"], Some("file_path")),
        (&["NotebookEdit"], Some("notebook_path")),
        (&["WebFetch"], Some("url")),
        (&["WebSearch"], Some("query")),
        (&["Task"], None),
    ] {
        for tool in tools {
            assert_eq!(shown_input(tool), field, "{tool}");
        }
    }
}

#[test]
fn a_reason_names_the_tool_or_the_error() {
    assert_eq!(
        (permission_reason("Bash"), permission_reason("")),
        ("permission: Bash".to_owned(), "permission".to_owned())
    );
    assert_eq!((failure_reason("rate_limit"), failure_reason("")), ("rate_limit", "error"));
}

#[test]
fn the_summary_of_a_prompt_is_one_line() {
    assert_eq!(prompt_summary("  fix\n the   parser \u{1b}[31m"), "fix the parser [31m");
    assert_eq!(prompt_summary(&"é".repeat(200)).chars().count(), 80);
}

// Whether an option's value is a program or a shell's text, and which text the script gets.

#[track_caller]
fn check(text: &str, expected: Script) {
    let files = ["/opt/notify.sh", "/opt/my scripts/notify.sh", "/home/me/bin/notify"];
    assert_eq!(Script::parse(text, Some("/home/me"), |path| files.contains(&path)), expected, "{text}");
}

fn program(path: &str) -> Script {
    Script::Program(path.to_owned())
}

fn shell(text: &str) -> Script {
    Script::Shell(text.to_owned())
}

#[test]
fn a_path_is_a_program() {
    check("/opt/notify.sh", program("/opt/notify.sh"));
    check("  /opt/notify.sh ", program("/opt/notify.sh"));
    check("~/bin/notify", program("/home/me/bin/notify"));
    check("/opt/my scripts/notify.sh", program("/opt/my scripts/notify.sh"));
    check("'/opt/my scripts/notify.sh'", program("/opt/my scripts/notify.sh"));
    check(r"/opt/my\ scripts/notify.sh", program("/opt/my scripts/notify.sh"));
}

#[test]
fn a_path_with_arguments_gets_the_values_behind_them() {
    check("/opt/notify.sh --loud", shell(r#"/opt/notify.sh --loud "$@""#));
    check("~/bin/notify 'two words' x", shell(r#"~/bin/notify 'two words' x "$@""#));
    check("\"/opt/my scripts/notify.sh\" -v", shell(r#""/opt/my scripts/notify.sh" -v "$@""#));
}

#[test]
fn anything_else_is_a_shells_text() {
    for text in [
        "/opt/notify.sh \"$4\"",
        "/opt/notify.sh; true",
        "/opt/notify.sh | cat",
        "/opt/notify.sh > /tmp/x",
        "/opt/notify.sh `date`",
        "/opt/notify.sh # quietly",
        "/opt/no-such-file",
        "notify-send -- \"$4 waits\" \"$5\"",
        "'/opt/notify.sh",
        "~other/notify",
        "",
    ] {
        check(text, shell(text));
    }
    assert_eq!(Script::parse("~/bin/notify", None, |_| true), shell("~/bin/notify"));
}

#[test]
fn values_lose_what_a_terminal_would_obey() {
    assert_eq!(without_control_chars("a\u{1b}]0;x\u{7}b\nc\td é\u{9b}"), "a]0;xbcd é");
}

#[test]
fn a_script_gets_the_reason_of_a_blocked_session_or_else_its_last_prompt() {
    let text = |to: Status| script_text(to, Some("wants to run rm"), Some("clean up"));
    assert_eq!(text(Status::Blocked), "wants to run rm");
    assert_eq!(text(Status::Completed), "clean up", "a reason of before");
    assert_eq!(script_text(Status::Blocked, None, Some("clean up")), "clean up");
    assert_eq!(script_text(Status::Blocked, None, None), "");
}
