//! `longhaul-notify --test [WAY]`: sends a notification by one way, or by every way that the configuration names.

use std::io::Write;
use std::process::ExitCode;

use longhaul_core::config::{Choice, NotifyState, NotifyWay};
use longhaul_core::{Env, Millis};
use longhaul_notify::Message;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, now, waiting_times};
use longhaul_store::{Notification, NotifyEvent, NotifyResult, Store};

use crate::facts::own_terminal;
use crate::outgoing::{Display, Outgoing, SendError};
use crate::parallel;

/// The session that a test names.
const TEST: &str = "test";

/// Sends the test and prints a line for each way. Returns exit status 1 if a way has failed.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    let (config, _) = longhaul_runtime::config(env).unwrap_or_default();
    let ways: Vec<NotifyWay> = match args {
        [] => config.notify.ways().collect(),
        names => names.iter().filter_map(|name| NotifyWay::from_name(name)).collect(),
    };
    let outgoing = trial(env);
    let log = TrialLog::begin(env, &ways);
    let mut out = std::io::stdout().lock();
    let mut has_failed = ways.is_empty();
    parallel::send(&outgoing, &ways, &config.notify, env, |way, result| {
        log.add(way, &result, &outgoing);
        let line = match result {
            Ok(()) => format!("{}: sent; {}", way.as_str(), look_for(way)),
            Err(error) => {
                has_failed = true;
                format!("{}: failed: {}", way.as_str(), error.chain())
            }
        };
        // If the reader is gone, the message has no receiver.
        let _ = writeln!(out, "{}", longhaul_inject::printable(&line));
    });
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns where the user should see the test.
fn look_for(way: NotifyWay) -> &'static str {
    match way {
        NotifyWay::Terminal => {
            "look for \"Longhaul test\" as a notification of your terminal; one that shows none rings or marks the tab"
        }
        NotifyWay::Desktop => "look for \"Longhaul test\" among the notifications of the desktop",
        NotifyWay::Ntfy => "look for \"Longhaul test\" in the ntfy app, in your topic",
        NotifyWay::Webhook => "look for \"Longhaul test\" where your webhook delivers it",
        NotifyWay::Command => "look for what your command does with \"Longhaul test\"",
    }
}

/// The log of notifications, in which a test is recorded, too: the doctor reports the last result of each way.
struct TrialLog<'a> {
    env: &'a Env,
    /// `None` if the database cannot be used. The test is sent anyway.
    store: Option<Store>,
}

impl<'a> TrialLog<'a> {
    fn begin(env: &'a Env, ways: &[NotifyWay]) -> Self {
        let store = Home::of(env).and_then(|home| home.store(waiting_times::DATABASE)).ok();
        let log = Self { env, store };
        if let Some(store) = &log.store {
            let _ = store.begin_notifications(&log.event(), ways, Millis(0));
        }
        log
    }

    fn event(&self) -> NotifyEvent {
        NotifyEvent { session: TEST.to_owned(), state: NotifyState::Blocked, at: self.env.now }
    }

    fn add(&self, way: NotifyWay, result: &Result<(), SendError>, outgoing: &Outgoing) {
        let (name, why) = match result {
            Ok(()) => (NotifyResult::Sent, None),
            Err(error) => (NotifyResult::Failed, Some(error.chain())),
        };
        let (project, text) = (Some(outgoing.project.clone()), Some(outgoing.message.line()));
        let ended = Some(now(self.env));
        let row = Notification { event: self.event(), way, result: name, why, project, text, ended };
        if let Some(store) = &self.store {
            let _ = store.end_notification(&row);
        }
    }
}

fn trial(env: &Env) -> Outgoing {
    let server = Server::of(env).map(Server::patient);
    let tty = if server.is_none() { own_terminal(std::process::id()) } else { None };
    let text = "This is how a session calls you.".to_owned();
    Outgoing {
        session: TEST.to_owned(),
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
