//! Starts the process that reports a change of a session to the user, at a change that a way is configured for. It decides
//! (`notifications/src/decision.rs`) and sends (`notifications`); no hook does.

use longhaul_core::config::{Notify, NotifyState};
use longhaul_core::{Env, Status};
use serde_json::json;

use crate::{Error, home, process};

/// The command that decides and sends.
const COMMAND: &str = "run-notify";

/// What the dialog asks for, at the time of the change. Another dialog may open before the notification is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// The subagent that has opened it; `None` for the main conversation.
    pub(crate) asked_by: Option<&'a str>,
    /// What it asks for, in words.
    pub(crate) wants: Option<&'a str>,
}

/// Something about a limit that is reported while the session goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct News<'a> {
    /// What the session does, such as `is near a limit`.
    pub(crate) title: &'a str,
    /// The details.
    pub(crate) text: &'a str,
}

/// Starts a notification about a limit, if the configuration names a way for it.
pub(crate) fn tell(env: &Env, config: &Notify, session: &str, news: &News<'_>) -> Result<(), Error> {
    let state = NotifyState::Limit;
    if config.ways_of(state).is_empty() {
        return Ok(());
    }
    let args = [session.to_owned(), state.as_str().to_owned(), env.now.0.to_string()];
    let input = json!({ "title": news.title, "wants": news.text });
    process::spawn_own_with(COMMAND, &args, &input.to_string())
}

/// Starts a notification about a session that has changed to `status` now, if the configuration names a way for it.
///
/// `error` is the kind of the error in which its turn has ended. `config` is read now if the caller has not read it.
pub(crate) fn start(
    env: &Env,
    config: Option<&Notify>,
    session: &str,
    status: Status,
    error: Option<&str>,
    question: Option<Question<'_>>,
) -> Result<(), Error> {
    let Some(state) = NotifyState::of(status, error) else { return Ok(()) };
    let is_wanted = match config {
        Some(config) => !config.ways_of(state).is_empty(),
        None => !home::config(env)?.0.notify.ways_of(state).is_empty(),
    };
    if !is_wanted {
        return Ok(());
    }
    let args = [session.to_owned(), state.as_str().to_owned(), env.now.0.to_string()];
    match question {
        None => process::spawn_own(COMMAND, &args).map(drop),
        // As its input, because every user of the machine can read arguments.
        Some(Question { asked_by, wants }) => {
            let input = json!({ "asked_by": asked_by, "wants": wants });
            process::spawn_own_with(COMMAND, &args, &input.to_string())
        }
    }
}
