//! Which parts of the line under the prompt are shown now. Their text is in `handoff/src/bridge.rs`, their list in
//! `core/src/config/lists.rs`.

use longhaul_core::config::StatusPart;

use super::Desk;
use crate::shown_status_line;

impl Desk<'_> {
    /// Returns the configured parts, without those that Longhaul's own status line already shows.
    pub(super) fn parts(&self) -> Vec<StatusPart> {
        let wanted = &self.config.bridge.status.0;
        let is_repeated = |part: &StatusPart| match part {
            StatusPart::Context => true,
            StatusPart::Handoff | StatusPart::Problems => false,
        };
        if wanted.iter().any(is_repeated) && shown_status_line::is_shown(self.env, self.project().path.as_ref()) {
            return wanted.iter().copied().filter(|part| !is_repeated(part)).collect();
        }
        wanted.clone()
    }
}
