//! A question in the page: passages that answer it, and the words marked.

use super::{Browser, IMAGE, Page, SCRIPT, Session};
use crate::sandbox::Sandbox;

pub(super) fn a_question_is_answered_with_passages_and_its_words_are_marked(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "asking-session", &sandbox.project());
    session.prompt("why does the importer stall?");
    session.stop(&format!("The exchange rates hold the lock 😀 importer {SCRIPT}{IMAGE} until they are answered."));
    let page = Page::open(&sandbox, browser);
    page.wait_for_line("why does the importer stall?");
    page.browser.press("/");
    page.browser.press("why do importers stall");
    page.wait_for("the passage", "document.querySelector('.passages article .text')");
    let text = page.browser.text(".passages article");
    for part in ["why does the importer stall?", "hold the lock", SCRIPT, IMAGE] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    let marked = |within: &str| {
        let script =
            format!("return [...document.querySelectorAll('{within} mark')].map((mark) => mark.textContent).join(' ')");
        page.browser.run(&script)
    };
    assert_eq!(marked(".passages .asked"), "importer stall");
    assert_eq!(marked(".passages .text"), "importer", "a character of two units does not move the mark");
    assert_eq!(marked("#main .row[data-open=P1] .title"), "importer stall");
    let elements =
        "return [...document.querySelectorAll('.passages script, .passages img, .row script, .row img')].length";
    assert_eq!(page.browser.run(elements), 0, "what was stored is text");
    page.fits();

    page.browser.click(".passages [data-open=P1]");
    page.wait_for("the record", "document.querySelector('#record .record-title')?.textContent.includes('importer')");
    assert!(page.browser.text("#record").contains("hold the lock"), "the record shows the reply");
    page.show("#/?q=importer");
    page.wait_for("one word to be no question", "document.querySelector('.answer').hidden");
    page.is_clean();
}
