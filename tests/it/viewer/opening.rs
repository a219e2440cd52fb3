//! The page, opened by way of the file that `longhaul worker open` gives to a browser.

use std::fs;

use serde_json::{Value, json};

use super::{Browser, Page};
use crate::sandbox::{Outcome, Sandbox};

pub(super) fn the_page_opens_from_the_file_that_the_browser_is_given(browser: &Browser) {
    let sandbox = Sandbox::new();
    let page = Page::open(&sandbox, browser);
    let locked = "document.querySelector('#main').textContent.includes('longhaul worker open')";
    let is_live = "document.querySelector('#link')?.dataset.state === 'live'";
    assert_eq!(page.browser.cookies(), json!([]), "a cookie would go to every port");
    let given = page.browser.run("return [location.href, localStorage.getItem('longhaul-key')]");
    assert_eq!(given[0], format!("{}/", page.origin()));
    // Another site can open the page with a wrong key: the right one stays.
    page.browser.goto("about:blank");
    page.browser.goto(&format!("{}/#key=wrong", page.origin()));
    page.wait_for("the stream", is_live);
    assert_eq!(page.browser.run("return localStorage.getItem('longhaul-key')"), given[1]);
    // Another browser would be a stranger's: this one forgets what it was given.
    page.browser.run("localStorage.clear()");
    page.browser.goto("about:blank");
    page.browser.goto(page.origin());
    page.wait_for("the locked page", locked);
    let folder = sandbox.path("no-browser");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.join("xdg-open")).unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.join("open")).unwrap();
    let mut command = sandbox.executable("longhaul");
    let opened = Outcome::of(command.args(["worker", "open"]).env("PATH", &folder), b"");
    assert_eq!(opened.status, Some(0), "{opened:?}");
    page.browser.goto(&format!("file://{}", sandbox.data_dir().join("worker-open.html").display()));
    page.wait_for("the stream", is_live);
    let place = page.browser.run("return location.href + document.referrer");
    assert!(!place.as_str().unwrap().contains("ticket") && !place.as_str().unwrap().contains("key"), "{place}");

    // The key ends with its worker.
    for command in ["stop", "start"] {
        assert_eq!(sandbox.longhaul(&["worker", command]).status, Some(0));
    }
    let worker: Value = serde_json::from_slice(&fs::read(sandbox.data_dir().join("worker.json")).unwrap()).unwrap();
    let again = format!("http://127.0.0.1:{}/#key={}", worker["port"], given[1].as_str().unwrap());
    page.browser.goto("about:blank");
    page.browser.goto(&again);
    page.wait_for("the locked page", locked);
}
