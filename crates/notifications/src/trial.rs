//! `longhaul run-notify --test [WAY]`: sends a notification by one way, or by every way that the configuration names. Also
//! what a way lacks, for the doctor.

use std::io::Write;
use std::process::ExitCode;

use longhaul_core::config::{Choice, Notify, NotifyState, NotifyWay};
use longhaul_core::{Env, Millis};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, now, waiting_times};
use longhaul_store::{Notification, NotifyEvent, NotifyResult, Store};

use crate::detached::own_terminal;
use crate::message::Message;
use crate::outgoing::{Display, Outgoing, SendError};
use crate::ways::{self, NTFY, Program, WEBHOOK};

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
    ways::send_by_all(&outgoing, &ways, &config.notify, env, |way, result| {
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
        event: None,
        turn_ms: None,
        message: Message { title: "Longhaul test".to_owned(), text },
        display: Display { server, tty },
    }
}

/// What is missing for a way, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The way.
    pub way: NotifyWay,
    /// What is missing.
    pub what: String,
    /// How to fix it.
    pub fix: String,
}

/// Returns whether a notification of the desktop can be shown here: there is a program for it, and a session of a desktop.
pub fn has_desktop() -> bool {
    match Program::find() {
        Some(Program::Osascript) => true,
        Some(Program::NotifySend) => longhaul_runtime::has_display(),
        None => false,
    }
}

/// Returns what is missing for each way that the configuration names.
pub fn missing(config: &Notify, env: &Env) -> Vec<Missing> {
    config.ways().filter_map(|way| missing_for(way, config, env)).collect()
}

fn missing_for(way: NotifyWay, config: &Notify, env: &Env) -> Option<Missing> {
    let missing = |what: &str, fix: &str| Some(Missing { way, what: what.to_owned(), fix: fix.to_owned() });
    match way {
        NotifyWay::Terminal => None,
        NotifyWay::Desktop => match Program::find() {
            Some(_) if has_desktop() => None,
            Some(_) => missing(
                "there is no desktop session here: neither DISPLAY nor WAYLAND_DISPLAY is set",
                "start the sessions in the desktop session, or use another way, such as terminal or ntfy",
            ),
            None => missing("notify-send is not on the PATH", "install libnotify (on Debian: libnotify-bin)"),
        },
        NotifyWay::Ntfy => match config.ntfy.get() {
            Some((server, _)) => match ways::token_problem(NTFY, server, env) {
                None => None,
                Some(SendError::Unencrypted(_)) => {
                    missing("the token would be sent unencrypted", "use an https:// address in notify.ntfy")
                }
                Some(_) => {
                    missing("the token cannot be read", "correct ntfy.token beside the configuration, or remove it")
                }
            },
            None => missing("no topic is set", "set notify.ntfy"),
        },
        NotifyWay::Webhook => match config.webhook.get() {
            Some(url) => match ways::token_problem(WEBHOOK, url, env) {
                None => None,
                Some(SendError::Unencrypted(_)) => {
                    missing("the token would be sent unencrypted", "use an https:// address in notify.webhook")
                }
                Some(_) => {
                    missing("the token cannot be read", "correct webhook.token beside the configuration, or remove it")
                }
            },
            None => missing("no address is set", "set notify.webhook"),
        },
        NotifyWay::Command => match config.command.0.first() {
            None => missing("no program is set", "set notify.command"),
            Some(program) if ways::find(program, env.home_dir.as_deref()).is_some() => None,
            Some(program) => missing(
                &format!("there is no program {program}"),
                "correct notify.command: an absolute path, or a name on the PATH",
            ),
        },
    }
}
