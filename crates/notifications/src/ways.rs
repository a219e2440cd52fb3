//! The ways: a command of the user, the desktop, ntfy and webhooks over HTTP, and the terminal of the session.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use longhaul_core::config::{Notify, NotifyWay, Topic, Url};
use longhaul_core::{Env, may_receive_secret};
use longhaul_inject::TerminalCommand;
use longhaul_runtime::waiting_times::{self, NOTIFICATION_WAY};
use longhaul_runtime::{ProgramLines, Shell, bounded_read, is_executable, run_program, run_silently};

use crate::message::{Message, TerminalKind, ntfy_body, terminal_sequence, webhook_body};
use crate::outgoing::{Display, Outgoing, OwnTerminal, SendError};

/// Runs the program. No shell is involved, and its output is not read.
pub(crate) fn run_command(outgoing: &Outgoing, config: &Notify, env: &Env) -> Result<(), SendError> {
    let (program, arguments) = config.command.0.split_first().ok_or(SendError::NotSet("notify.command"))?;
    let path = find(program, env.home_dir.as_deref()).ok_or_else(|| SendError::NoProgram(program.clone()))?;
    let argv = [path].into_iter().chain(arguments.iter().cloned()).chain(outgoing.values()).collect();
    Ok(run_silently(&TerminalCommand { argv, stdin: None }, NOTIFICATION_WAY)?)
}

/// Returns the path of a program that is named by its absolute path, by one below the home, or by its name on the path.
///
/// A relative path is not looked up: this process runs in the folder of the session, whose files may be hostile.
pub(crate) fn find(program: &str, home: Option<&Path>) -> Option<String> {
    let path = match program.strip_prefix("~/") {
        Some(below) => home?.join(below),
        None if program.starts_with('/') => program.into(),
        None if program.contains('/') => return None,
        None => Shell::read().find(program).into_iter().next()?,
    };
    is_executable(&path).then(|| path.to_str().map(str::to_owned)).flatten()
}

/// The name of the action that goes to the pane. `notify-send` prints it after a click.
pub(crate) const GOTO: &str = "goto";

/// The script of osascript. The texts are arguments, so that nothing of them is run.
const SCRIPT: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    NotifySend,
    Osascript,
}

impl Program {
    pub(crate) fn find() -> Option<Self> {
        let shell = Shell::read();
        let is_there = |name: &str| !shell.find(name).is_empty();
        let programs = [("notify-send", Self::NotifySend), ("osascript", Self::Osascript)];
        programs.into_iter().find(|(name, _)| is_there(name)).map(|(_, program)| program)
    }
}

/// Shows the notification. Returns the program that waits for a click on it, if it can be clicked.
pub(crate) fn show_on_desktop(outgoing: &Outgoing) -> Result<Option<ProgramLines>, SendError> {
    match Program::find().ok_or(SendError::NoDesktop)? {
        Program::Osascript => {
            run_program(&osascript(&outgoing.message), NOTIFICATION_WAY)?;
            Ok(None)
        }
        Program::NotifySend => {
            let id = run_program(&notify_send(&outgoing.message, &["--print-id"]), NOTIFICATION_WAY)?;
            // Without a pane there is nowhere to go.
            let has_pane = matches!(outgoing.display, Display::Tmux(_));
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

fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A key of the configuration whose address may need a token, and the file of that token.
pub(crate) type Recipient = (&'static str, &'static str);
pub(crate) const NTFY: Recipient = ("notify.ntfy", "ntfy.token");
pub(crate) const WEBHOOK: Recipient = ("notify.webhook", "webhook.token");

pub(crate) fn send_ntfy(outgoing: &Outgoing, topic: &Topic, env: &Env) -> Result<(), SendError> {
    let (url, name) = topic.get().ok_or(SendError::NotSet(NTFY.0))?;
    let token = token(NTFY, url, env)?;
    post(url, &ntfy_body(name, outgoing.event.state, &outgoing.message).to_string(), token.as_deref())
}

pub(crate) fn send_webhook(outgoing: &Outgoing, address: &Url, env: &Env) -> Result<(), SendError> {
    let url = address.get().ok_or(SendError::NotSet(WEBHOOK.0))?;
    let token = token(WEBHOOK, url, env)?;
    let body = webhook_body(&outgoing.event, &outgoing.subject, &outgoing.message);
    post(url, &body.to_string(), token.as_deref())
}

/// Reads the token that is sent to an address, from its file beside the configuration; `None` if there is no such file.
pub(crate) fn token((key, file): Recipient, url: &str, env: &Env) -> Result<Option<String>, SendError> {
    let Some(path) = env.config_path.as_ref().map(|path| path.with_file_name(file)) else { return Ok(None) };
    let text = match bounded_read::text(&path, bounded_read::SMALL) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(SendError::Token(key)),
    };
    if !may_receive_secret(url) {
        return Err(SendError::Unencrypted(key));
    }
    let token = text.trim();
    // Anything else would be a second header.
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token { Ok(Some(token.to_owned())) } else { Err(SendError::Token(key)) }
}

/// Sends a JSON object. The answer is not read, only its status.
fn post(url: &str, body: &str, token: Option<&str>) -> Result<(), SendError> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(NOTIFICATION_WAY))
        .http_status_as_error(false)
        // The token must not be sent to the target of a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build()
        .into();
    let mut request = agent.post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", &format!("Bearer {token}"));
    }
    // The address may contain a secret, so it is not part of the error.
    let response = request.send(body).map_err(|error| SendError::Unreachable(error.to_string().replace(url, "URL")))?;
    match response.status().as_u16() {
        200..300 => Ok(()),
        status => Err(SendError::Refused(status)),
    }
}

