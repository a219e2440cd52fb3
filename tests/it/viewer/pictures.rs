//! The pages of the scene, checked to be complete; with a variable set, also the README's pictures.

use std::path::PathBuf;

use super::scene::play;
use super::{Browser, Page, fs};
use crate::sandbox::Sandbox;

/// The folder that the pictures go to, where `cargo xtask pictures --viewer` runs this.
const FOLDER: &str = "LONGHAUL_PICTURES";

fn take(page: &Page<'_>, name: &str) {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    // What the system's own font is differs from machine to machine; pictures should not.
    let font = "document.documentElement.style.setProperty('--sans', '\"Liberation Sans\", Arial, sans-serif')";
    page.browser.run(font);
    page.browser.run("dispatchEvent(new Event('resize'))");
    fs::write(folder.join(name), page.browser.screenshot()).unwrap();
}

pub(super) fn an_afternoon_of_four_sessions_is_shown_as_it_was(browser: &Browser) {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let page = Page::open(&sandbox, browser);
    page.browser.hide_scrollbars();
    page.browser.set_scheme("light");
    page.browser.set_size(1280, 800);
    page.wait_for_line("Fixed: cargo test import");
    page.wait_for("who runs", "document.querySelector('#agents li')");
    let running = page.browser.text("#agents");
    for part in ["blocked", "tidewatch", "working", "harbor-api", "berth-index", "76 %", "93 %", "12 %", "41 %"] {
        assert!(running.contains(part), "{part} is missing: {running}");
    }
    page.browser.click("#main .row:has(.k-fix)");
    page.wait_for("its neighbours", "document.querySelectorAll('#around .row').length >= 4");
    page.browser.run("document.querySelectorAll('#record .raw')[1].open = true");
    page.fits();
    take(&page, "viewer-light.png");

    page.browser.set_scheme("dark");
    page.show("#/session/5e1b7a90-harbor-api");
    page.wait_for("the axis", "document.querySelectorAll('.plane .item').length > 30");
    for (lane, least) in [("prompt", 4), ("turn", 3), ("observation", 20), ("bookmark", 2), ("summary", 1)] {
        let count = page.browser.run(&format!("return document.querySelectorAll('.plane .t-{lane}').length"));
        assert!(count.as_u64() >= Some(least), "{lane}: {count}");
    }
    page.fits();
    take(&page, "viewer-dark.png");

    page.browser.set_scheme("light");
    page.browser.set_size(390, 844);
    page.show("#/");
    page.browser.run("location.reload()");
    page.wait_for_line("Fixed: cargo test import");
    page.browser.run("scrollTo(0, 0)");
    page.fits();
    take(&page, "viewer-phone.png");
    page.show("#/numbers");
    page.wait_for("the plots", "document.querySelectorAll('#main .plot svg').length === 5");
    page.fits();
    page.is_clean();
}
