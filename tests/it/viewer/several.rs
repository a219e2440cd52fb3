//! Several pages at once.

use serde_json::Value;

use super::{Browser, Page, Session};
use crate::poll::{self, DEADLINE};
use crate::sandbox::Sandbox;

pub(super) fn many_pages_share_one_stream_and_the_next_takes_over(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "tabs", &sandbox.project());
    session.prompt("open many tabs");
    let page = Page::open(&sandbox, browser);
    page.wait_for_line("open many tabs");
    let first = page.browser.tab();
    // A browser holds six connections to a host: with one for each page the rest would wait for ever.
    let tabs: Vec<Value> = (0..6)
        .map(|_| {
            let tab = page.browser.new_tab();
            page.browser.goto(page.origin());
            page.wait_for("the stream", "document.querySelector('#link')?.dataset.state === 'live'");
            page.wait_for_line("open many tabs");
            page.wait_for("who runs", "document.querySelector('#agents').innerText.includes('working')");
            tab
        })
        .collect();
    let clients = || sandbox.longhaul(&["worker", "status", "--json"]).json()["clients"].clone();
    assert_eq!(clients(), 1, "one listens for all");
    session.bash("t1", "make tabs", "made");
    for tab in &tabs {
        page.browser.go_to_tab(tab);
        page.wait_for_line("make tabs");
    }
    page.browser.go_to_tab(&first);
    page.browser.close_tab();
    page.browser.go_to_tab(&tabs[3]);
    session.bash("t2", "make curtains", "made");
    page.wait_for_line("make curtains");
    poll::wait_until(DEADLINE, "one that listens for all", || clients() == 1);
    assert!(!page.browser.has_alert());
}
