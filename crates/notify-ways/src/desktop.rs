//! The way `desktop`: `notify-send` or, on macOS, `osascript`.

use longhaul_inject::TerminalCommand;
use longhaul_notify::Message;
use longhaul_runtime::waiting_times::NOTIFICATION_WAY;
use longhaul_runtime::{ProgramLines, Shell, run_program};

use crate::outgoing::{Outgoing, SendError};

/// The name of the action that goes to the pane. `notify-send` prints it after a click.
pub(crate) const GOTO: &str = "goto";

/// The script of osascript. The texts are arguments, so that nothing of them is run.
const SCRIPT: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

/// The program that shows notifications of the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// `notify-send`, of libnotify.
    NotifySend,
    /// `osascript`, of macOS.
    Osascript,
}

impl Program {
    /// Returns the program that is on the path.
    pub(crate) fn find() -> Option<Self> {
        let shell = Shell::read();
        let is_there = |name: &str| !shell.find(name).is_empty();
        match () {
            () if is_there("notify-send") => Some(Self::NotifySend),
            () if is_there("osascript") => Some(Self::Osascript),
            () => None,
        }
    }
}

/// Shows the notification. Returns the program that waits for a click on it, if it can be clicked.
pub(crate) fn send(outgoing: &Outgoing) -> Result<Option<ProgramLines>, SendError> {
    match Program::find().ok_or(SendError::NoDesktop)? {
        Program::Osascript => {
            run_program(&osascript(&outgoing.message), NOTIFICATION_WAY)?;
            Ok(None)
        }
        Program::NotifySend => {
            let id = run_program(&notify_send(&outgoing.message, &["--print-id"]), NOTIFICATION_WAY)?;
            // Without a pane there is nowhere to go.
            let has_pane = outgoing.display.server.is_some();
            Ok(has_pane.then(|| with_action(&outgoing.message, id.trim())).flatten())
        }
    }
}

/// Adds an action to the notification `id`, by a program that waits for the click; `None` if it cannot be started.
///
/// The notification was shown before without it: `notify-send` prints nothing until the notification is closed, so that it
/// would not be known whether it was shown. Old versions know no actions, and refuse the option.
fn with_action(message: &Message, id: &str) -> Option<ProgramLines> {
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let options = [format!("--replace-id={id}"), "--wait".to_owned(), format!("--action={GOTO}=Go to the session")];
    let step = notify_send(message, &options.each_ref().map(String::as_str));
    is_number.then(|| ProgramLines::start(&step).ok()).flatten()
}

fn notify_send(message: &Message, options: &[&str]) -> TerminalCommand {
    let mut argv = vec!["notify-send", "--app-name=Longhaul"];
    argv.extend(options);
    // The text may begin with a dash.
    argv.push("--");
    let mut argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
    // The body is markup, the title is not.
    argv.extend([message.title.clone(), without_markup(&message.text)]);
    TerminalCommand { argv, stdin: None }
}

fn osascript(message: &Message) -> TerminalCommand {
    let script = SCRIPT.iter().flat_map(|line| ["-e", line]);
    let texts = [message.title.as_str(), message.text.as_str()];
    TerminalCommand {
        argv: ["osascript"].into_iter().chain(script).chain(texts).map(str::to_owned).collect(),
        stdin: None,
    }
}

/// Returns a text in which no character begins markup.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
