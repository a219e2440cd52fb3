//! Reads the state of a server.

use longhaul_tracker::{LivePane, OPTIONS, Options, Pane};

use super::{Server, words};
use crate::Error;

/// The format of a pane, on one line. The path is last, because it may contain a tab; a newline in it would look like
/// another pane. The name of a session contains neither: tmux writes them as `\t` and `\n`. The name of a window may.
const PANE: &str = "#{pane_id}\t#{pane_pid}\t#{session_name}:#{window_index}.#{pane_index}\t#{automatic-rename}\t\
    #{s/\t/\u{fffd}/:#{s/\n/\u{fffd}/:window_name}}\t#{s/\n/\u{fffd}/:pane_current_path}";

/// The options with the texts that the status line shows.
const SHOWN: [&str; 2] = ["@longhaul-status", "@longhaul-to-reopen"];

/// The options of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The options of the user.
    pub options: Options,
    /// The counts that the status line shows.
    pub status: String,
    /// The offer to reopen sessions that the status line shows.
    pub to_reopen: String,
}

impl Server {
    /// Returns all panes of the server.
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
    pub(super) fn list(&self, command: Vec<String>) -> Result<String, Error> {
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
