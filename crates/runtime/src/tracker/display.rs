//! Shows the sessions in tmux: the counts, and the state of a pane.
//!
//! Several processes show something at the same time. A lock keeps the order: whoever holds it reads the rows and shows them,
//! so what is shown last is what was stored last.

use std::fs::File;
use std::time::Instant;

use fs2::FileExt;
use longhaul_core::{SessionId, Status};
use longhaul_tracker::{Options, Pane, render};

use super::{Tracker, seconds};
use crate::{Error, files, process, waiting_times};

/// The executable that shows the end of a turn.
const PROGRAM: &str = "longhaul";

/// The counts that are shown next.
pub(super) struct NextText {
    text: String,
    /// Held until they are shown; `None` outside tmux.
    order: Option<File>,
}

impl Tracker<'_> {
    /// Leaves the display of a turn that ends to another process, which [`Tracker::show_turn_end_in_background`] starts: a
    /// hook that waits for tmux takes twice as long.
    pub(crate) fn leave_turn_end(&mut self) {
        self.leaves_turn_end = true;
    }

    /// Returns whether a turn has ended, and is not shown yet.
    pub(crate) fn has_turn_end(&self) -> bool {
        self.has_turn_end.get()
    }

    /// Starts the process that shows the end of a turn. If it cannot be started, shows it now.
    pub(crate) fn show_turn_end_in_background(&self, session: &SessionId) -> Result<(), Error> {
        let args = ["tmux", "show-turn-end", session.as_str()].map(str::to_owned);
        process::spawn_sibling(PROGRAM, &args).map(drop).or_else(|_| self.show_turn_end(session))
    }

    /// Shows the end of a session's turn. A session that completes in an active pane has been seen.
    pub fn show_turn_end(&self, session: &SessionId) -> Result<(), Error> {
        let text = self.next_text(&self.options())?;
        // After the lock was taken: the next turn may have begun meanwhile.
        let agent = self.store.agent(session.as_str())?;
        self.display(text, agent.as_ref().and_then(|agent| Some((agent.pane.as_ref()?, Some(agent.status)))))
    }

    /// Shows the counts.
    pub fn push(&self) -> Result<(), Error> {
        self.display(self.next_text(&self.options())?, None)
    }

    /// Returns the counts as tmux shows them. Until they are shown, no other process shows anything.
    pub(super) fn next_text(&self, options: &Options) -> Result<NextText, Error> {
        let order = self.wait_for_turn()?;
        Ok(NextText { text: render(&self.store.agents()?, options, seconds(self.env.now)), order })
    }

    /// Shows the counts, and the state of a pane. A session that completes in an active pane has been seen.
    pub(super) fn display(&self, next: NextText, pane: Option<(&Pane, Option<Status>)>) -> Result<(), Error> {
        let NextText { text, order } = next;
        files::replace(&self.home.status(), text.as_bytes())?;
        let Some(server) = &self.server else { return Ok(()) };
        let here = pane.filter(|(pane, _)| pane.socket == server.socket);
        let state = here.map(|(pane, status)| (pane.id.as_str(), status.map(Status::as_str)));
        let shown = server.set_status(&text, state)?;
        drop(order);
        let Some((pane, status)) = pane else { return Ok(()) };
        if let Some(window) = shown.window {
            self.store.set_window(pane, &window)?;
        }
        let is_seen = status == Some(Status::Completed) && shown.active.contains(pane);
        if is_seen { self.seen(pane).map(drop) } else { Ok(()) }
    }

    /// Takes the lock of the server, waiting no longer than for tmux itself. Returns `None` outside tmux.
    fn wait_for_turn(&self) -> Result<Option<File>, Error> {
        let Some(server) = &self.server else { return Ok(None) };
        let lock = files::open_append(&self.home.tmux_order(&server.socket))?;
        let (limit, started) = (server.time_limit(), Instant::now());
        while lock.try_lock_exclusive().is_err() {
            if started.elapsed() >= limit {
                return Err(Error::TimedOut { program: "tmux".to_owned(), ms: limit.as_millis() as u64 });
            }
            std::thread::sleep(waiting_times::TMUX_SHOWS_OTHER);
        }
        Ok(Some(lock))
    }
}
