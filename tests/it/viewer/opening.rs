//! The page, opened by way of the file that `longhaul worker open` gives to a browser.

use std::fs;

use super::Page;
use crate::sandbox::{Outcome, Sandbox};

#[test]
fn the_page_opens_from_the_file_that_the_browser_is_given() {
    let sandbox = Sandbox::new();
    let Some(page) = Page::open(&sandbox) else { return };
    // Another cookie jar would be a stranger's: this browser forgets what it was given.
    page.browser.forget_cookies();
    page.browser.goto(page.origin());
    page.wait_for("the locked page", "document.body.textContent.includes('longhaul worker open')");
    let folder = sandbox.path("no-browser");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.join("xdg-open")).unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.join("open")).unwrap();
    let mut command = sandbox.executable("longhaul");
    let opened = Outcome::of(command.args(["worker", "open"]).env("PATH", &folder), b"");
    assert_eq!(opened.status, Some(0), "{opened:?}");
    page.browser.goto(&format!("file://{}", sandbox.data_dir().join("worker-open.html").display()));
    page.wait_for("the stream", "document.querySelector('#link')?.dataset.state === 'live'");
    let place = page.browser.run("return location.href + document.referrer");
    assert!(!place.as_str().unwrap().contains("ticket"), "{place}");
}
