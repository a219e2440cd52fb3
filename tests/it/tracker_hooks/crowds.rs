//! Many hooks at the same moment.

use super::*;

#[test]
fn sixty_four_mixed_hooks_end_in_a_legal_state() {
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
    // A hook has three seconds. On a busy machine, all at once would not get through the database in that time, and the
    // schema alone takes one.
    fire(&sandbox, "SessionStart", json!({ "session_id": "s0" }));
    for wave in 0..4 {
        thread::scope(|scope| {
            for n in 16 * wave..16 * (wave + 1) {
                let sandbox = &sandbox;
                let session = json!({ "session_id": format!("s{}", n % 10) });
                scope.spawn(move || fire(sandbox, names[n % names.len()], session));
            }
        });
    }
    let rows = rows(&sandbox);
    assert!(!rows.is_empty() && rows.len() <= 10);
    sandbox.expect_only_waits();
}
