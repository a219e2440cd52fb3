//! Tables: what goes in, what comes out.

mod reconcile;
mod state;
mod tmux;

use longhaul_core::Status;

use crate::{Agent, LivePane, Options, Pane, Process};

/// The time in all tests, in seconds.
const NOW: u64 = 1_000_000;

/// Returns a session that has been in `status` for `age` seconds.
fn agent(session: &str, status: Status, age: u64) -> Agent {
    Agent { status, project: session.to_owned(), ..Agent::new(session, NOW - age) }
}

fn pane(socket: &str, id: &str) -> Pane {
    Pane { socket: socket.to_owned(), id: id.to_owned() }
}

fn live(socket: &str, id: &str, pid: u32) -> LivePane {
    let mut live = LivePane::new(pane(socket, id), pid);
    live.target = format!("main:{pid}.0");
    live.cwd = "/work/p".to_owned();
    live
}

fn process(pid: u32, parent: u32, name: &str) -> Process {
    Process { pid, parent, name: name.to_owned(), arguments: String::new() }
}

/// Returns the options with some of them set.
fn options(set: &[(&str, &str)]) -> Options {
    Options::from_values(|at| {
        let name = crate::OPTIONS[at].name;
        set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
    })
}
