//! The page calls the user while a session waits: its title, its icon, and notifications.

use serde_json::{Value, json};

use super::{Browser, Page, Session};
use crate::sandbox::Sandbox;

const TITLE: &str = "return [document.title, document.querySelector('link[rel=icon]').getAttribute('href')]";

impl Session<'_> {
    /// Waits for a permission.
    fn ask(&self, tool: &str) {
        self.fire(
            "longhaul-permission-request",
            "PermissionRequest",
            json!({ "tool_name": tool, "tool_input": { "command": "cargo publish", "file_path": "/a/b.rs" } }),
        );
    }
}

/// Records the notifications that are shown.
const RECORD: &str = "window.calls = [];
    window.Notification = class extends Notification {
        constructor(title, options) { super(title, options); calls.push([title, options.body, options.tag]); }
    };";

fn calls(page: &Page<'_>) -> Value {
    page.browser.run("return calls")
}

pub(super) fn title_icon_and_card_say_that_a_session_waits_for_what_and_how_long(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "waiter", &sandbox.project());
    session.prompt("publish it");
    let page = Page::open(&sandbox, browser);
    page.wait_for("the session", "document.querySelector('#agents .s-working')");
    assert_eq!(page.browser.run(TITLE), json!(["Longhaul", "/favicon.svg"]));

    session.ask("Bash");
    page.wait_for("the title", "document.title === '(1) Longhaul'");
    assert_eq!(page.browser.run(TITLE)[1], "/favicon-waiting.svg");
    page.wait_for("the reason", "document.querySelector('#agents .why')");
    let why = page.browser.text("#agents .why");
    assert!(why.starts_with("Waiting for you for ") && why.ends_with(": wants to run: cargo publish"), "{why}");
    page.wait_for("a later time", "document.querySelector('#agents .why').innerText.includes(' 2 s')");
    page.show("#/sessions");
    page.wait_for("the title of a view", "document.title === '(1) Sessions · Longhaul'");

    session.bash("t1", "cargo publish", "published");
    page.wait_for("the title without a number", "document.title === 'Sessions · Longhaul'");
    assert_eq!(page.browser.run(TITLE)[1], "/favicon.svg");
    page.is_clean();
}

pub(super) fn a_notification_comes_once_and_only_while_nobody_looks(browser: &Browser) {
    let sandbox = Sandbox::new();
    let [first, second] = ["first", "second"].map(|id| Session::new(&sandbox, id, &sandbox.project()));
    first.prompt("publish it");
    second.prompt("delete it");
    let page = Page::open(&sandbox, browser);
    page.wait_for("the sessions", "document.querySelectorAll('#agents .s-working').length === 2");
    page.browser.allow_notifications();
    page.browser.run(RECORD);
    assert_eq!(page.browser.run("return document.querySelector('#notify').ariaPressed"), "false");
    let drawn =
        "return [document.querySelector('#notify').textContent, document.querySelectorAll('#notify svg path').length]";
    assert_eq!(page.browser.run(drawn), json!(["", 2]), "a bell that is crossed out, without a font");
    page.browser.click("#notify");
    page.wait_for("the button", "document.querySelector('#notify').ariaPressed === 'true'");

    // The user looks at the page: nothing is shown, although the session waits for longer than it takes.
    page.browser.run("dispatchEvent(new Event('focus'))");
    first.ask("Bash");
    page.wait_for("the first one to wait", "document.title === '(1) Longhaul'");
    page.browser.run("window.asked = performance.now()");
    page.wait_for("some time", "performance.now() - asked > 2500");
    assert_eq!(calls(&page), json!([]));

    // The user looks at something else.
    page.browser.run("dispatchEvent(new Event('blur'))");
    second.ask("Write");
    page.wait_for("the notification", "calls.length > 0");
    let project = sandbox.project().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(calls(&page), json!([[format!("{project} waits for you"), "wants to write: b.rs", "second"]]));

    // It goes on and waits again; the first one still waits, and is not reported again.
    second.bash("t1", "rm x", "");
    page.wait_for("one to wait", "document.title === '(1) Longhaul'");
    second.ask("Edit");
    page.wait_for("another notification", "calls.length > 1");
    assert_eq!(calls(&page)[1][1], "wants to edit: b.rs");

    // The choice is kept, and can be taken back.
    page.browser.run("location.reload()");
    page.wait_for("the button again", "document.querySelector('#notify').ariaPressed === 'true'");
    page.browser.click("#notify");
    page.wait_for("the button switched off", "document.querySelector('#notify').ariaPressed === 'false'");
    page.is_clean();
}
