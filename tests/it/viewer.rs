//! The page in a real Chromium, served by the real worker, fed by the real hooks.

mod asking;
mod costs;
mod on_its_way;
mod opening;
mod other_agents;
mod pictures;
mod scene;
mod several;
mod snapshots;
mod spending;
mod waiting;
mod webdriver;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::webdriver::Browser;
use crate::poll::{self, DEADLINE};
use crate::sandbox::{Outcome, Sandbox, payload, with};

const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const RIGHT: &str = "\u{e014}";

const SCRIPT: &str = "<script>alert(1)</script>";
const IMAGE: &str = "\"><img src=x onerror=alert(2)>";

#[test]
fn the_feed() {
    Browser::for_each(&[
        what_a_hook_stores_appears_in_the_open_page_within_a_second,
        rows_that_come_while_somebody_reads_wait_above,
        a_line_of_the_feed_says_what_came_of_it_and_no_title_twice,
        on_its_way::rows_that_come_meanwhile_stay,
        on_its_way::what_is_forgotten_meanwhile_does_not_come_back,
    ]);
}

#[test]
fn records() {
    Browser::for_each(&[
        search_finds_a_record_opens_and_leads_to_the_timeline_by_keys_alone,
        asking::a_question_is_answered_with_passages_and_its_words_are_marked,
        forgetting_asks_first,
        markup_that_was_stored_is_shown_as_text,
    ]);
}

#[test]
fn the_page_itself() {
    Browser::for_each(&[
        it_is_dark_when_the_system_is_or_when_told_and_stays_so,
        at_390_pixels_nothing_scrolls_sideways,
        a_page_without_its_worker_says_how_to_get_it_back,
        opening::the_page_opens_from_the_file_that_the_browser_is_given,
        several::many_pages_share_one_stream_and_the_next_takes_over,
    ]);
}

#[test]
fn sessions() {
    Browser::for_each(&[
        other_agents::the_card_of_a_session_names_its_agent,
        waiting::title_icon_and_card_say_that_a_session_waits_for_what_and_how_long,
        waiting::a_notification_comes_once_and_only_while_nobody_looks,
        snapshots::snapshots_are_on_the_axis_and_any_two_are_compared_file_by_file,
        snapshots::a_session_without_snapshots_says_why_there_are_none,
    ]);
}

#[test]
fn numbers_and_pictures() {
    Browser::for_each(&[
        costs::the_cost_is_shown_for_a_running_session_and_in_the_numbers,
        spending::what_a_model_has_cost_is_shown_where_somebody_pays_for_it,
        pictures::an_afternoon_of_four_sessions_is_shown_as_it_was,
    ]);
}

/// A worker, and the page that it serves. The worker ends when dropped.
struct Page<'a> {
    sandbox: &'a Sandbox,
    browser: &'a Browser,
    url: String,
}

impl<'a> Page<'a> {
    /// Opens the page as `longhaul worker open` would.
    fn open(sandbox: &'a Sandbox, browser: &'a Browser) -> Self {
        // Any free port: tests run beside each other.
        sandbox.write_config(r#"{ "worker": { "port": 0 } }"#);
        let started = sandbox.longhaul(&["worker", "start"]);
        assert_eq!(started.status, Some(0), "{started:?}");
        let url = started.stdout.trim().to_owned();
        let page = Self { sandbox, browser, url };
        page.browser.goto(&page.url);
        page.browser.wait_for("the stream", "document.querySelector('#link')?.dataset.state === 'live'");
        page
    }

    /// Returns the worker's address, without the token.
    fn origin(&self) -> &str {
        self.url.split("/?").next().unwrap_or_default()
    }

    /// Shows another view.
    fn show(&self, place: &str) {
        self.browser.run_with("location.hash = arguments[0]", &[place.into()]);
    }

    fn wait_for(&self, what: &str, expression: &str) {
        self.browser.wait_for(what, expression);
    }

    /// Waits until a line of the list has this title.
    #[track_caller]
    fn wait_for_line(&self, title: &str) {
        let title = Value::from(title);
        self.wait_for(
            "a line",
            &format!(
                "[...document.querySelectorAll('#main .row .title')].some((line) => line.textContent.includes({title}))"
            ),
        );
    }

    /// Checks that nothing went wrong, and that nothing was asked of anybody else.
    #[track_caller]
    fn is_clean(&self) {
        assert!(!self.browser.has_alert(), "something that was stored has run");
        assert_eq!(self.browser.complaints(), Vec::<String>::new(), "the console must be empty");
        let ours = format!("{}/", self.origin());
        let requests = self.browser.requests();
        assert!(requests.iter().any(|url| url.ends_with("/stream")), "{requests:?}");
        let foreign: Vec<&String> =
            requests.iter().filter(|url| !url.starts_with(&ours) && !url.starts_with("data:")).collect();
        assert!(foreign.is_empty(), "asked of others: {foreign:?}");
        let entries = "return performance.getEntriesByType('resource').map((entry) => entry.name)";
        for entry in self.browser.run(entries).as_array().unwrap() {
            assert!(entry.as_str().unwrap().starts_with(&ours), "asked of others: {entry}");
        }
    }

    #[track_caller]
    fn fits(&self) {
        // Plots are drawn again after the page has another width.
        self.wait_for("nothing to scroll sideways", "document.scrollingElement.scrollWidth <= innerWidth");
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let _ = self.sandbox.longhaul(&["worker", "stop"]);
    }
}

/// A session that fires hooks.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: &'a str,
    project: PathBuf,
}

