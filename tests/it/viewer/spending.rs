//! The cost of model summaries, on the page.

use serde_json::json;

use super::{Browser, Page, Session};
use crate::poll::{self, DEADLINE};
use crate::sandbox::Sandbox;

pub(super) fn what_a_model_has_cost_is_shown_where_somebody_pays_for_it(browser: &Browser) {
    let sandbox = Sandbox::new().with_env("LONGHAUL_QUIET_MS", "0");
    let session = Session::new(&sandbox, "payer", &sandbox.project());
    session.prompt("count the costs");
    let page = Page::open(&sandbox, browser);
    page.show("#/numbers");
    page.wait_for("the plots", "document.querySelector('#main .plot svg')");
    assert_eq!(page.browser.run("return document.querySelector('.model').children.length"), 0, "nobody pays");
    // No key: it is asked for nothing, and says so.
    let model = json!({ "via": "api", "daily_token_budget": 50_000 });
    sandbox.write_config(&json!({ "worker": { "port": 0 }, "memory": { "model": model } }).to_string());
    page.browser.run("location.reload()");
    page.wait_for("what is left", "document.querySelector('.model')?.innerText.includes('50,000 of 50,000 left')");
    session.stop("They are counted.");
    poll::wait_until(DEADLINE, "the trouble", || {
        page.browser.run("location.reload()");
        page.wait_for("the model's part", "document.querySelector('.model h2')");
        page.browser.text(".model").contains("ANTHROPIC_API_KEY is not set")
    });
    page.browser.set_width(390);
    page.fits();
    page.is_clean();
}
