//! What happens after a job has failed: whether it runs again, and from where.

use longhaul_core::Reply;
use longhaul_core::event::{EventName, HookEvent};
use longhaul_store::{ChainId, StoreError};

use super::Hook;
use crate::Error;
use crate::memory::upkeep;

/// The values that are restored before a job runs again: reply, errand, inherited session and handoff.
pub(super) type Progress = (Reply, Option<ChainId>, Option<String>, Option<String>);

/// Whether a failed job runs again.
pub(super) enum Retry {
    /// It runs again, after this message to the user.
    Yes(Option<String>),
    /// It would fail again.
    No,
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns the values that a job changes here and that a second run would change again.
    pub(super) fn progress(&self) -> Progress {
        let Self { reply, errand, inherited, handed_over, .. } = self;
        (reply.clone(), *errand, inherited.clone(), handed_over.clone())
    }

    pub(super) fn go_back_to(&mut self, before: Progress) {
        (self.reply, self.errand, self.inherited, self.handed_over) = before;
    }

    /// Logs an error. Returns whether the job should run again because a damaged database was repaired or replaced.
    pub(super) fn judge(&mut self, error: Error) -> Retry {
        let error = match error {
            Error::Store(error) if error.is_index_damage() => return self.leave_index_to_upkeep(error),
            Error::Store(error) => {
                // A damaged file is renamed, and then no connection to it may be open.
                self.store.close();
                self.home.judge(error)
            }
            error => error,
        };
        if !matches!(error, Error::Busy) {
            self.write_error(&error);
        }
        self.is_locked_out |= error.is_busy();
        self.report_storage(&error);
        if let Error::Store(StoreError::TooNew { .. }) = error
            && E::NAME == EventName::SessionStart
            && self.reply.system_message.as_ref().is_none_or(|message| !message.contains("newer version"))
        {
            self.notify(&format!("longhaul: {error}"));
        }
        match error {
            Error::Damaged { .. } => Retry::Yes(Some(format!("longhaul: {error}"))),
            // It was repaired in place, or another process has just replaced it.
            error if error.is_damage() => Retry::Yes(None),
            _ => Retry::No,
        }
    }

    /// Marks a damaged search index, so that the job can run again without it. Upkeep builds it again, because that may
    /// take minutes.
    fn leave_index_to_upkeep(&self, error: StoreError) -> Retry {
        let (session, error) = (&self.event.common().session, Error::from(error).chain());
        self.log.write(&format!("session {session}: the search index is damaged, upkeep builds it again: {error}"));
        let marked = self.store().and_then(|store| Ok(store.mark_index_damaged()?));
        match marked.and_then(|is_new| if is_new { upkeep::start() } else { Ok(()) }) {
            Ok(()) => Retry::Yes(None),
            Err(error) => {
                self.write_error(&error);
                Retry::No
            }
        }
    }
}