impl<'a> Session<'a> {
    fn new(sandbox: &'a Sandbox, id: &'a str, project: &Path) -> Self {
        fs::create_dir_all(project).unwrap();
        Self { sandbox, id, project: project.to_owned() }
    }

    fn fire(&self, executable: &str, name: &str, changes: Value) {
        let all = json!({
            "session_id": self.id, "cwd": self.project, "prompt_id": self.id, "transcript_path": "/nowhere.jsonl",
        });
        let mut command = self.sandbox.executable(executable);
        command.env("CLAUDE_PROJECT_DIR", &self.project);
        let outcome = Outcome::of(&mut command, payload(name, with(all, &changes)).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    }

    fn prompt(&self, text: &str) {
        self.fire("longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": text }));
    }

    fn bash(&self, id: &str, command: &str, stdout: &str) {
        let call = json!({
            "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command },
            "tool_response": { "stdout": stdout, "stderr": "" },
        });
        self.fire("longhaul-post-tool-use", "PostToolUse", call);
    }

    fn stop(&self, reply: &str) {
        self.fire("longhaul-stop", "Stop", json!({ "last_assistant_message": reply }));
    }
}

fn what_a_hook_stores_appears_in_the_open_page_within_a_second(browser: &Browser) {
    let sandbox = Sandbox::new();
    let page = Page::open(&sandbox, browser);
    page.wait_for("what to do", "document.querySelector('#main').innerText.includes('The memory is empty')");
    let session = Session::new(&sandbox, "live-session", &sandbox.project());
    session.prompt("mend the lamp");
    page.wait_for_line("mend the lamp");

    let mut times = Vec::new();
    // The quickest counts: on a machine that does something else at the same time, any one may be late.
    for number in 1..=30 {
        let command = format!("make lamp-{number}");
        session.bash(&format!("t{number}"), &command, "made");
        let fired = Instant::now();
        page.wait_for_line(&command);
        times.push(fired.elapsed());
        if number >= 3 && times.iter().any(|time| *time <= Duration::from_secs(1)) {
            break;
        }
    }
    let _ = writeln!(io::stderr(), "from the end of the hook to the row in the page: {times:?}");
    assert!(times.iter().min().unwrap() <= &Duration::from_secs(1), "{times:?}");

    let first = page.browser.text("#main .row .title");
    assert!(first.contains("make lamp-3"), "the newest is on top: {first}");
    assert!(page.browser.text("#agents").contains("working"), "{}", page.browser.text("#agents"));
    page.wait_for("a word for those who listen", "document.querySelector('#said').textContent.includes('new record')");
    page.is_clean();
}

fn rows_that_come_while_somebody_reads_wait_above(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "reader", &sandbox.project());
    session.prompt("count to forty");
    for number in 0..40 {
        session.bash(&format!("t{number}"), &format!("make part-{number}"), "said");
    }
    let page = Page::open(&sandbox, browser);
    page.wait_for_line("make part-39");
    page.browser.run("scrollTo(0, 600)");
    page.wait_for("the scroll", "scrollY > 300");
    session.bash("late", "make late", "said");
    page.wait_for("the pill", "!document.querySelector('#pill').hidden");
    assert!(page.browser.text("#pill").contains("1 new"));
    assert!(!page.browser.text("#main .row .title").contains("late"), "nothing moves under the reader's eyes");
    page.browser.click("#pill");
    page.wait_for_line("make late");
    page.wait_for("the top", "scrollY === 0 && document.querySelector('#pill').hidden");
    page.is_clean();
}

