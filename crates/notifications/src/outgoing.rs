//! A notification that is sent, and the errors of sending.

use longhaul_core::config::{Choice, Notify, NotifyState, NotifyWay};
use longhaul_core::{Env, Millis};
use longhaul_runtime::ProgramLines;
use longhaul_runtime::tmux::Server;

use crate::message::{Message, Subject};
use crate::ways;

/// Why a notification could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// A setting that the way needs is not set.
    #[error("{0} is not set")]
    NotSet(&'static str),
    /// The session runs in no terminal that can be written to.
    #[error("no terminal shows the session")]
    NoTerminal,
    /// A terminal cannot be written to.
    #[error("cannot write to the terminal {tty}")]
    Terminal { tty: String, source: std::io::Error },
    /// There is no program for notifications of the desktop.
    #[error("neither notify-send nor osascript is on the PATH")]
    NoDesktop,
    /// The program of the way `command` does not exist.
    #[error("there is no program {0}")]
    NoProgram(String),
    /// A token would be sent unencrypted.
    #[error("{0} is neither https:// nor on this machine: the token is not sent there")]
    Unencrypted(&'static str),
    /// The file of a token cannot be read, or holds none.
    #[error("cannot read the token file of {0}")]
    Token(&'static str),
    /// The server cannot be reached.
    #[error("cannot reach the server: {0}")]
    Unreachable(String),
    /// The server has refused the notification.
    #[error("the server answered {0}")]
    Refused(u16),
    /// A program has failed, or could not be started.
    #[error(transparent)]
    Program(#[from] longhaul_runtime::Error),
    /// It was not sent in time.
    #[error("it was not sent within {0} seconds")]
    TooLate(u64),
}

impl SendError {
    /// Returns the message and its causes on one line.
    pub fn chain(&self) -> String {
        match (self, std::error::Error::source(self)) {
            (Self::Program(error), _) => error.chain(),
            (_, Some(source)) => format!("{self}: {source}"),
            (_, None) => self.to_string(),
        }
    }
}

/// Where a session is displayed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Display {
    /// The tmux server of its pane.
    pub(crate) server: Option<Server>,
    /// Its own terminal, if it does not run in tmux.
    pub(crate) tty: Option<OwnTerminal>,
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
    pub(crate) session: String,
    pub(crate) state: NotifyState,
    pub(crate) at: Millis,
    pub(crate) project: String,
    pub(crate) branch: Option<String>,
    pub(crate) waits_for: Option<String>,
    /// What happened, in place of the words for the state.
    pub(crate) event: Option<String>,
    pub(crate) turn_ms: Option<u64>,
    pub(crate) message: Message,
    pub(crate) display: Display,
}

impl Outgoing {
    /// Returns what the notification is about.
    pub(crate) fn subject(&self) -> Subject<'_> {
        let mut subject = Subject::new(self.state, &self.project);
        subject.branch = self.branch.as_deref();
        subject.waits_for = self.waits_for.as_deref();
        subject.event = self.event.as_deref();
        subject.turn_ms = self.turn_ms;
        subject
    }

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

    /// Returns the five values that a program of the user gets.
    pub(crate) fn values(&self) -> [String; 5] {
        let project = longhaul_tracker::without_control_chars(&self.project);
        [
            self.state.as_str().to_owned(),
            self.session.clone(),
            project,
            self.message.title.clone(),
            self.message.text.clone(),
        ]
    }
}
