//! Many sessions at once. `cargo xtask soak` does the same with two hundred.

use std::thread;

use serde_json::json;

use super::{Session, check_whole, stored_calls};
use crate::sandbox::Sandbox;

const SESSIONS: usize = 20;
const CALLS: usize = 10;

#[test]
fn no_line_and_no_observation_is_lost() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..SESSIONS).map(|number| format!("s{number}")).collect();
    thread::scope(|scope| {
        for id in &ids {
            let session = Session::new(&sandbox, id);
            scope.spawn(move || {
                session.fire("SessionStart", json!({ "source": "startup" }));
                session.fire("UserPromptSubmit", json!({ "prompt": "go" }));
                for call in 0..CALLS {
                    session.call(&format!("{}-{call}", session.id));
                }
                session.fire("Stop", json!({ "last_assistant_message": "done" }));
            });
        }
    });
    for id in &ids {
        assert_eq!((sandbox.count_lines(id, "P"), sandbox.count_lines(id, "T")), (1, CALLS), "{id}");
    }
    // In a crowd a turn's end leaves the taking in to whoever comes next.
    assert_eq!(sandbox.longhaul(&["memory", "stats"]).status, Some(0));
    assert_eq!(stored_calls(&sandbox).len(), SESSIONS * CALLS);
    let mut prompts = sandbox.rows("SELECT s.session_id FROM prompts p JOIN sessions s ON s.id = p.session_id");
    let mut expected = ids.clone();
    prompts.sort();
    expected.sort();
    assert_eq!(prompts, expected, "every prompt once");
    check_whole(&sandbox);
    // A hook for which the user waits gives up soon; the next one does what is left.
    sandbox.expect_only_waits();
}
