//! The windows of a server: where a session is, and how another one is opened.

use std::os::unix::net::UnixStream;
use std::process::Stdio;

use longhaul_core::Env;
use longhaul_inject::protect_semicolon;
use longhaul_tracker::LivePane;
use longhaul_tracker::reopen::{TmuxSession, Window};

use super::{Server, check_socket, words};
use crate::tied_child::NOT_PASSED_ON;
use crate::{Error, process};

/// The end of the description of a window. Its name, which may contain anything, comes before.
const END: &str = "=-longhaul-window-=";

/// The format of a window, up to its end.
const WINDOW: &str = "#{session_name}\t#{window_index}\t#{pane_index}\t#{automatic-rename}\t#{window_name}";

/// Returns the command that prints the window of a pane, for [`window_of`].
pub(super) fn print_window(pane: &str) -> Vec<String> {
    words(["display-message", "-p", "-t", pane, &format!("{WINDOW}{END}")])
}

/// Returns the window that the output of tmux describes, if it does.
pub(super) fn window_of(printed: &str) -> Option<Window> {
    // The last one, because the name could contain the same text.
    parse_window(printed.rsplit_once(&format!("{END}\n"))?.0)
}

fn parse_window(text: &str) -> Option<Window> {
    let mut fields = text.splitn(5, '\t');
    let mut next = || fields.next();
    let (session, index, pane, names_itself, name) = (next()?, next()?, next()?, next()?, next()?);
    // A name with line ends would break every list.
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let mut window = Window::new(session, index.parse().ok()?, name);
    window.pane = pane.parse().ok()?;
    window.names_itself = names_itself == "1";
    Some(window)
}

/// Returns the window of a pane in tmux's list of panes.
pub(crate) fn window_of_pane(live: &LivePane) -> Option<Window> {
    // The name of a session contains no colon and no dot.
    let (session, position) = live.target.split_once(':')?;
    let (index, pane) = position.split_once('.')?;
    let mut window = Window::new(session, index.parse().ok()?, &live.window_name);
    window.pane = pane.parse().ok()?;
    window.names_itself = live.window_names_itself;
    Some(window)
}

