//! A tmux server: its state, and the commands that are sent to it. Its setup is in `setup/src/tmux.rs`, its menu in
//! `bins/src/cli/tmux.rs`.
//!
//! Every method starts tmux once, unless it says otherwise, because starting tmux costs more than its commands.

mod window;

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use longhaul_core::Env;
use longhaul_inject::{TerminalCommand, protect_semicolon, tmux_socket};
use longhaul_tracker::reopen::Window;
use longhaul_tracker::{LivePane, OPTIONS, Options, Pane, escape};

use self::window::{print_window, window_of};
use crate::clock_and_env::patient;
use crate::process::{self, Started};
use crate::{Deadline, Error};

pub use self::window::{OpenedWindow, PaneState};

pub(crate) use self::window::{server_pid, window_of_pane};

/// How long to wait for a tmux server, in a hook: a server that hangs must not hold up the hook.
pub(crate) const PATIENCE_IN_HOOK: Duration = Duration::from_millis(800);

/// How long to wait for a tmux server, where no hook waits. A loaded machine needs more than [`PATIENCE_IN_HOOK`] now and then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The option with the command by which a server calls Longhaul.
pub const COMMAND: &str = "@longhaul-command";

/// Separates two values in the output of tmux. A control character is not possible: newer versions print it as `\037`.
const SEPARATOR: &str = "=-longhaul-=";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub socket: String,
    /// The time by which the calling process must be done.
    pub(crate) deadline: Option<Deadline>,
    /// Time limit for one call of tmux.
    pub(crate) limit: Duration,
}

impl Server {
    /// Returns the server that `$TMUX` names; `None` outside tmux.
    pub fn of(env: &Env) -> Option<Self> {
        let socket = tmux_socket(env.tmux.as_deref()?)?;
        Some(Self { socket: socket.to_owned(), deadline: None, limit: patient(PATIENCE_IN_HOOK) })
    }

    /// Returns the server with a socket, for a process that no hook waits for.
    pub fn at(socket: &str) -> Self {
        Self { socket: socket.to_owned(), deadline: None, limit: PATIENCE }
    }

    /// Returns the same server with a longer time limit per call, for commands that no hook waits for.
    pub fn patient(self) -> Self {
        Self { limit: PATIENCE, ..self }
    }

    /// Returns the same server with another time limit per call.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the same server, whose calls together take no longer than one may.
    pub(crate) fn for_once(&self) -> Self {
        Self { deadline: Some(Deadline::after(self.time_limit())), ..self.clone() }
    }

    /// Runs commands in order up to the first that fails, and returns their output. Each is a list of words.
    pub fn run(&self, commands: &[Vec<String>]) -> Result<String, Error> {
        self.start(commands)?.output()
    }

    /// Starts to run commands, as [`Server::run`] does.
    fn start(&self, commands: &[Vec<String>]) -> Result<Started, Error> {
        process::start(&self.step(commands), self.time_limit())
    }

    /// Returns how long the next call of tmux may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.deadline.map_or(self.limit, |deadline| self.limit.min(deadline.left()))
    }

    fn step(&self, commands: &[Vec<String>]) -> TerminalCommand {
        // -u: without it, tmux replaces all characters that are not ASCII if the locale of the hook is not UTF-8.
        let mut argv: Vec<String> = ["tmux", "-u", "-S", &self.socket].map(str::to_owned).to_vec();
        for (at, command) in commands.iter().enumerate() {
            argv.extend((at > 0).then(|| ";".to_owned()));
            argv.extend(command.iter().map(|argument| protect_semicolon(argument)));
        }
        TerminalCommand { argv, stdin: None }
    }

    /// Returns the global values of options; an option that is not set is empty.
    pub fn globals(&self, names: &[&str]) -> Result<Vec<String>, Error> {
        let mut commands = Vec::with_capacity(2 * names.len());
        for name in names {
            commands.push(words(["show-options", "-gqv", name]));
            commands.push(words(["display-message", "-p", SEPARATOR]));
        }
        let printed = self.run(&commands)?;
        let end = format!("{SEPARATOR}\n");
        let values = printed.split(end.as_str()).map(|value| value.strip_suffix('\n').unwrap_or(value).to_owned());
        Ok(values.take(names.len()).collect())
    }
}

