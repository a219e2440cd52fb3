//! Shows the sessions in tmux: the counts, and the state of a pane.
//!
//! Several processes show something at the same time. A lock keeps the order: whoever holds it reads the rows and shows them,
//! so what is shown last is what was stored last.

use std::fs::File;
use std::io::ErrorKind;
use std::time::Instant;

use fs2::FileExt;
use longhaul_core::{Env, SessionId, Status};
use longhaul_tracker::{Options, Pane, render};

use super::{Tracker, seconds};
use crate::tmux::Server;
use crate::{Error, Home, files, process, waiting_times};

/// The executable that shows the end of a turn.
const PROGRAM: &str = "longhaul";

/// Starts the process that shows the end of a session's turn in tmux.
pub(crate) fn start_turn_end(env: &Env, home: &Home, session: &SessionId) -> Result<(), Error> {
    let args = ["tmux", "show-turn-end", "--", session.as_str()].map(str::to_owned);
    // The terminal of the session may be another one than that of the process that runs its hooks.
    let terminal = [("TMUX", env.tmux.as_deref()), ("TMUX_PANE", env.tmux_pane.as_deref())];
    process::spawn_sibling_in_terminal(PROGRAM, &args, home.dir(), &terminal)
}

impl Tracker<'_> {
    /// Leaves the display of a turn that ends to another process, which [`start_turn_end`] starts: a hook that waits for
    /// tmux takes twice as long.
    pub(crate) fn leave_turn_end(&mut self) {
        self.leaves_turn_end = true;
    }

    /// Returns whether a turn has ended that is not shown yet.
    pub(crate) fn has_turn_end(&self) -> bool {
        self.has_turn_end.get()
    }

    /// Shows the end of a session's turn.
    pub fn show_turn_end(&self, session: &SessionId) -> Result<(), Error> {
        let pane = self.store.agent(session.as_str())?.and_then(|agent| agent.pane);
        self.display(&self.options(), pane.as_ref().map(|pane| (pane, session.as_str())))
    }

    /// Shows the counts.
    pub fn push(&self) -> Result<(), Error> {
        self.display(&self.options(), None)
    }

    /// Shows the counts, and the state of a session in its pane.
    pub(super) fn display(&self, options: &Options, session: Option<(&Pane, &str)>) -> Result<(), Error> {
        let server = self.server.as_ref().map(Server::for_once);
        let lock = server.as_ref().map_or(Ok(None), |server| self.lock_display(server))?;
        let agents = self.agents()?;
        let text = render(&agents, options, seconds(self.env.now));
        files::replace(&self.home.status(), text.as_bytes())?;
        let Some(server) = &server else { return Ok(()) };
        let status_of = |session: &str| agents.iter().find(|agent| agent.session == session).map(|agent| agent.status);
        let session = session.map(|(pane, session)| (pane, status_of(session)));
        let here = session.filter(|(pane, _)| pane.socket == server.socket);
        let window =
            server.set_status(&text, here.map(|(pane, status)| (pane.id.as_str(), status.map(Status::as_str))))?;
        drop(lock);
        if let Some(((pane, _), window)) = session.zip(window) {
            self.store.set_window(pane, &window)?;
        }
        Ok(())
    }

    /// Takes the lock of a server's display, waiting no longer than for tmux itself. Returns `None` on a file system without
    /// locks: the order of what is shown is worth less than showing it.
    fn lock_display(&self, server: &Server) -> Result<Option<File>, Error> {
        let lock = files::open_append(&self.home.tmux_display_lock(&server.socket))?;
        let (limit, started) = (server.time_limit(), Instant::now());
        loop {
            match lock.try_lock_exclusive() {
                Ok(()) => return Ok(Some(lock)),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Ok(None),
                Err(_) if started.elapsed() >= limit => {
                    let program = "another process that shows something in tmux".to_owned();
                    return Err(Error::TimedOut { program, ms: limit.as_millis() as u64 });
                }
                Err(_) => std::thread::sleep(waiting_times::DISPLAY_LOCK_TRIED),
            }
        }
    }
}
