//! `longhaul worker open`: what another user of the machine sees of it opens nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::served::Served;
use crate::poll::{DEADLINE, wait_for};
use crate::sandbox::{Outcome, Sandbox, programs};

/// Puts a program in the browser's place that writes down its arguments and its environment.
fn stand_in_browser(sandbox: &Sandbox) -> std::path::PathBuf {
    let folder = sandbox.path("browser");
    fs::create_dir_all(&folder).unwrap();
    let seen = sandbox.path("seen");
    let script =
        format!("#!/bin/sh\n{{ printf '%s\\n' \"$@\"; env; }} > '{0}.tmp' && mv '{0}.tmp' '{0}'\n", seen.display());
    for name in ["xdg-open", "open"] {
        let path = folder.join(name);
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

#[test]
fn the_browser_is_given_no_key() {
    let sandbox = Sandbox::new();
    let folder = stand_in_browser(&sandbox);
    let served = Served::new(&sandbox);
    let mut command = sandbox.executable("longhaul");
    let path = format!("{}:{}", folder.display(), programs().display());
    let opened = Outcome::of(command.args(["worker", "open"]).env("PATH", path), b"");
    assert_eq!(opened.status, Some(0), "{opened:?}");
    let seen = wait_for(DEADLINE, "the browser", || fs::read_to_string(sandbox.path("seen")).ok());
    assert!(!seen.contains(&served.token) && !seen.contains("ticket="), "{seen}");

    // The argument is a file that only its owner can read.
    let page = std::path::Path::new(seen.lines().next().unwrap());
    assert_eq!(fs::metadata(page).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(page).unwrap();
    assert!(!text.contains(&served.token), "{text}");
    let address = text.split_once("url=http://").unwrap().1.split('"').next().unwrap();
    let (host, query) = address.split_once('/').unwrap();
    assert_eq!(host, format!("127.0.0.1:{}", served.port));

    // What it leads to works once: the answer leads to the page, and names neither token nor ticket.
    let headers = vec![("Host".to_owned(), host.to_owned())];
    let ask = || served.ask("GET", &format!("/{query}"), &headers, b"");
    let first = ask();
    assert_eq!(first.status, 303, "{first:?}");
    let key = first.header("location").strip_prefix("/#key=").unwrap().to_owned();
    assert!(!first.head.contains(&served.token) && !first.head.contains("ticket"), "{first:?}");
    assert_eq!(first.header("referrer-policy"), "no-referrer");
    let second = ask();
    assert_eq!(second.status, 401, "{second:?}");
    assert_eq!(second.header("location"), "");
    assert!(!page.exists(), "a page that leads nowhere is removed");

    // The key opens the data.
    let headers = vec![("Host".to_owned(), host.to_owned()), ("Authorization".to_owned(), format!("Bearer {key}"))];
    assert_eq!(served.ask("GET", "/api/stats", &headers, b"").status, 200);
    assert!(!sandbox.error_log().contains(&served.token));
}
