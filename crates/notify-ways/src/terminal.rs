//! The way `terminal`: writes an escape sequence to the terminals that show the session's tmux server.
//!
//! It is written to the terminal of each client, not to the pane: tmux passes a sequence of a pane on only if
//! `allow-passthrough` is on, and only while the pane is visible, which it usually is not when a notification is needed.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use longhaul_core::config::Notify;
use longhaul_notify::{Message, TerminalKind, terminal_sequence};
use longhaul_runtime::waiting_times;

use crate::outgoing::{Outgoing, OwnTerminal, SendError};

/// How often a terminal that is busy is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// Shows the notification in every terminal that is attached to the session's tmux server, or in the session's own.
pub(crate) fn send(outgoing: &Outgoing, config: &Notify) -> Result<(), SendError> {
    let display = &outgoing.display;
    let Some(server) = &display.server else {
        let own = display.tty.as_ref().ok_or(SendError::NoTerminal)?;
        return show(&outgoing.message, own, config.bell);
    };
    let clients = server.clients()?;
    let mut shown = Err(SendError::NoTerminal);
    for client in clients.iter().filter(|client| !client.tty.is_empty()) {
        let terminal =
            OwnTerminal { path: client.tty.clone(), term: client.term.clone(), program: client.program.clone() };
        // One terminal that shows it is enough.
        shown = show(&outgoing.message, &terminal, config.bell).or(shown);
        // If the sequence interrupts one that tmux is writing, the rest of that one is shown as text.
        let _ = server.redraw(&client.name);
    }
    shown
}

fn show(message: &Message, terminal: &OwnTerminal, bell: bool) -> Result<(), SendError> {
    let failed = |source| SendError::Terminal { tty: terminal.path.clone(), source };
    let mut file = open(&terminal.path).map_err(failed)?;
    let kind = TerminalKind::of(&terminal.term, &terminal.program);
    write(&mut file, &terminal_sequence(message, kind, bell)).map_err(failed)
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