fn search_finds_a_record_opens_and_leads_to_the_timeline_by_keys_alone(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "search-session", &sandbox.project());
    session.prompt("tune the harpsichord");
    session.bash("t1", "tuner --strings", "442 Hz");
    session.bash("t2", "ls scores", "bach.ly");
    session.stop("The harpsichord is in tune.");
    let page = Page::open(&sandbox, browser);
    page.wait_for_line("tuner --strings");

    page.browser.press("/");
    assert_eq!(page.browser.run("return document.activeElement.id"), "q", "/ leads to the search");
    page.browser.press("vuvuzela");
    page.wait_for("nothing found", "document.querySelector('#main').innerText.includes('Nothing matches')");
    page.browser.press(ESCAPE);
    page.wait_for_line("ls scores");
    page.browser.press("/");
    page.browser.press("kind:command tuner");
    page.wait_for("the one hit", "document.querySelectorAll('#main .row').length === 1");
    let line = page.browser.text("#main .row");
    for part in ["O1", "command", "tuner --strings", "tokens"] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }

    page.browser.press(ENTER);
    page.browser.press(ENTER);
    page.wait_for("the record", "document.querySelector('#record .record-title')?.textContent.includes('tuner')");
    assert_eq!(page.browser.run("return document.querySelector('#record .raw').open"), false, "raw text is folded");
    let raw =
        page.browser.run("return [...document.querySelectorAll('#record .raw pre')].map((raw) => raw.textContent)");
    assert!(raw.to_string().contains("442 Hz") && raw.to_string().contains("tuner --strings"), "{raw}");

    page.browser.press("s");
    page.wait_for("the axis", "document.querySelectorAll('.plane .item').length >= 4");
    let types = page.browser.run(
        "return [...new Set([...document.querySelectorAll('#main .rows .mark')].map((mark) => mark.textContent))].sort()",
    );
    for kind in ["prompt", "command", "summary"] {
        assert!(types.to_string().contains(kind), "{kind} is missing: {types}");
    }
    let names = page.browser.run("return [...document.querySelectorAll('.plane .item')].every((item) => item.getAttribute('aria-label').length > 10)");
    assert_eq!(names, true, "every mark has a name");
    page.browser.run("document.querySelector('.plane .item[tabindex=\"0\"]').focus()");
    let focused = "return document.activeElement.dataset.item";
    let before = page.browser.run(focused);
    page.browser.press(RIGHT);
    assert_ne!(page.browser.run(focused), before, "arrows step along the axis");
    page.browser.press("+++");
    page.wait_for(
        "the zoom",
        "document.querySelector('.plane').scrollWidth > 2 * document.querySelector('.plane').clientWidth",
    );
    page.fits();
    page.is_clean();
}

fn forgetting_asks_first(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "forgetter", &sandbox.project());
    session.prompt("read my diary aloud");
    session.bash("t1", "make diary", "dear diary");
    let page = Page::open(&sandbox, browser);
    page.wait_for_line("make diary");
    page.browser.click("#main [data-open=O1]");
    page.browser.click("#record .danger");
    assert_eq!(page.browser.run("return document.activeElement.value"), "no", "Enter by mistake keeps it");
    page.browser.press(ENTER);
    page.wait_for("the answer", "!document.querySelector('#ask').open");
    page.wait_for_line("make diary");
    page.browser.click("#record .danger");
    page.browser.click("#ask-yes");
    page.wait_for(
        "the line to go",
        "!document.querySelector('#main [data-open=O1]') && document.querySelector('#record').hidden",
    );
    let database = sandbox.database();
    let left: u32 = database.query_row("SELECT count(*) FROM observations", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "it is gone for good");
    page.is_clean();
}

fn it_is_dark_when_the_system_is_or_when_told_and_stays_so(browser: &Browser) {
    let sandbox = Sandbox::new();
    let page = Page::open(&sandbox, browser);
    let background = "return getComputedStyle(document.body).backgroundColor";
    page.browser.set_scheme("light");
    let light = page.browser.run(background);
    page.browser.set_scheme("dark");
    let dark = page.browser.run(background);
    assert_ne!(light, dark, "it follows the system");
    page.browser.set_scheme("light");
    page.browser.press("tt");
    assert_eq!(page.browser.run(background), dark, "it does what it is told");
    page.browser.run("location.reload()");
    page.wait_for("the page again", "document.querySelector('#link')?.dataset.state === 'live'");
    assert_eq!(page.browser.run(background), dark, "it remembers");
    page.is_clean();
}