/// Returns the words of a command, for [`Server::run`].
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

// Commands for a server: show the status and the offer to reopen sessions, go to a pane, show a message.

impl Server {
    /// Shows the status in all clients, and stores the state of a session as an option of its pane, whose window is returned.
    ///
    /// It is not an error if no client is attached, or if the pane no longer exists.
    pub(crate) fn set_status(
        &self,
        text: &str,
        pane_state: Option<(&str, Option<&str>)>,
    ) -> Result<Option<Window>, Error> {
        let mut commands = vec![words(["set-option", "-g", "@longhaul-status", text])];
        if let Some((pane, state)) = pane_state {
            commands.push(match state {
                Some(state) => words(["set-option", "-p", "-t", pane, "@longhaul-state", state]),
                None => words(["set-option", "-p", "-u", "-t", pane, "@longhaul-state"]),
            });
            commands.extend(state.map(|_| print_window(pane)));
        }
        // In the tested versions, setting an option redraws all clients. That is not documented; the effect of this
        // command is.
        commands.push(words(["refresh-client", "-S"]));
        let (printed, problem) = self.start(&commands)?.output_and_problem()?;
        if let Some(message) = problem.filter(|message| !has_no_target(message)) {
            return Err(Error::Program { program: "tmux".to_owned(), message });
        }
        Ok(window_of(&printed))
    }

    /// Shows the offer to reopen sessions; an empty text removes it.
    pub(crate) fn show_offer(&self, text: &str) -> Result<(), Error> {
        self.run(&[words(["set-option", "-g", "@longhaul-to-reopen", text])]).map(drop)
    }

    /// Runs a text of commands as the server would read it from a file.
    pub fn run_text(&self, text: &str) -> Result<(), Error> {
        let command = TerminalCommand { stdin: Some(text.to_owned()), ..self.step(&[words(["source-file", "-"])]) };
        process::run(&command, self.limit).map(drop)
    }

    /// Switches `client`, or the current one, to a pane.
    pub fn goto(&self, pane: &str, client: Option<&str>) -> Result<(), Error> {
        let mut switch = words(["switch-client", "-Z", "-t", pane]);
        if let Some(client) = client {
            switch.extend(words(["-c", client]));
        }
        // -Z: keeps a zoomed pane zoomed.
        let commands = [words(["select-window", "-t", pane]), words(["select-pane", "-Z", "-t", pane]), switch];
        self.run(&commands).map(drop)
    }

    /// Shows a line of text instead of the status line for a short time.
    pub fn message(&self, text: &str, client: Option<&str>) -> Result<(), Error> {
        let mut command = words(["display-message"]);
        if let Some(client) = client {
            command.extend(words(["-c", client]));
        }
        // tmux also expands the text as a time format.
        command.push(escape(text).replace('%', "%%"));
        self.run(&[command]).map(drop)
    }
}

/// Returns whether the error only means that there is no client, or that the pane no longer exists.
pub(crate) fn has_no_target(message: &str) -> bool {
    ["no current client", "no current target", "no such pane", "can't find pane"]
        .iter()
        .any(|start| message.starts_with(start))
}

// The clients that are attached to a server: their terminals, and what each of them shows.

/// The format of a client, on one line. The type is last: it is what the terminal reports.
const CLIENT: &str = "#{client_tty}\t#{pane_id}\t#{&&:#{focus-events},#{client_flags}}\t#{m:*focused*,#{client_flags}}\t#{client_activity}\t\
    #{client_name}\t#{client_termname}\t#{client_termtype}";

