//! A notification that is sent, and the errors of sending.

use longhaul_core::Env;
use longhaul_core::config::{Notify, NotifyWay};
use longhaul_core::text::error_chain;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{ProgramLines, now};
use longhaul_store::{Notification, NotifyEvent, NotifyResult};

use crate::message::{Message, Subject};
use crate::ways;

/// Why a notification could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("{0} is not set")]
    NotSet(&'static str),
    #[error("no terminal shows the session")]
    NoTerminal,
    #[error("cannot write to the terminal {tty}")]
    Terminal { tty: String, source: std::io::Error },
    #[error("neither notify-send nor osascript is on the PATH")]
    NoDesktop,
    #[error("there is no program {0}")]
    NoProgram(String),
    #[error("{0} is neither https:// nor on this machine: the token is not sent there")]
    Unencrypted(&'static str),
    /// The file of a token cannot be read, or holds none.
    #[error("cannot read the token file of {0}")]
    Token(&'static str),
    #[error("cannot reach the server: {0}")]
    Unreachable(String),
    #[error("the server answered {0}")]
    Refused(u16),
    #[error(transparent)]
    Program(#[from] longhaul_runtime::Error),
    #[error("it was not sent within {0} seconds")]
    TooLate(u64),
}

/// Where a session is displayed.
#[derive(Debug, Clone)]
pub(crate) enum Display {
    /// In the clients of a tmux server.
    Tmux(Server),
    Terminal(OwnTerminal),
    Nowhere,
}

/// A terminal that is not managed by tmux.
#[derive(Debug, Clone)]
pub(crate) struct OwnTerminal {
    pub(crate) path: String,
    pub(crate) term: String,
    pub(crate) program: String,
}

/// A notification that is sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) event: NotifyEvent,
    pub(crate) subject: Subject,
    pub(crate) message: Message,
    pub(crate) display: Display,
}

impl Outgoing {
    /// Sends it by one way. Returns the program that waits for a click on it, if there is one.
    pub(crate) fn send(&self, way: NotifyWay, config: &Notify, env: &Env) -> Result<Option<ProgramLines>, SendError> {
        match way {
            NotifyWay::Terminal => ways::write_to_terminal(self).map(|()| None),
            NotifyWay::Desktop => ways::show_on_desktop(self),
            NotifyWay::Ntfy => ways::send_ntfy(self, &config.ntfy, env).map(|()| None),
            NotifyWay::Webhook => ways::send_webhook(self, &config.webhook, env).map(|()| None),
            NotifyWay::Command => ways::run_command(self, config, env).map(|()| None),
        }
    }

    /// Returns the row of the log for what came of it by one way.
    pub(crate) fn row(&self, way: NotifyWay, result: &Result<(), SendError>, env: &Env) -> Notification {
        Notification {
            event: self.event.clone(),
            way,
            result: if result.is_ok() { NotifyResult::Sent } else { NotifyResult::Failed },
            why: result.as_ref().err().map(|error| error_chain(error)),
            project: Some(self.subject.project.clone()),
            text: Some(self.message.line()),
            ended: Some(now(env)),
        }
    }

    /// Returns the five values that a program of the user gets.
    pub(crate) fn values(&self) -> [String; 5] {
        let project = longhaul_tracker::without_control_chars(&self.subject.project);
        let Message { title, text } = self.message.clone();
        [self.event.state.as_str().to_owned(), self.event.session.clone(), project, title, text]
    }
}
