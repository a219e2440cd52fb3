//! The questions for permission of sessions and their subagents.

use longhaul_core::Millis;
use longhaul_tracker::Transition;
use rusqlite::OptionalExtension;

use super::{CHANGED, Change, change, seconds};
use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// A question for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The subagent that asks; `None` for the main conversation.
    pub by: Option<&'a str>,
    /// The reason why the session is blocked.
    pub reason: &'a str,
    /// What it asks for, in words.
    pub wants: Option<&'a str>,
}

impl Store {
    /// Records that a session asks for permission, and changes its status if the transition's guard holds.
    ///
    /// The change is from blocked to blocked if the main conversation asks while only a subagent had asked.
    pub fn ask_permission(
        &self,
        session: &str,
        transition: &Transition,
        asked: &Asked<'_>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        // Both in one transaction: the commit is what costs.
        self.transaction("record the question for permission", |store| {
            let joined = match asked.by {
                Some(_) => None,
                None => store.join_subagent(session, asked, at)?,
            };
            store.note_asked(session, asked, at)?;
            Ok(store.change_status(session, transition, Some(asked.reason), at)?.or(joined))
        })
    }

    /// Records that the main conversation asks, too, while the dialog of a subagent is open.
    fn join_subagent(&self, session: &str, asked: &Asked<'_>, at: Millis) -> Result<Option<Change>, StoreError> {
        let sql = format!(
            "UPDATE agents SET previous = status, reason = ?2, asked_by = NULL, wants = ?3, touched_ms = ?4
             WHERE session_id = ?1 AND status = 'blocked' AND asked_by IS NOT NULL
             {CHANGED}"
        );
        self.connection
            .query_row(&sql, (session, asked.reason, asked.wants, Time(at)), change)
            .optional()
            .map_err(cannot("record the question of the main conversation"))
    }

    /// Records what a session asks for, without a change of its status.
    pub fn note_asked(&self, session: &str, asked: &Asked<'_>, at: Millis) -> Result<(), StoreError> {
        let sql = "UPDATE agents SET permission_at = ?2, asked_by = ?3, wants = ?4 WHERE session_id = ?1";
        self.update(sql, (session, seconds(at), asked.by, asked.wants))
    }
}
