//! Which parts the line under the prompt has.

use longhaul_core::config::Part;

use super::Desk;
use crate::shown_status_line;

impl Desk<'_> {
    /// Returns the parts that are wanted, without those that our own status line shows already.
    pub(super) fn parts(&self) -> Vec<Part> {
        let wanted = &self.config.bridge.status.0;
        let is_repeated = |part: &Part| match part {
            Part::Context | Part::Bookmarks => true,
            Part::Memory | Part::Handoff => false,
        };
        if wanted.iter().any(is_repeated) && shown_status_line::is_shown(self.env, self.project().path.as_ref()) {
            return wanted.iter().copied().filter(|part| !is_repeated(part)).collect();
        }
        wanted.clone()
    }
}
