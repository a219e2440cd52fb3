//! Notifies the user, once per session, that nothing can be stored.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use longhaul_core::event::{EventName, HookEvent};

use crate::storage::StorageTrouble;
use crate::{Error, Hook};

impl<E: HookEvent<'static>> Hook<E> {
    /// Notifies the user if the data folder is the cause of an error.
    ///
    /// The notice is recorded by an empty file, for which there is often space on a full disk. If the file cannot be
    /// created, as on a read-only disk, only the start of a session shows the notice, because every other hook would
    /// repeat it.
    pub(crate) fn report_storage(&mut self, error: &Error) {
        let can_show = matches!(E::NAME, EventName::SessionStart | EventName::UserPromptSubmit);
        let Some(trouble) =
            StorageTrouble::behind(error, &self.home).filter(|_| can_show && !self.has_reported_storage)
        else {
            return;
        };
        self.has_reported_storage = true;
        let mark = self.home.session_file(&self.event.common().session, "unstored");
        let is_first = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(mark) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(_) => E::NAME == EventName::SessionStart,
        };
        if is_first {
            let (what, advice) = (trouble.describe(self.home.dir()), trouble.advice());
            self.notify(&format!("longhaul: this session is not recorded: {what}; {advice}"));
        }
    }
}
