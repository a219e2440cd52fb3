//! Sessions of other agents than Claude Code.

use serde_json::json;

use super::{Browser, Page};
use crate::sandbox::{Outcome, Sandbox, payload};

pub(super) fn the_card_of_a_session_names_its_agent(browser: &Browser) {
    let sandbox = Sandbox::new();
    for event in ["SessionStart", "BeforeAgent"] {
        let text = payload(&format!("gemini/{event}"), json!({ "session_id": "4ee8", "cwd": sandbox.project() }));
        let mut command = sandbox.executable("longhaul");
        Outcome::of(command.args(["hook", "--agent", "gemini", event]), text.as_bytes());
    }
    let page = Page::open(&sandbox, browser);
    page.wait_for("the session", "document.querySelector('#agents .s-working')");
    let card = page.browser.text("#agents");
    assert!(card.contains("gemini"), "{card}");
    page.is_clean();
}
