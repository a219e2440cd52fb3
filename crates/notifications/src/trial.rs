//! `longhaul run-notify --test [WAY]`: sends a notification by one way, or by every way that the configuration names. Also
//! what a way lacks, for the doctor.

use std::io::Write;
use std::process::ExitCode;

use longhaul_core::config::{Notify, NotifyState, NotifyWay};
use longhaul_core::text::error_chain;
use longhaul_core::{Env, Millis};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, waiting_times};
use longhaul_store::NotifyEvent;

use crate::detached::own_terminal;
use crate::message::{Message, Subject};
use crate::outgoing::{Display, Outgoing, SendError};
use crate::ways::{self, NTFY, Program, Recipient, WEBHOOK};

/// Sends the test and prints a line for each way. Returns exit status 1 if a way has failed.
///
/// The log records a test, too: the doctor reports the last result of each way. The test is sent even if the database cannot
/// be used.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    let (config, _) = longhaul_runtime::config(env).unwrap_or_default();
    let ways: Vec<NotifyWay> = match args {
        [] => config.notify.ways().collect(),
        names => names.iter().filter_map(|name| NotifyWay::from_name(name)).collect(),
    };
    let outgoing = trial(env);
    let store = Home::of(env).and_then(|home| home.store(waiting_times::DATABASE)).ok();
    let store = store.inspect(|store| drop(store.begin_notifications(&outgoing.event, &ways, Millis(0))));
    let mut out = std::io::stdout().lock();
    let mut has_failed = ways.is_empty();
    ways::send_by_all(&outgoing, &ways, &config.notify, env, |way, result| {
        if let Some(store) = &store {
            let _ = store.end_notification(&outgoing.row(way, &result, env));
        }
        has_failed |= result.is_err();
        let came_of_it = match result {
            Ok(()) => format!("sent; {}", look_for(way)),
            Err(error) => format!("failed: {}", error_chain(&error)),
        };
        // If the reader is gone, the message has no receiver.
        let _ = writeln!(out, "{}", longhaul_inject::printable(&format!("{}: {came_of_it}", way.as_str())));
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

fn trial(env: &Env) -> Outgoing {
    let text = "This is how a session calls you.".to_owned();
    Outgoing {
        event: NotifyEvent { session: "test".to_owned(), state: NotifyState::Blocked, at: env.now },
        subject: Subject::new(NotifyState::Blocked, "longhaul"),
        message: Message { title: "Longhaul test".to_owned(), text },
        display: match Server::of(env) {
            Some(server) => Display::Tmux(server.patient()),
            None => own_terminal(std::process::id()),
        },
    }
}

/// What is missing for a way, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub way: NotifyWay,
    pub what: String,
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
    let token_missing = |recipient: Recipient, url: &str| {
        let (key, file) = recipient;
        match ways::token(recipient, url, env).err()? {
            SendError::Unencrypted(_) => {
                missing("the token would be sent unencrypted", &format!("use an https:// address in {key}"))
            }
            _ => missing("the token cannot be read", &format!("correct {file} beside the configuration, or remove it")),
        }
    };
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
            Some((server, _)) => token_missing(NTFY, server),
            None => missing("no topic is set", "set notify.ntfy"),
        },
        NotifyWay::Webhook => match config.webhook.get() {
            Some(url) => token_missing(WEBHOOK, url),
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