/// A client that is attached to a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// Its terminal, such as `/dev/pts/3`; empty for a client without one.
    pub tty: String,
    pub pane: String,
    /// Whether its terminal has the focus; `None` if tmux does not ask terminals for it.
    pub focused: Option<bool>,
    /// The time of the last key, in seconds since the epoch.
    pub active_at: u64,
    /// Its name, by which tmux finds it.
    pub name: String,
    /// The `TERM` of its terminal.
    pub term: String,
    /// The name that its terminal reports; empty if it reports none.
    pub program: String,
}

impl Server {
    /// Returns every attached client, the one with the newest key first.
    pub fn clients(&self) -> Result<Vec<Client>, Error> {
        let listing = self.list(words(["list-clients", "-F", CLIENT]))?;
        let mut clients: Vec<Client> = listing.lines().filter_map(client).collect();
        clients.sort_by_key(|client| std::cmp::Reverse(client.active_at));
        Ok(clients)
    }

    /// Draws the screen of a client again.
    pub fn redraw(&self, client: &str) -> Result<(), Error> {
        self.run(&[words(["refresh-client", "-t", client])]).map(drop)
    }
}

fn client(line: &str) -> Option<Client> {
    let mut fields = line.splitn(8, '\t');
    let mut next = || fields.next().map(str::to_owned);
    let (tty, pane) = (next()?, next()?);
    let reports_focus = next()? != "0";
    let is_focused = next()? == "1";
    Some(Client {
        tty,
        pane,
        focused: reports_focus.then_some(is_focused),
        active_at: next()?.parse().ok()?,
        name: next()?,
        term: next()?,
        program: next()?,
    })
}

// Reads the state of a server.

/// The format of a pane, on one line. The path is last, because it may contain a tab; a newline in it would look like
/// another pane. The name of a session contains neither: tmux writes them as `\t` and `\n`. The name of a window may.
const PANE: &str = "#{pane_id}\t#{pane_pid}\t#{session_name}:#{window_index}.#{pane_index}\t#{automatic-rename}\t\
    #{s/\t/\u{fffd}/:#{s/\n/\u{fffd}/:window_name}}\t#{s/\n/\u{fffd}/:pane_current_path}";

/// The options with the texts that the status line shows.
const SHOWN: [&str; 2] = ["@longhaul-status", "@longhaul-to-reopen"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    pub options: Options,
    /// The counts that the status line shows.
    pub status: String,
    /// The offer to reopen sessions that the status line shows.
    pub to_reopen: String,
}

impl Server {
    pub fn panes(&self) -> Result<Vec<LivePane>, Error> {
        let listing = self.list(words(["list-panes", "-a", "-F", PANE]))?;
        Ok(listing.lines().filter_map(|line| self.pane_of(line)).collect())
    }

    fn pane_of(&self, line: &str) -> Option<LivePane> {
        let mut fields = line.splitn(6, '\t');
        let mut next = || fields.next();
        let (id, pid, target, names_itself, name, cwd) = (next()?, next()?, next()?, next()?, next()?, next()?);
        let pane = Pane { socket: self.socket.clone(), id: id.to_owned() };
        let mut pane = LivePane::new(pane, pid.parse().ok()?);
        pane.target = target.to_owned();
        pane.cwd = cwd.to_owned();
        pane.window_name = name.to_owned();
        pane.window_names_itself = names_itself == "1";
        Some(pane)
    }

