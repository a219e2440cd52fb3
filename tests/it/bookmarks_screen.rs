//! Bookmarks in a real GNU screen session.

use serde_json::json;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;
use crate::screen_session::ScreenSession;
use crate::standin::Options;

#[test]
fn the_marker_arrives_after_the_turn() {
    let sandbox = Sandbox::new();
    sandbox.write_config(
        r#"{"bookmarks":{"enabled":"turn_end","marker":"· ^M$HOME\\","thresholds":{"min_tool_calls":3}}}"#,
    );
    let options = Options { session: Some("screen".to_owned()), ..Options::default() };
    let screen = ScreenSession::start(&sandbox, &options);
    screen.standin.session_start("startup");
    screen.standin.turn_with_tools(3);
    screen.standin.stop_with(json!({}));
    wait_until(DEADLINE, "the bookmark", || sandbox.count_lines("screen", "B") == 1);
    assert_eq!(screen.standin.state().texts(), [r"· ^M$HOME\"]);
}

#[test]
fn without_the_clients_word_nothing_is_typed_blindly() {
    let sandbox = Sandbox::new();
    sandbox.write_config(
        r#"{"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":1}},"inject":{"patience_seconds":1}}"#,
    );
    let options = Options { session: Some("screen".to_owned()), record: false, ..Options::default() };
    let screen = ScreenSession::start(&sandbox, &options);
    screen.standin.session_start("startup");
    screen.standin.turn();
    screen.standin.open_dialog();
    screen.standin.tools(2);
    screen.standin.hook("SubagentStop", json!({ "agent_id": "a", "agent_type": "general-purpose" }));
    let given_up = "neither the screen nor Claude Code's own record can be read";
    wait_until(DEADLINE, "a reason", || sandbox.error_log().contains(given_up));
    assert!(screen.standin.state().dialog_answers.is_empty());
}