// The way `terminal`: writes an escape sequence to the terminals that show the session's tmux server.
//
// It is written to the terminal of each client, not to the pane: tmux passes a sequence of a pane on only if
// `allow-passthrough` is on, and only while the pane is visible, which it usually is not when a notification is needed.

/// How often a terminal that is busy is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// Shows the notification in every terminal that is attached to the session's tmux server, or in the session's own.
pub(crate) fn write_to_terminal(outgoing: &Outgoing) -> Result<(), SendError> {
    let server = match &outgoing.display {
        Display::Tmux(server) => server,
        Display::Terminal(own) => return show(&outgoing.message, own),
        Display::Nowhere => return Err(SendError::NoTerminal),
    };
    let clients = server.clients()?;
    let mut shown = Err(SendError::NoTerminal);
    for client in clients.iter().filter(|client| !client.tty.is_empty()) {
        let terminal =
            OwnTerminal { path: client.tty.clone(), term: client.term.clone(), program: client.program.clone() };
        // One terminal that shows it is enough.
        shown = show(&outgoing.message, &terminal).or(shown);
        // If the sequence interrupts one that tmux is writing, the rest of that one is shown as text.
        let _ = server.redraw(&client.name);
    }
    shown
}

fn show(message: &Message, terminal: &OwnTerminal) -> Result<(), SendError> {
    let failed = |source| SendError::Terminal { tty: terminal.path.clone(), source };
    let mut file = open(&terminal.path).map_err(failed)?;
    let kind = TerminalKind::of(&terminal.term, &terminal.program);
    write(&mut file, &terminal_sequence(message, kind)).map_err(failed)
}

/// Opens a terminal for writing, without making it the terminal of this process and without waiting.
fn open(path: &str) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path)?;
    let is_terminal = file.metadata()?.file_type().is_char_device() && rustix::termios::isatty(&file);
    if is_terminal { Ok(file) } else { Err(io::Error::other("it is not a terminal")) }
}

fn write(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + waiting_times::TERMINAL_OUTPUT;
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                if Instant::now() >= deadline {
                    return Err(io::Error::other("it accepts no output"));
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends by every way, and calls `ended` with each result as soon as it is there.
///
/// Returns the program that waits for a click on the notification, if there is one.
pub(crate) fn send_by_all(
    outgoing: &Outgoing,
    ways: &[NotifyWay],
    config: &Notify,
    env: &Env,
    mut ended: impl FnMut(NotifyWay, Result<(), SendError>),
) -> Option<ProgramLines> {
    let (sender, results) = mpsc::channel();
    for way in ways.iter().copied() {
        let (sender, outgoing, config, env) = (sender.clone(), outgoing.clone(), config.clone(), env.clone());
        // A thread that hangs in spite of its own limit ends with the process, and then its result is not received.
        thread::spawn(move || drop(sender.send((way, outgoing.send(way, &config, &env)))));
    }
    drop(sender);
    let limit = NOTIFICATION_WAY + waiting_times::ALL_WAYS_LONGER;
    let deadline = Instant::now() + limit;
    let mut open = ways.to_vec();
    let mut click = None;
    while let Ok((way, result)) = results.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        open.retain(|other| *other != way);
        let result = result.map(|waiting| click = waiting.or(click.take()));
        ended(way, result);
    }
    for way in open {
        ended(way, Err(SendError::TooLate(limit.as_secs())));
    }
    click
}
