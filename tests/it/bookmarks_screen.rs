//! Bookmarks in a real GNU screen session.

use serde_json::json;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;
use crate::screen_session::ScreenSession;
use crate::standin::Options;

#[test]
fn the_marker_arrives_after_the_turn() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"bookmarks":{"midTurn":false,"marker":"· ^M$HOME\\","thresholds":{"minToolCalls":3}}}"#);
    let options = Options { session: Some("screen".to_owned()), ..Options::default() };
    let screen = ScreenSession::start(&sandbox, &options);
    screen.standin.session_start("startup");
    screen.standin.turn();
    screen.standin.tools(3);
    screen.standin.stop_with(json!({}));
    wait_until(DEADLINE, "the bookmark", || sandbox.count_lines("screen", "B") == 1);
    assert_eq!(screen.standin.state().texts(), [r"· ^M$HOME\"]);
}
