//! What a way needs and does not have, for the doctor and the installation.

use longhaul_core::Env;
use longhaul_core::config::{Notify, NotifyWay};

use crate::desktop::Program;
use crate::outgoing::SendError;
use crate::{command, http};

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
        NotifyWay::Ntfy => match (config.ntfy.url.get(), config.ntfy.topic.get()) {
            (Some(url), Some(_)) => match http::token_problem(&config.ntfy.token_file, url, "notify.ntfy", env) {
                None => None,
                Some(SendError::Unencrypted(_)) => {
                    missing("the token would be sent unencrypted", "use an https:// address in notify.ntfy.url")
                }
                Some(_) => missing("the token cannot be read", "correct notify.ntfy.token_file, or remove it"),
            },
            (_, _) => missing("no topic is set", "set notify.ntfy.topic"),
        },
        NotifyWay::Webhook => match config.webhook.url.get() {
            Some(url) => match http::token_problem(&config.webhook.token_file, url, "notify.webhook", env) {
                None => None,
                Some(SendError::Unencrypted(_)) => {
                    missing("the token would be sent unencrypted", "use an https:// address in notify.webhook.url")
                }
                Some(_) => missing("the token cannot be read", "correct notify.webhook.token_file, or remove it"),
            },
            None => missing("no address is set", "set notify.webhook.url"),
        },
        NotifyWay::Command => match config.command.0.first() {
            None => missing("no program is set", "set notify.command"),
            Some(program) if command::find(program, env.home_dir.as_deref()).is_some() => None,
            Some(program) => missing(
                &format!("there is no program {program}"),
                "correct notify.command: an absolute path, or a name on the PATH",
            ),
        },
    }
}
