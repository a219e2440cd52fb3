//! The snapshots of a session on its page, and what differs between two of them.

use std::fs;

use serde_json::{Value, json};

use super::{Browser, ENTER, ESCAPE, IMAGE, Page, SCRIPT, Session};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox};

fn snapshots(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.longhaul(&["snapshots", "--json"]).json().as_array().unwrap().clone()
}

/// Sends a prompt, and waits for its snapshot or for the reason why there is none.
fn prompt(session: &Session<'_>, text: &str) {
    let before = snapshots(session.sandbox).len();
    session.prompt(text);
    wait_until(DEADLINE, "a snapshot", || snapshots(session.sandbox).len() > before);
}

fn write(session: &Session<'_>, name: &str, content: &str) {
    let path = session.project.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Plays a session of three prompts in a repository, with names and contents that try to be markup.
fn play(sandbox: &Sandbox) {
    let session = Session::new(sandbox, "snapshot-session", &sandbox.project());
    let mut git = sandbox.program("git");
    let made = Outcome::of(git.current_dir(sandbox.project()).args(["init", "-q", "-b", "main"]), b"");
    assert_eq!(made.status, Some(0), "{made:?}");
    write(&session, "lamp.txt", "dark\nwood\n");
    write(&session, IMAGE, "one\n");
    prompt(&session, "light the lamp");
    write(&session, "lamp.txt", "bright\nwood\n");
    write(&session, IMAGE, &format!("{SCRIPT}\n{IMAGE}\n\u{202e}gpj.exe\n"));
    write(&session, SCRIPT, "++ not a header\n@@ -1 +1 @@\n");
    let long: String = (0..500).map(|number| format!("line {number} {}\n", "x".repeat(90))).collect();
    write(&session, "long.txt", &long);
    prompt(&session, "and the others");
    fs::remove_file(session.project.join("lamp.txt")).unwrap();
    prompt(&session, "remove it");
}

const FILES: &str = "return [...document.querySelectorAll('.difference .file .path')].map((path) => path.textContent)";

fn lines(page: &Page<'_>, kind: &str) -> Vec<String> {
    let script = "return [...document.querySelectorAll(`.patch .${arguments[0]}`)].map((line) => line.textContent)";
    let found = page.browser.run_with(script, &[kind.into()]);
    found.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

pub(super) fn snapshots_are_on_the_axis_and_any_two_are_compared_file_by_file(browser: &Browser) {
    let sandbox = Sandbox::new();
    play(&sandbox);
    let ids: Vec<u64> = snapshots(&sandbox).iter().map(|one| one["id"].as_u64().unwrap()).collect();
    let page = Page::open(&sandbox, browser);
    page.show("#/session/snapshot-session");
    page.wait_for("the snapshots on the axis", "document.querySelectorAll('.plane .t-snapshot').length === 3");
    let label =
        page.browser.run("return document.querySelectorAll('.plane .t-snapshot')[1].getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains("4 files +506 −2"), "{label}");

    // By keys: the last one on the axis, compared with the one before.
    page.browser.run("document.querySelectorAll('.plane .t-snapshot')[2].focus()");
    page.browser.press(ENTER);
    page.wait_for("the difference", "document.querySelector('.difference .minus')");
    assert_eq!(page.browser.run(FILES), json!(["lamp.txt"]));
    let offered = page.browser.text(".difference");
    for id in [ids[1], ids[2]] {
        assert!(offered.contains(&format!("longhaul restore {id} ")), "{offered}");
    }
    assert_eq!(page.browser.run("return document.querySelectorAll('.restoring button').length"), 2);
    page.wait_for("its lines", "document.querySelectorAll('.patch .line.minus').length === 2");
    assert_eq!(lines(&page, "line.minus"), ["-bright", "-wood"]);
    page.browser.press(ESCAPE);
    page.wait_for("the end of it", "document.querySelector('.difference').hidden && !location.hash.includes('to=')");

    // By the list, which names what changed.
    page.browser.click(".snapshots > details > summary");
    let list = page.browser.text(".snapshots .rows");
    for part in ["nothing before it", "4 files +506 −2", "1 file +0 −2", "prompt", "main"] {
        assert!(list.contains(part), "{part} is missing: {list}");
    }
    let menu = page.browser.run("return document.querySelector('#snapshot-to').textContent");
    assert!(menu.as_str().unwrap().contains("prompt · and the others · 4 files"), "{menu}");
    page.browser.click(&format!(".snapshots a[data-snapshot=\"{}\"]", ids[1]));
    page.wait_for("the files", "document.querySelectorAll('.difference .file').length === 4");
    let mut files: Vec<Value> = page.browser.run(FILES).as_array().unwrap().clone();
    files.sort_by_key(Value::to_string);
    let mut expected = vec![json!(IMAGE), json!(SCRIPT), json!("lamp.txt"), json!("long.txt")];
    expected.sort_by_key(Value::to_string);
    assert_eq!(files, expected, "names are text");
    page.wait_for("the short ones", "document.querySelectorAll('.patch').length === 3");
    let added = lines(&page, "line.plus");
    for line in
        [&format!("+{SCRIPT}"), &format!("+{IMAGE}"), "+\\u202egpj.exe", "+++ not a header", "+@@ -1 +1 @@", "+bright"]
    {
        assert!(added.iter().any(|added| added == line), "{line} is missing: {added:?}");
    }
    assert_eq!(lines(&page, "line.same"), [" wood"]);
    let colour = |kind: &str| {
        let script = format!("return getComputedStyle(document.querySelector('.patch .{kind}')).backgroundColor");
        page.browser.run(&script)
    };
    assert!(colour("plus") != colour("minus") && colour("plus") != colour("same"), "changes have colours");
    let made = "return document.querySelectorAll('img:not([src=\"/favicon.svg\"]), body script').length";
    assert_eq!(page.browser.run(made), 0, "nothing of the repository is an element");

    // A long one is folded, and so is its end.
    let fold =
        "[...document.querySelectorAll('.difference details')].find((fold) => fold.innerText.includes('long.txt'))";
    assert_eq!(page.browser.run(&format!("return {fold}.open")), false);
    page.browser.run(&format!("{fold}.querySelector('summary').focus()"));
    page.browser.press(ENTER);
    page.wait_for("its beginning", &format!("{fold}.querySelectorAll('.line').length === 300"));
    page.browser.run(&format!("{fold}.querySelector('button').click()"));
    page.wait_for("the whole", &format!("{fold}.querySelectorAll('.line.plus').length === 500"));
    page.fits();
    page.browser.press("j");
    let focused = page.browser.run("return document.activeElement.className");
    assert!(focused == "row" || focused == "file", "j leads to a line: {focused}");

    // By the menus: the first with the last.
    let choose = "const menu = document.querySelector(arguments[0]); menu.value = arguments[1]; \
                  menu.dispatchEvent(new Event('change'))";
    page.browser.run_with(choose, &["#snapshot-from".into(), ids[0].to_string().into()]);
    page.browser.run_with(choose, &["#snapshot-to".into(), ids[2].to_string().into()]);
    let address = format!("location.hash.includes('from={}&to={}')", ids[0], ids[2]);
    page.wait_for("the choice in the address", &address);
    page.wait_for("the deleted one", "document.querySelector('.difference .k-deleted')");
    assert_eq!(page.browser.run(FILES).as_array().unwrap().len(), 4);
    page.browser.run("location.reload()");
    page.wait_for("the same again", "document.querySelectorAll('.difference .file').length === 4");

    for scheme in ["light", "dark"] {
        page.browser.set_scheme(scheme);
        page.browser.set_width(390);
        page.browser.run("document.querySelectorAll('.snapshots details').forEach((fold) => (fold.open = true))");
        page.wait_for("every patch", "document.querySelectorAll('.patch').length === 4");
        page.fits();
    }
    page.is_clean();
}

pub(super) fn a_session_without_snapshots_says_why_there_are_none(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "no-repository", &sandbox.path(IMAGE));
    session.fire("longhaul-session-start", "SessionStart", json!({ "source": "startup" }));
    wait_until(DEADLINE, "the reason", || !snapshots(&sandbox).is_empty());
    session.prompt("work outside of a repository");
    let page = Page::open(&sandbox, browser);
    page.show("#/session/no-repository");
    page.wait_for("the list", "document.querySelector('.snapshots .row')");
    page.browser.click(".snapshots > details > summary");
    assert!(page.browser.text(".snapshots .row").contains("no snapshot: "), "{}", page.browser.text(".snapshots"));
    assert_eq!(page.browser.run("return document.querySelector('.snapshots .fields').hidden"), true);
    assert_eq!(page.browser.run("return document.querySelectorAll('.plane .t-snapshot').length"), 0);
    page.fits();
    page.is_clean();
}
