//! A server that could not be set up: the notice in its status line, the stored reason, and the next attempt.

use longhaul_runtime::Error;
use longhaul_runtime::tmux::{Server, words};

use super::status_right::with_notice;
use super::{INDEX, set};

/// The notice in the status line of a server that could not be set up. It contains no comma, which would end a branch
/// of a format.
pub const NOT_SET_UP: &str = "#[reverse]longhaul is not set up: longhaul doctor#[default] ";

/// The option with the reason why the last setup failed.
const PROBLEM: &str = "@longhaul-problem";

/// The hook that runs setup again when there is a session.
const RETRY_HOOK: &str = "session-created";

/// The command of the hook.
const RETRY: &str = "run-shell -b '#{@longhaul-command} tmux setup'";

/// The value of [`PROBLEM`] until there is a session.
const WAITS: &str = "setup waits for the server's first session";

/// The state of a server's setup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupState {
    /// The command by which the server calls Longhaul; empty if it was never set up.
    pub command: String,
    /// The reason why the last setup failed; empty if it did not fail.
    pub problem: String,
}

/// Returns the state of the server's setup.
pub fn setup_state(server: &Server) -> Result<SetupState, Error> {
    let mut values = server.globals(&["@longhaul-command", PROBLEM])?.into_iter();
    let mut next = || values.next().unwrap_or_default();
    Ok(SetupState { command: next(), problem: next() })
}

/// Shows in the status line that the server could not be set up, and stores the reason for `longhaul doctor`.
pub fn show_setup_problem(server: &Server, reason: &str) -> Result<(), Error> {
    let right = server.globals(&["status-right"])?.pop().unwrap_or_default();
    server.run(&[set(PROBLEM, reason), set("status-right", &with_notice(&right))]).map(drop)
}

/// Makes the server run setup again when it has its first session. `command` is the result of
/// [`command`](super::command).
pub fn set_up_with_first_session(server: &Server, command: &str) -> Result<(), Error> {
    let hook = format!("{RETRY_HOOK}[{INDEX}]");
    let commands = [set("@longhaul-command", command), set(PROBLEM, WAITS), words(["set-hook", "-g", &hook, RETRY])];
    server.run(&commands).map(drop)
}

/// Returns the commands that remove what the functions above have set.
pub(super) fn forget_problem() -> [Vec<String>; 2] {
    [words(["set-hook", "-gu", &format!("{RETRY_HOOK}[{INDEX}]")]), words(["set-option", "-gu", PROBLEM])]
}
