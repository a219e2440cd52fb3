//! `longhaul-notify --test [WAY]`: sends a notification by one way, or by every way that the configuration names.

use std::io::Write;
use std::process::ExitCode;

use longhaul_core::Env;
use longhaul_core::config::{Choice, NotifyState, NotifyWay};
use longhaul_notify::Message;
use longhaul_runtime::tmux::Server;

use crate::facts::own_terminal;
use crate::outgoing::{Display, Outgoing};
use crate::parallel;

/// Sends the test and prints a line for each way. Returns exit status 1 if a way has failed.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    let (config, _) = longhaul_runtime::config(env).unwrap_or_default();
    let ways: Vec<NotifyWay> = match args {
        [] => config.notify.ways().collect(),
        names => names.iter().filter_map(|name| NotifyWay::from_name(name)).collect(),
    };
    let outgoing = trial(env);
    let mut out = std::io::stdout().lock();
    let mut has_failed = ways.is_empty();
    parallel::send(&outgoing, &ways, &config.notify, env, |way, result| {
        let line = match result {
            Ok(()) => format!("{}: sent", way.as_str()),
            Err(error) => {
                has_failed = true;
                format!("{}: failed: {}", way.as_str(), error.chain())
            }
        };
        // If the reader is gone, there is nobody to inform.
        let _ = writeln!(out, "{}", longhaul_inject::printable(&line));
    });
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn trial(env: &Env) -> Outgoing {
    let server = Server::of(env).map(Server::patient);
    let tty = if server.is_none() { own_terminal(std::process::id()) } else { None };
    let text = "This is how a session calls you.".to_owned();
    Outgoing {
        session: "test".to_owned(),
        state: NotifyState::Blocked,
        at: env.now,
        project: "longhaul".to_owned(),
        branch: None,
        waits_for: None,
        turn_ms: None,
        message: Message { title: "Longhaul test".to_owned(), text },
        display: Display { server, tty },
    }
}
