//! Opens the viewer without a key in the arguments of a process, which every user of the machine can read.
//!
//! The browser is started with the path of a file that only its user can read. That file redirects to the worker with a
//! ticket, which is valid once and for a minute. The worker finds the ticket in a second file, and returns the key of the
//! page for it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_core::Millis;
use serde::{Deserialize, Serialize};

use super::{WorkerFile, new_token};
use crate::{Error, Home, bounded_read, files};

/// Time for which a ticket is valid. A browser that has to start first needs some seconds.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// `worker-ticket.json`.
#[derive(Serialize, Deserialize)]
struct Ticket {
    ticket: String,
    issued: u64,
}

/// Issues a ticket. Returns the path of the page that redirects to the worker with it.
///
/// An earlier ticket becomes invalid.
pub fn issue(home: &Home, worker: &WorkerFile, now: Millis) -> Result<PathBuf, Error> {
    let ticket = Ticket { ticket: new_token()?, issued: now.0 };
    files::replace(&home.worker_ticket(), &serde_json::to_vec(&ticket).unwrap_or_default())?;
    let url = format!("http://127.0.0.1:{}/?ticket={}", worker.port, ticket.ticket);
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Longhaul</title>\
         <meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url={url}\">\
         <p><a href=\"{url}\">Open Longhaul</a></p></html>\n"
    );
    let path = home.worker_entrance();
    files::replace(&path, page.as_bytes())?;
    Ok(path)
}

/// Returns whether `given` is the last ticket and still valid. The ticket is then used up.
///
/// A wrong ticket does not invalidate the right one; otherwise any user of this machine could do that.
pub fn redeem(home: &Home, given: &str, now: Millis, is_same: impl Fn(&str, &str) -> bool) -> bool {
    let Ok(text) = bounded_read::bytes(&home.worker_ticket(), bounded_read::SMALL) else { return false };
    let Ok(ticket) = serde_json::from_slice::<Ticket>(&text) else { return false };
    if ticket.ticket.is_empty() || !is_same(given, &ticket.ticket) {
        return false;
    }
    // Of two concurrent requests, only one removes the file.
    let is_first = fs::remove_file(home.worker_ticket()).is_ok();
    let _ = fs::remove_file(home.worker_entrance());
    is_first && now.0.abs_diff(ticket.issued) <= GOOD_FOR.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use longhaul_core::{Env, Millis, Platform};
    use tempfile::TempDir;

    use super::{issue, redeem};
    use crate::Home;
    use crate::worker::WorkerFile;

    fn home(folder: &TempDir) -> Home {
        let path = folder.path().display().to_string();
        Home::of(&Env::new(Millis(1), Platform::Unix, |name| (name == "HOME").then(|| path.clone()))).unwrap()
    }

    fn issued(home: &Home) -> String {
        let worker = WorkerFile { pid: 1, port: 4, token: "key".to_owned(), started: 0, for_model: false };
        let path = issue(home, &worker, Millis(1_000)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let page = fs::read_to_string(path).unwrap();
        assert!(!page.contains("key"), "{page}");
        page.split_once("ticket=").unwrap().1.chars().take_while(char::is_ascii_alphanumeric).collect()
    }

    #[test]
    fn a_ticket_is_good_once_and_for_a_minute() {
        let folder = TempDir::new().unwrap();
        let home = home(&folder);
        let same = |a: &str, b: &str| a == b;
        let ticket = issued(&home);
        assert!(!redeem(&home, "", Millis(1_000), same));
        assert!(!redeem(&home, "wrong", Millis(1_000), same));
        assert!(redeem(&home, &ticket, Millis(61_000), same));
        assert!(!redeem(&home, &ticket, Millis(61_000), same));
        let ticket = issued(&home);
        assert!(!redeem(&home, &ticket, Millis(61_001), same));
        let ticket = issued(&home);
        let later = issued(&home);
        assert!(!redeem(&home, &ticket, Millis(1_000), same));
        assert!(redeem(&home, &later, Millis(1_000), same));
    }
}