/// Returns the process id of the server that `$TMUX` names.
pub(crate) fn server_pid(env: &Env) -> Option<u32> {
    env.tmux.as_deref()?.rsplit(',').nth(1)?.parse().ok().filter(|pid| *pid > 0)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedWindow {
    pub session: String,
    pub pane: String,
    pub index: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneState {
    Runs,
    /// Its program has ended. The value is the text that it left.
    Ended(String),
    Gone,
}

/// Returns whether the command of a pane names a session by its id: `claude --resume ID`, `codex resume ID`.
fn names(command: &str, id: &str) -> bool {
    let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.map(|word| word.rsplit_once('=').map_or(word, |(_, value)| value)).any(|word| word == id)
}

impl Server {
    /// Returns whether the server accepts connections. Starts no process. The server of another user does not count.
    pub fn answers(&self) -> bool {
        check_socket(&self.socket).is_ok() && UnixStream::connect(&self.socket).is_ok()
    }

    /// Returns the sessions of the server, and their windows; none if the server does not run.
    pub fn tmux_sessions(&self) -> Result<Vec<TmuxSession>, Error> {
        if let Err(error @ Error::UnsafeSocket { .. }) = check_socket(&self.socket) {
            return Err(error);
        }
        let format = "#{session_id} #{window_index} #{session_name}";
        let listing = self.list_if_running("list-windows", format)?;
        let mut sessions: Vec<TmuxSession> = Vec::new();
        for line in listing.lines() {
            let mut fields = line.splitn(3, ' ');
            let (Some(id), Some(index), Some(name)) = (fields.next(), fields.next(), fields.next()) else { continue };
            let Ok(index) = index.parse() else { continue };
            match sessions.iter_mut().find(|session| session.id == id) {
                Some(session) => session.windows.push(index),
                None => sessions.push(TmuxSession { id: id.to_owned(), name: name.to_owned(), windows: vec![index] }),
            }
        }
        Ok(sessions)
    }

    /// Lists objects of all sessions; an empty text if the server does not run. One that ends still answers for a moment.
    fn list_if_running(&self, command: &str, format: &str) -> Result<String, Error> {
        if !self.answers() {
            return Ok(String::new());
        }
        match self.list(words([command, "-a", "-F", format])) {
            Err(error) if error.is_tmux_server_gone() => Ok(String::new()),
            result => result,
        }
    }

    /// Runs a command that opens a window and prints its session, pane and index. Starts the server if it does not run.
    ///
    /// A server that is started gets none of the variables of the session and terminal of this process.
    pub fn open_window(&self, command: &[String]) -> Result<OpenedWindow, Error> {
        check_socket(&self.socket)?;
        let mut tmux = process::command("tmux");
        tmux.args(["-u", "-S", &self.socket]).args(command.iter().map(|word| protect_semicolon(word)));
        for variable in NOT_PASSED_ON {
            tmux.env_remove(variable);
        }
        tmux.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (status, out, err) = process::finish(tmux, "tmux", self.limit)?;
        let failed = |message: String| Error::Program { program: "tmux".to_owned(), message };
        if !status.success() {
            return Err(failed(String::from_utf8_lossy(&err).trim().to_owned()));
        }
        let printed = String::from_utf8_lossy(&out);
        let mut fields = printed.split_whitespace();
        match (fields.next(), fields.next(), fields.next().and_then(|index| index.parse().ok())) {
            (Some(session), Some(pane), Some(index)) => {
                Ok(OpenedWindow { session: session.to_owned(), pane: pane.to_owned(), index })
            }
            _ => Err(failed(format!("it printed {printed:?} instead of the new window"))),
        }
    }

    /// Returns the window with the pane whose command names a session by the id that its client uses, if it still runs. The
    /// client may not have reported the session yet. A pane whose program has ended is closed.
    pub fn window_opened_for(&self, id: &str) -> Result<Option<OpenedWindow>, Error> {
        let format = "#{pane_id} #{pane_dead} #{session_id} #{window_index} #{pane_start_command}";
        let listing = self.list_if_running("list-panes", format)?;
        let mut running = None;
        for line in listing.lines().filter(|line| line.starts_with('%')) {
            let fields: Vec<&str> = line.splitn(5, ' ').collect();
            let &[pane, dead, session, index, command] = &fields[..] else { continue };
            match (names(command, id), dead, index.parse()) {
                (true, "0", Ok(index)) => {
                    running = Some(OpenedWindow { session: session.to_owned(), pane: pane.to_owned(), index });
                }
                (true, "1", _) => self.close_pane(pane)?,
                _ => {}
            }
        }
        Ok(running)
    }

    /// Moves a window to another index of its session.
    pub fn move_window(&self, window: &OpenedWindow, index: u32) -> Result<(), Error> {
        let target = format!("{}:{index}", window.session);
        self.run(&[words(["move-window", "-d", "-s", &window.pane, "-t", &target])]).map(drop)
    }

    /// Sets whether a pane stays after its program has ended, so that its last text can be read.
    pub fn keep_after_end(&self, pane: &str, is_kept: bool) -> Result<(), Error> {
        let command = match is_kept {
            true => words(["set-option", "-p", "-t", pane, "remain-on-exit", "on"]),
            false => words(["set-option", "-p", "-u", "-t", pane, "remain-on-exit"]),
        };
        self.run(&[command]).map(drop)
    }

    pub fn pane_state(&self, pane: &str) -> Result<PaneState, Error> {
        match self.run(&[words(["display-message", "-p", "-t", pane, "#{pane_id} #{pane_dead}"])]) {
            Ok(printed) if printed.trim() == format!("{pane} 1") => {
                // With the history: tmux scrolls the text up to add a line that the pane is dead.
                Ok(PaneState::Ended(self.run(&[words(["capture-pane", "-p", "-J", "-S", "-20", "-t", pane])])?))
            }
            // tmux prints an empty line for a pane that does not exist.
            Ok(printed) if !printed.trim().starts_with(pane) => Ok(PaneState::Gone),
            Ok(_) => Ok(PaneState::Runs),
            Err(Error::Program { .. }) => Ok(PaneState::Gone),
            Err(error) => Err(error),
        }
    }

    pub fn close_pane(&self, pane: &str) -> Result<(), Error> {
        self.run(&[words(["kill-pane", "-t", pane])]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_command_names_a_session_by_a_whole_word() {
        for command in ["claude --resume 4ee8", "/bin/codex resume 4ee8 -m x", "\"x --session=4ee8\"", "x \"4ee8\""] {
            assert!(names(command, "4ee8"), "{command}");
        }
        for command in ["claude --resume 4ee80", "vim 4ee8.jsonl", "sh", ""] {
            assert!(!names(command, "4ee8"), "{command}");
        }
    }
}
