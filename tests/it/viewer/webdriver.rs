//! A real Chromium, by way of chromedriver: as much of WebDriver as the tests of the page need.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::poll::{self, DEADLINE};
use crate::sandbox::{Sandbox, programs};

/// Set where a browser must be there, as on CI: then nothing is skipped.
const REQUIRED: &str = "LONGHAUL_REQUIRE_BROWSER";

/// What identifies an element in WebDriver's answers.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser, of which one tab is the page. Ends when dropped.
pub(super) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    first_tab: Value,
    /// Its profile is in there.
    _home: Sandbox,
}

impl Browser {
    /// Starts one; `None`, with a word of why, where none is installed and none is required.
    fn start() -> Option<Self> {
        if !programs().join("chromedriver").is_file() {
            let how = "chromedriver is not installed: apt-get install chromium chromium-driver";
            assert!(std::env::var_os(REQUIRED).is_none(), "{how}");
            // Not eprintln!, which nobody sees of a test that passes.
            let _ = writeln!(io::stderr(), "SKIPPED: {how}");
            return None;
        }
        let home = Sandbox::new();
        let mut driver = home
            .program("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("cannot start chromedriver");
        let port = port_of(&mut driver);
        let answer = ask(port, "POST", "/session", &capabilities(&home.path("chromium")));
        let session = answer["sessionId"].as_str().expect("a session has an id").to_owned();
        let mut browser = Self { driver, port, session, first_tab: Value::Null, _home: home };
        browser.first_tab = browser.tab();
        Some(browser)
    }

    /// Runs tests with one browser, which takes longer to start than most of them take, each in a tab of its own.
    pub(super) fn for_each(tests: &[fn(&Self)]) {
        let Some(browser) = Self::start() else { return };
        for test in tests {
            browser.new_tab();
            // What was asked for before is not this test's concern.
            browser.complaints();
            browser.requests();
            test(&browser);
            let tabs = browser.command("GET", "window/handles", &Value::Null);
            for tab in tabs.as_array().into_iter().flatten().filter(|tab| **tab != browser.first_tab) {
                browser.go_to_tab(tab);
                browser.close_tab();
            }
            browser.go_to_tab(&browser.first_tab);
        }
    }

    /// Goes to an address, and waits until the page is loaded.
    pub(super) fn goto(&self, url: &str) {
        self.command("POST", "url", &json!({ "url": url }));
    }

    /// Returns the cookies that the browser would send to the page's host, on any port.
    pub(super) fn cookies(&self) -> Value {
        self.command("GET", "cookie", &Value::Null)
    }

    /// Opens another tab, which is the page from then on; returns how to come back to it.
    pub(super) fn new_tab(&self) -> Value {
        let tab = self.command("POST", "window/new", &json!({ "type": "tab" }))["handle"].clone();
        self.go_to_tab(&tab);
        tab
    }

    /// Goes to a tab.
    pub(super) fn go_to_tab(&self, tab: &Value) {
        self.command("POST", "window", &json!({ "handle": tab }));
    }

    /// Returns the tab that is the page now.
    pub(super) fn tab(&self) -> Value {
        self.command("GET", "window", &Value::Null)
    }

    /// Closes it; go to another one then.
    pub(super) fn close_tab(&self) {
        self.command("DELETE", "window", &Value::Null);
    }

    /// Returns what the body of a function returns in the page.
    pub(super) fn run(&self, script: &str) -> Value {
        self.run_with(script, &[])
    }

    /// The same, with `arguments`.
    pub(super) fn run_with(&self, script: &str, arguments: &[Value]) -> Value {
        self.command("POST", "execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub(super) fn wait_for(&self, what: &str, expression: &str) {
        let script = format!("return Boolean({expression})");
        poll::wait_for(DEADLINE, what, || (self.run(&script) == true).then_some(()));
    }

    /// Clicks the first element that a CSS selector finds, as a person would: it must be visible.
    #[track_caller]
    pub(super) fn click(&self, selector: &str) {
        let find = json!({ "using": "css selector", "value": selector });
        poll::wait_for(DEADLINE, selector, || {
            let element = self.try_command("POST", "element", &find).ok()?[ELEMENT].as_str()?.to_owned();
            match self.try_command("POST", &format!("element/{element}/click"), &json!({})) {
                Ok(_) => Some(()),
                // The page was drawn anew in between: another element is in its place.
                Err(error) if error.contains("stale element") => None,
                Err(error) => panic!("cannot click {selector}: {error}"),
            }
        });
    }

    /// Presses keys, one after the other.
    pub(super) fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })])
            .collect();
        self.command("POST", "actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] }));
    }

    /// Returns the text of an element as it is shown.
    #[track_caller]
    pub(super) fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText";
        let text = self.run_with(script, &[selector.into()]);
        text.as_str().unwrap_or_else(|| panic!("there is no {selector}")).to_owned()
    }

    /// Returns a picture of what is shown, as PNG.
    pub(super) fn screenshot(&self) -> Vec<u8> {
        let picture = self.command("GET", "screenshot", &Value::Null);
        bytes_of(picture.as_str().expect("a picture is text"))
    }

    /// Draws no scrollbars, as most systems do.
    pub(super) fn hide_scrollbars(&self) {
        self.devtools("Emulation.setScrollbarsHidden", &json!({ "hidden": true }));
    }

    /// Makes the page think that it is so wide.
    pub(super) fn set_width(&self, width: u32) {
        self.set_size(width, 844);
    }

    /// Makes the page think that it is so wide and so high.
    pub(super) fn set_size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Makes the page think that the system is set to `light` or `dark`.
    pub(super) fn set_scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Lets the page show notifications, as a user does who answers the browser's question with yes.
    pub(super) fn allow_notifications(&self) {
        let allowed = json!({ "descriptor": { "name": "notifications" }, "state": "granted" });
        self.command("POST", "permissions", &allowed);
    }

    /// Returns warnings and errors of the page's console since the last time.
    pub(super) fn complaints(&self) -> Vec<String> {
        let serious = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        self.log("browser").iter().filter(serious).map(|entry| entry["message"].to_string()).collect()
    }

    /// Returns the addresses of everything that the page has asked for since the last time.
    pub(super) fn requests(&self) -> Vec<String> {
        let sent = |entry: &Value| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &event["message"];
            let is_request = event["method"] == "Network.requestWillBeSent";
            is_request.then(|| event["params"]["request"]["url"].as_str().map(str::to_owned))?
        };
        self.log("performance").iter().filter_map(sent).collect()
    }

    /// Returns whether a dialog of JavaScript is open.
    pub(super) fn has_alert(&self) -> bool {
        self.try_command("GET", "alert/text", &Value::Null).is_ok()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self.command("POST", "se/log", &json!({ "type": kind }));
        entries.as_array().cloned().unwrap_or_default()
    }

    fn devtools(&self, name: &str, params: &Value) {
        self.command("POST", "goog/cdp/execute", &json!({ "cmd": name, "params": params }));
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_command(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn try_command(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let (status, answer) = http(self.port, method, &format!("/session/{}/{path}", self.session), body);
        let value = answer["value"].clone();
        if status == 200 { Ok(value) } else { Err(format!("{status} {}", value["message"])) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is the driver's child: it must be told to go before its parent does.
        if !self.session.is_empty() {
            let _ = std::panic::catch_unwind(|| {
                http(self.port, "DELETE", &format!("/session/{}", self.session), &Value::Null)
            });
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Reads base64.
fn bytes_of(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let values: Vec<u8> = text.bytes().filter_map(value).collect();
    let joined = |four: &[u8]| {
        let all = four.iter().enumerate().fold(0_u32, |all, (at, six)| all | u32::from(*six) << (18 - 6 * at));
        all.to_be_bytes()[1..four.len()].to_vec()
    };
    values.chunks(4).flat_map(joined).collect()
}

fn capabilities(profile: &Path) -> Value {
    let profile = format!("--user-data-dir={}", profile.display());
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1280,800",
        &profile,
    ];
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "unhandledPromptBehavior": "ignore",
        "goog:chromeOptions": { "args": arguments },
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
    } } })
}

/// Reads where a driver listens, and lets it write on without anybody reading.
fn port_of(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().expect("stdout is a pipe")).lines();
    let port = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok());
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver tells its port")
}

/// Asks for something that cannot fail.
#[track_caller]
fn ask(port: u16, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = http(port, method, path, body);
    assert_eq!(status, 200, "{answer}");
    answer["value"].clone()
}

/// Asks for something over HTTP, and returns the status and the JSON that is answered.
fn http(port: u16, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("cannot reach chromedriver");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("chromedriver reads");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("chromedriver answers");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).expect("chromedriver answers");
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().expect("a length is a number");
        }
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer).expect("chromedriver answers in full");
    (status, serde_json::from_slice(&answer).unwrap_or(Value::Null))
}
