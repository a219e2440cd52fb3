//! What happens while an answer of the worker is on its way to the page.

use super::{Browser, Page, Session};
use crate::sandbox::Sandbox;

/// Asks the worker at once, and keeps its answers from the page until `letGo` is called.
const HOLD: &str = "
    const ask = window.fetch;
    const held = [];
    let isHolding = true;
    window.fetch = async (url, options) => {
        const answer = await ask(url, options);
        const isHeld = isHolding && String(url).startsWith('/api/search');
        if (isHeld) await new Promise((resolve) => held.push(resolve));
        return answer;
    };
    window.isHeld = () => held.length > 0;
    window.letGo = () => {
        // What was asked before and is answered only now, too.
        isHolding = false;
        window.fetch = ask;
        held.forEach((resolve) => resolve());
    };";

const IS_THERE: &str = "!document.querySelector('#main .list').hasAttribute('aria-busy')";

/// Opens a page that shows `line`, and waits for an answer which it does not get.
fn waiting_page<'a>(sandbox: &'a Sandbox, browser: &'a Browser, line: &str) -> Page<'a> {
    let page = Page::open(sandbox, browser);
    page.wait_for_line(line);
    page.wait_for("the first answer", IS_THERE);
    page.browser.run(HOLD);
    page.show("#/?order=newest");
    page.wait_for("an answer that is held", "isHeld()");
    page
}

pub(super) fn rows_that_come_meanwhile_stay(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "meanwhile", &sandbox.project());
    session.prompt("build the gate");
    let page = waiting_page(&sandbox, browser, "build the gate");
    session.bash("t1", "make gate", "made");
    page.wait_for_line("make gate");
    page.browser.run("letGo()");
    page.wait_for("the answer", IS_THERE);
    page.wait_for_line("make gate");
    page.is_clean();
}

pub(super) fn what_is_forgotten_meanwhile_does_not_come_back(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "meanwhile", &sandbox.project());
    session.prompt("build the gate");
    session.prompt("paint the gate");
    let page = waiting_page(&sandbox, browser, "build the gate");
    let id = page.browser.run("return document.querySelector('#main li[data-id]').dataset.id");
    let id = id.as_str().unwrap();
    let gone = sandbox.longhaul(&["memory", "forget", id, "--yes"]);
    assert_eq!(gone.status, Some(0), "{gone:?}");
    page.browser.run_with("dispatchEvent(new CustomEvent('forgotten', { detail: arguments[0] }))", &[id.into()]);
    page.browser.run("letGo()");
    page.wait_for("the answer", IS_THERE);
    let there = format!("document.querySelector('#main li[data-id=\"{id}\"]') === null");
    page.wait_for("its line to be gone", &there);
    page.wait_for("the other", "document.querySelectorAll('#main li[data-id]').length === 1");
    page.is_clean();
}
