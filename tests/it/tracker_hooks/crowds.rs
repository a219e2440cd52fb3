//! Many hooks at the same moment.

use super::*;

#[test]
fn ten_sessions_at_once_are_ten_rows() {
    let sandbox = Sandbox::new();
    thread::scope(|scope| {
        for n in 0..10 {
            let sandbox = &sandbox;
            scope.spawn(move || fire(sandbox, "SessionStart", json!({ "session_id": format!("s{n}") })));
        }
    });
    assert_eq!(rows(&sandbox).len(), 10);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn sixty_four_mixed_hooks_at_once_end_in_a_legal_state() {
    let sandbox = Sandbox::new();
    let names = [
        "UserPromptSubmit",
        "PostToolUse",
        "PermissionRequest",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionStart",
    ];
    thread::scope(|scope| {
        for n in 0..64 {
            let sandbox = &sandbox;
            let session = json!({ "session_id": format!("s{}", n % 10) });
            scope.spawn(move || fire(sandbox, names[n % names.len()], session));
        }
    });
    let rows = rows(&sandbox);
    assert!(!rows.is_empty() && rows.len() <= 10);
    assert!(!sandbox.error_log().contains("database is locked"), "{}", sandbox.error_log());
    assert_eq!(sandbox.error_log(), "");
}
