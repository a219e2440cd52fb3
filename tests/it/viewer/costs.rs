//! What the sessions cost, on the page.

use std::fs;

use serde_json::{Value, json};

use super::{Browser, Page, Session};
use crate::sandbox::Sandbox;

/// 2026-11-15 12:00 UTC.
const NOON: u64 = 1_794_744_000_000;

fn reply(message: &str, at: &str, model: &str, usage: &Value) -> String {
    let line = json!({
        "type": "assistant", "timestamp": at, "sessionId": "payer", "requestId": message, "cwd": "/work/app",
        "message": { "id": message, "model": model, "usage": usage },
    });
    format!("{line}\n")
}

pub(super) fn the_cost_is_shown_for_a_running_session_and_in_the_numbers(browser: &Browser) {
    let sandbox = Sandbox::new().at(NOON).with_env("TZ", "UTC");
    let folder = sandbox.home().join(".claude/projects/-work-app");
    fs::create_dir_all(&folder).unwrap();
    let transcript = folder.join("payer.jsonl");
    let usage = json!({ "input_tokens": 250_000, "output_tokens": 50_000, "cache_read_input_tokens": 1_000_000 });
    let first = reply("m1", "2026-11-15T10:00:00.000Z", "claude-opus-5-5", &usage);
    // The same reply twice: a streamed one.
    fs::write(&transcript, format!("{first}{first}")).unwrap();
    let session = Session::new(&sandbox, "payer", &sandbox.project());
    session.fire("longhaul-session-start", "SessionStart", json!({ "transcript_path": transcript }));
    session.fire(
        "longhaul-user-prompt-submit",
        "UserPromptSubmit",
        json!({ "prompt": "count the costs", "transcript_path": transcript }),
    );
    let page = Page::open(&sandbox, browser);
    page.wait_for("the cost", "document.querySelector('.agent-cost')");
    assert_eq!(page.browser.text(".agent-cost"), "≈ $2.20 · 1.3M tokens");

    page.show("#/numbers");
    page.wait_for("the cost of all", "document.querySelector('.spent strong')?.textContent === '≈ $2.20'");
    let text = page.browser.text(".spent");
    assert!(text.contains("for 1,300,000 tokens in 1 request"), "{text}");
    assert!(text.contains("Estimated from the transcripts, by the prices of the Claude API of 20"), "{text}");
    page.wait_for("the plot", "document.querySelector('.p-cost svg')");
    let spoken = page.browser.run("return document.querySelector('.p-cost svg').getAttribute('aria-label')");
    assert!(spoken.as_str().unwrap().contains("$2.20"), "{spoken}");

    // A model without a price, while the page is open.
    let next = reply("m2", "2026-11-15T11:00:00.000Z", "<b>new</b>", &json!({ "input_tokens": 5, "output_tokens": 5 }));
    fs::write(&transcript, format!("{first}{first}{next}")).unwrap();
    page.wait_for("the new sum", "document.querySelector('.agent-cost').textContent.includes('+ ?')");
    page.browser.run("location.reload()");
    page.wait_for("what is not known", "document.querySelector('.spent .why')");
    let why = page.browser.text(".spent .why");
    assert!(why.contains("The price of <b>new</b> is not known."), "{why}");
    page.browser.set_width(390);
    page.fits();
    page.is_clean();
}
