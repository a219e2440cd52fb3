//! The clients that are attached to a server: their terminals, and what each of them shows.

use super::{Server, words};
use crate::Error;

/// The format of a client, on one line. The type is last: it is what the terminal reports.
const CLIENT: &str = "#{client_tty}\t#{pane_id}\t#{&&:#{focus-events},#{client_flags}}\t#{m:*focused*,#{client_flags}}\t#{client_activity}\t\
    #{client_name}\t#{client_termname}\t#{client_termtype}";

/// A client that is attached to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its terminal, such as `/dev/pts/3`; empty for a client without one.
    pub tty: String,
    /// The pane that is active in it.
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

#[cfg(test)]
mod tests {
    use super::client;

    #[test]
    fn a_client_without_focus_reports_is_not_focused_or_unfocused() {
        let line = "/dev/pts/3\t%1\t0\t1\t1794707999\t/dev/pts/3\txterm-256color\t";
        let read = client(line).unwrap();
        assert_eq!((read.tty.as_str(), read.pane.as_str(), read.focused), ("/dev/pts/3", "%1", None));
        assert_eq!((read.active_at, read.term.as_str(), read.program.as_str()), (1_794_707_999, "xterm-256color", ""));
        let focused = |line: &str| client(line).unwrap().focused;
        assert_eq!(focused("t\t%1\t1\t1\t5\tn\tfoot\tfoot(1.2)"), Some(true));
        assert_eq!(focused("t\t%1\t1\t0\t5\tn\tfoot\tfoot(1.2)"), Some(false));
        assert_eq!(client("t\t%1"), None);
    }
}
