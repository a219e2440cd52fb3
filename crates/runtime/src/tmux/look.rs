//! What a server has and shows.

use longhaul_tracker::{LivePane, OPTIONS, Options, Pane};

use super::{Server, words};
use crate::Error;

/// One line per pane. The path comes last, as it may hold a tab; a line break in it would look like the next pane.
/// A session's name holds neither: tmux writes them as `\t` and `\n`.
const PANE: &str =
    "#{pane_id}\t#{pane_pid}\t#{session_name}:#{window_index}.#{pane_index}\t#{s/\n/\u{fffd}/:pane_current_path}";

/// The active pane of a client. Where the terminal reports its focus, a client without it is not looked at.
const ACTIVE: &str =
    "#{?#{&&:#{focus-events},#{client_flags}},#{?#{m:*focused*,#{client_flags}},#{pane_id},},#{pane_id}}";

/// Returns the command that lists the panes that somebody looks at.
pub(super) fn list_active() -> Vec<String> {
    words(["list-clients", "-F", ACTIVE])
}

/// Returns the panes in what [`list_active`] printed.
pub(super) fn pane_ids(listing: &str) -> Vec<String> {
    listing.lines().filter(|id| id.starts_with('%')).map(str::to_owned).collect()
}

impl Server {
    /// Returns every pane of the server.
    pub fn panes(&self) -> Result<Vec<LivePane>, Error> {
        let listing = self.list(words(["list-panes", "-a", "-F", PANE]))?;
        Ok(listing.lines().filter_map(|line| self.pane_of(line)).collect())
    }

    fn pane_of(&self, line: &str) -> Option<LivePane> {
        let mut fields = line.splitn(4, '\t');
        let (id, pid, target, cwd) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some(LivePane {
            pane: Pane { socket: self.socket.clone(), id: id.to_owned() },
            pid: pid.parse().ok()?,
            target: target.to_owned(),
            cwd: cwd.to_owned(),
        })
    }

    /// Returns the panes that somebody looks at: for every attached client the one that is active there.
    pub fn active_panes(&self) -> Result<Vec<String>, Error> {
        Ok(pane_ids(&self.list(list_active())?))
    }

    /// Returns whether the server has no session yet, as while it reads its tmux.conf.
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.list(words(["list-sessions", "-F", "#{session_id}"]))?.trim().is_empty())
    }

    /// Runs a command that lists things of all sessions; returns nothing for a server without sessions.
    ///
    /// tmux runs tmux.conf before it makes the first session, and these commands then fail for want of a target.
    fn list(&self, command: Vec<String>) -> Result<String, Error> {
        match self.run(&[command]) {
            Err(Error::Program { message, .. }) if message.starts_with("no current target") => Ok(String::new()),
            result => result,
        }
    }

    /// Reads the options that users set, with the older plugin's where ours are not set; and the status that the server
    /// shows now, empty where it shows none yet.
    pub fn read(&self) -> Result<(Options, String), Error> {
        let ours = OPTIONS.iter().map(|option| format!("@longhaul-{}", option.name));
        let older = OPTIONS.iter().map(|option| format!("@claude-tracker-{}", option.older));
        let names: Vec<String> = ours.chain(older).chain(["@longhaul-status".to_owned()]).collect();
        let mut values = self.globals(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let status = values.pop().unwrap_or_default();
        let set = |at: usize| values.get(at).filter(|value| !value.is_empty()).cloned();
        Ok((Options::from_values(|at| set(at).or_else(|| set(at + OPTIONS.len()))), status))
    }

    /// Returns the global options of users whose names begin with `prefix`, by what follows it.
    pub fn options_like(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        let listing = self.run(&[words(["show-options", "-g"])])?;
        let names = listing.lines().filter_map(|line| line.split_whitespace().next());
        let names: Vec<&str> = names.filter(|name| name.starts_with(prefix)).collect();
        // Asked for one by one, values come without quotes.
        let values = self.globals(&names)?;
        Ok(names.iter().map(|name| name[prefix.len()..].to_owned()).zip(values).collect())
    }

    /// Returns columns and rows of a client, by its name, or of the one that is used here; `None` where there is none.
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