fn a_line_of_the_feed_says_what_came_of_it_and_no_title_twice(browser: &Browser) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "lamp", &sandbox.project());
    session.prompt("mend the lamp");
    session.bash("t1", "make lamp", "made");
    session.stop("The lamp is mended: the switch was loose.");
    let page = Page::open(&sandbox, browser);
    page.wait_for("the summary", "document.querySelector('#main li[data-id^=S] .snippet')");
    let said = page.browser.text("#main li[data-id^=S] .snippet");
    assert!(said.contains("make lamp") || said.contains("the switch was loose"), "{said}");
    page.show("#/?q=lamp");
    page.wait_for("the command", "document.querySelector('#main li[data-id^=O]')");
    let command = page.browser.text("#main li[data-id^=O]");
    assert_eq!(command.matches("make lamp").count(), 1, "{command}");
    page.is_clean();
}

fn at_390_pixels_nothing_scrolls_sideways(browser: &Browser) {
    let sandbox = Sandbox::new();
    let long = "x".repeat(300);
    let session = Session::new(&sandbox, "a-session-with-a-name-that-is-rather-long", &sandbox.path(&long[..120]));
    session.prompt(&format!("{long} and a path /{}/{long}", "folder/".repeat(40)));
    session.bash("t1", &format!("echo {long}"), &long.repeat(9));
    session.stop(&long);
    let page = Page::open(&sandbox, browser);
    page.browser.set_width(390);
    page.browser.run("location.reload()");
    page.wait_for_line("echo xxx");
    page.fits();
    page.browser.click("#running summary");
    page.fits();
    page.browser.click("[aria-controls=filters]");
    page.fits();
    page.show("#/?open=O1");
    page.wait_for("the record", "document.querySelector('#record .raw')");
    page.browser.run("document.querySelectorAll('#record details').forEach((fold) => (fold.open = true))");
    page.fits();
    let panel = page
        .browser
        .run("const panel = document.querySelector('#record'); return [panel.scrollWidth, panel.clientWidth]");
    assert_eq!(panel[0], panel[1], "nor does the record");
    for (place, sign) in [
        ("#/sessions", ".card"),
        ("#/session/a-session-with-a-name-that-is-rather-long", ".plane .item"),
        ("#/numbers", ".plot svg"),
    ] {
        page.show(place);
        page.wait_for(place, &format!("document.querySelector('#main {sign}')"));
        page.fits();
    }
    page.is_clean();
}

fn markup_that_was_stored_is_shown_as_text(browser: &Browser) {
    let sandbox = Sandbox::new();
    let project = sandbox.path("work").join(IMAGE);
    let session = Session::new(&sandbox, "markup", &project);
    session.prompt(&format!("why does {SCRIPT} not run? {IMAGE}"));
    session.bash("t1", &format!("echo '{SCRIPT}{IMAGE}'"), &format!("{SCRIPT}{IMAGE}"));
    session.stop(&format!("Because {SCRIPT} is text. {IMAGE}"));
    let page = Page::open(&sandbox, browser);
    page.wait_for_line(SCRIPT);
    session.bash("t2", &format!("printf '{IMAGE}'"), SCRIPT);
    page.wait_for_line(&format!("printf '{IMAGE}"));
    page.wait_for(
        "the project's name",
        "[...document.querySelectorAll('#project option')].some((option) => option.textContent.includes('<img'))",
    );

    for (place, sign) in [
        ("#/", "#main .row"),
        ("#/?open=P1", "#record .text"),
        ("#/?open=O1", "#record .raw pre"),
        ("#/?open=S1", "#record .text"),
        ("#/?q=script", "#main .row"),
        ("#/sessions", "#main .card"),
        ("#/session/markup", "#main .plane .item"),
        ("#/numbers", "#main .projects a"),
    ] {
        page.show(place);
        page.wait_for(place, &format!("document.querySelector('{sign}')"));
        page.browser.run("document.querySelectorAll('details').forEach((fold) => (fold.open = true))");
        let text =
            "[...document.querySelectorAll('#main, #record:not([hidden])')].map((part) => part.textContent).join(' ')";
        page.wait_for(
            place,
            &format!(
                "{text}.includes('<script>alert(1)</script>') || {text}.includes('\"><img src=x onerror=alert(2)>')"
            ),
        );
        let made =
            page.browser.run("return document.querySelectorAll('img:not([src=\"/favicon.svg\"]), body script').length");
        assert_eq!(made, 0, "an element was made of text at {place}");
    }
    page.is_clean();
}

fn a_page_without_its_worker_says_how_to_get_it_back(browser: &Browser) {
    let sandbox = Sandbox::new();
    let page = Page::open(&sandbox, browser);
    let stopped = sandbox.longhaul(&["worker", "stop"]);
    assert_eq!(stopped.status, Some(0), "{stopped:?}");
    page.wait_for("the state", "document.querySelector('#link').dataset.state === 'waiting'");
    poll::wait_until(DEADLINE, "the mend", || page.browser.text("#banner").contains("longhaul worker open"));
    assert!(!page.browser.has_alert());
}
