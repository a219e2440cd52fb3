//! The sessions of other hosts, over ssh. One thread for each host: one that does not answer delays nothing.

use std::sync::mpsc::Sender;
use std::time::Duration;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{run_program_bounded, waiting_times};
use longhaul_view::{SessionRow, rows_of_host};

use super::app::News;

/// How long to wait after an answer before a host is asked again.
const ASK_EVERY: Duration = Duration::from_secs(4);

/// The maximum size of an answer, in bytes.
const MAX_BYTES: usize = 512 * 1024;

/// What runs on the host. The shell of `ssh` does not read the user's profile, and the usual folder is added to its path.
const STATUS: &str = r#"sh -c 'PATH="$HOME/.local/bin:$PATH" exec longhaul status --json'"#;

/// The sessions of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostSessions {
    pub(crate) name: String,
    pub(crate) rows: Vec<SessionRow>,
    /// Why they could not be read.
    pub(crate) problem: Option<String>,
}

/// Starts the thread, which ends when nobody receives its news.
pub(crate) fn start(host: &str, news: Sender<News>) {
    let host = host.to_owned();
    std::thread::spawn(move || {
        while news.send(News::Host(ask(&host))).is_ok() {
            std::thread::sleep(ASK_EVERY);
        }
    });
}

fn ask(host: &str) -> HostSessions {
    // BatchMode: ssh asks for no password.
    let options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-T"];
    let words = ["ssh"].into_iter().chain(options).chain(["--", host, STATUS]);
    let step = TerminalCommand { argv: words.map(str::to_owned).collect(), stdin: None };
    let answer = run_program_bounded(&step, MAX_BYTES, waiting_times::OTHER_HOST);
    let rows = answer.map_err(|error| error.chain()).and_then(|output| {
        let now = longhaul_runtime::env().now.0 / 1000;
        rows_of_host(host, &output, now).map_err(|_| "longhaul is not installed there, or too old".to_owned())
    });
    match rows {
        Ok(rows) => HostSessions { name: host.to_owned(), rows, problem: None },
        Err(problem) => HostSessions { name: host.to_owned(), rows: Vec::new(), problem: Some(problem) },
    }
}
