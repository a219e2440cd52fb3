//! The sessions of other hosts, over ssh. One thread for each host: one that does not answer delays nothing.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Instant;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{run_program_bounded, waiting_times};
use longhaul_view::{SessionRow, rows_of_host};

use super::app::News;

/// The maximum size of an answer, in bytes.
const MAX_BYTES: usize = 512 * 1024;

/// What runs on the host. The shell of `ssh` does not read the user's profile, and the usual folder is added to its path.
const STATUS: &str = r#"sh -c 'PATH="$HOME/.local/bin:$PATH" exec longhaul status --json'"#;

/// The same with the cost of each session, for which the host reads whole transcripts.
const STATUS_WITH_COST: &str = r#"sh -c 'PATH="$HOME/.local/bin:$PATH" exec longhaul status --json --cost'"#;

/// The sessions of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostSessions {
    pub(crate) name: String,
    pub(crate) rows: Vec<SessionRow>,
    /// Why they could not be read.
    pub(crate) problem: Option<String>,
}

/// Starts the thread, which ends when there is no receiver any more.
pub(crate) fn start(host: &str, news: Sender<News>) {
    let host = host.to_owned();
    std::thread::spawn(move || {
        let mut costs = BTreeMap::new();
        for round in 0.. {
            if news.send(News::Host(ask_in_round(&host, round, &mut costs))).is_err() {
                return;
            }
            std::thread::sleep(waiting_times::OTHER_HOST_ASKED_AGAIN);
        }
    });
}

/// Asks a host. `costs` are the last that are known, by session.
fn ask_in_round(host: &str, round: usize, costs: &mut BTreeMap<String, String>) -> HostSessions {
    let asks_for_cost = round.is_multiple_of(waiting_times::OTHER_HOST_COSTS_EVERY);
    let began = Instant::now();
    let mut answer = ask(host, if asks_for_cost { STATUS_WITH_COST } else { STATUS });
    // An older version there does not know the option, and says so at once.
    if asks_for_cost && answer.problem.is_some() && began.elapsed() < waiting_times::OTHER_HOST / 2 {
        answer = ask(host, STATUS);
    }
    for row in &mut answer.rows {
        match &row.cost {
            Some(cost) => drop(costs.insert(row.id.session.clone(), cost.clone())),
            None => row.cost = costs.get(&row.id.session).cloned(),
        }
    }
    answer
}

fn ask(host: &str, command: &str) -> HostSessions {
    // BatchMode: ssh asks for no password.
    let connect = format!("ConnectTimeout={}", waiting_times::OTHER_HOST_CONNECT.as_secs());
    let options = ["-o", "BatchMode=yes", "-o", connect.as_str(), "-T"];
    let words = ["ssh"].into_iter().chain(options).chain(["--", host, command]);
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