    /// Returns whether the server has no session yet, as while it reads tmux.conf.
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.list(words(["list-sessions", "-F", "#{session_id}"]))?.trim().is_empty())
    }

    /// Runs a command that lists objects of all sessions. Returns an empty text for a server without sessions.
    ///
    /// tmux runs tmux.conf before it creates the first session, and these commands then fail because there is no
    /// target.
    fn list(&self, command: Vec<String>) -> Result<String, Error> {
        match self.run(&[command]) {
            Err(Error::Program { message, .. }) if message.starts_with("no current target") => Ok(String::new()),
            result => result,
        }
    }

    /// Reads the options of the user, with those of the older plugin as a fallback, and what the server shows now, which
    /// is empty if nothing was set yet.
    pub fn read(&self) -> Result<ServerOptions, Error> {
        let ours = OPTIONS.iter().map(|option| format!("@longhaul-{}", option.name));
        let older = OPTIONS.iter().map(|option| format!("@claude-tracker-{}", option.older));
        let names: Vec<String> = ours.chain(older).chain(SHOWN.map(str::to_owned)).collect();
        let mut values = self.globals(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let to_reopen = values.pop().unwrap_or_default();
        let status = values.pop().unwrap_or_default();
        let set = |at: usize| values.get(at).filter(|value| !value.is_empty()).cloned();
        let options = Options::from_values(|at| set(at).or_else(|| set(at + OPTIONS.len())));
        Ok(ServerOptions { options, status, to_reopen })
    }

    /// Returns the global user options whose names begin with `prefix`, by the rest of their names.
    pub fn options_like(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        let listing = self.run(&[words(["show-options", "-g"])])?;
        let names = listing.lines().filter_map(|line| line.split_whitespace().next());
        let names: Vec<&str> = names.filter(|name| name.starts_with(prefix)).collect();
        // Read one by one, the values are not quoted.
        let values = self.globals(&names)?;
        Ok(names.iter().map(|name| name[prefix.len()..].to_owned()).zip(values).collect())
    }

    /// Returns columns and rows of a client, or of the current one; `None` if there is none.
    pub fn client_size(&self, client: Option<&str>) -> Result<Option<(usize, usize)>, Error> {
        let mut command = words(["display-message", "-p"]);
        if let Some(client) = client {
            command.extend(words(["-c", client]));
        }
        command.push("#{client_width} #{client_height}".to_owned());
        let size = self.run(&[command])?;
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        Ok(size.trim().split_once(' ').and_then(|(width, height)| Some((number(width)?, number(height)?))))
    }
}

// Whether a socket belongs to this user. tmux sends its whole environment to the process that listens there.

/// The sticky bit: only its owner can rename or remove a file in the folder.
const STICKY: u32 = 0o1000;

/// The permission of others to write.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Checks that no other user can listen on a socket.
///
/// tmux checks the folder of the sockets that it names itself, but no socket that is named with `-S`. After a restart of the
/// machine, another user could create that folder in `/tmp` first.
pub(crate) fn check_socket(socket: &str) -> Result<(), Error> {
    let path = Path::new(socket);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unsafe_socket = |problem| Error::UnsafeSocket { path: path.to_owned(), problem };
    let not_running =
        || Error::Program { program: "tmux".to_owned(), message: format!("no server running on {socket}") };
    let read = |result: std::io::Result<Metadata>| match result {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    };
    // Whoever creates a missing folder next may be another user.
    let Some(entry) = read(fs::symlink_metadata(folder))? else { return Err(not_running()) };
    // The folder may be a link, such as /tmp on macOS. Then both count.
    let Some(real) = read(fs::metadata(folder))? else { return Err(not_running()) };
    let me = rustix::process::getuid().as_raw();
    if let Some(problem) = [&entry, &real].into_iter().find_map(|folder| folder_problem(folder.uid(), me)) {
        return Err(unsafe_socket(problem));
    }
    if let Some(problem) = mode_problem(real.mode()) {
        return Err(unsafe_socket(problem));
    }
    match read(fs::symlink_metadata(path))? {
        Some(socket) if !is_trusted(socket.uid(), me) => Err(unsafe_socket("it belongs to another user")),
        Some(_) => Ok(()),
        // In a folder of this user, only this user can create it before tmux does.
        None if real.mode() & WRITABLE_BY_OTHERS == 0 => Ok(()),
        None => Err(not_running()),
    }
}

fn is_trusted(owner: u32, me: u32) -> bool {
    owner == me || owner == 0
}

fn folder_problem(owner: u32, me: u32) -> Option<&'static str> {
    (!is_trusted(owner, me)).then_some("its folder belongs to another user")
}

fn mode_problem(mode: u32) -> Option<&'static str> {
    let is_open = mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0;
    is_open.then_some("every user can replace it, because its folder is writable for others")
}

#[cfg(test)]
mod tests;
