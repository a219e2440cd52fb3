//! The log of notifications, which also guarantees that each is sent at most once.
//!
//! A row begins as `waiting`. The process that changes it to `sending` sends it, and no other does, also not after that
//! process was killed.

use std::path::Path;
use std::time::Duration;

use longhaul_core::Millis;
use longhaul_core::config::{NotifyState, NotifyWay};
use rusqlite::{Row, named_params};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, health, limit};

/// A change of a session that may be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyEvent {
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    pub state: NotifyState,
    pub at: Millis,
}

longhaul_core::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum NotifyResult {
        Waiting = "waiting",
        /// It is being sent. If that does not end, the process was killed, and it may or may not have been sent.
        Sending = "sending",
        Sent = "sent",
        /// It was not sent, for a reason.
        Suppressed = "suppressed",
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub event: NotifyEvent,
    pub way: NotifyWay,
    pub result: NotifyResult,
    /// Why it was suppressed, or has failed.
    pub why: Option<String>,
    pub project: Option<String>,
    pub text: Option<String>,
    /// When the result was known.
    pub ended: Option<Millis>,
}

impl Store {
    /// Adds a waiting row for each way, unless it exists, and deletes rows that are older than `oldest`.
    pub fn begin_notifications(
        &self,
        event: &NotifyEvent,
        ways: &[NotifyWay],
        oldest: Millis,
    ) -> Result<(), StoreError> {
        self.write("record the notification", |connection| {
            connection.run("DELETE FROM notifications WHERE at_ms < ?1", [Time(oldest)])?;
            let sql = "INSERT INTO notifications (session_id, at_ms, state, way, result)
                       VALUES (?1, ?2, ?3, ?4, 'waiting') ON CONFLICT DO NOTHING";
            let mut statement = connection.prepare(sql)?;
            for way in ways {
                statement.execute((&event.session, Time(event.at), event.state.as_str(), way.as_str()))?;
            }
            Ok(())
        })
    }

    /// Returns whether the caller is to send the notification: `true` once, for the first process that asks.
    pub fn claim_notification(&self, event: &NotifyEvent, way: NotifyWay) -> Result<bool, StoreError> {
        let sql = "UPDATE notifications SET result = 'sending'
                   WHERE session_id = ?1 AND at_ms = ?2 AND state = ?3 AND way = ?4 AND result = 'waiting'";
        let key = (&event.session, Time(event.at), event.state.as_str(), way.as_str());
        self.connection.run(sql, key).map(|rows| rows == 1).map_err(cannot("claim the notification"))
    }

    /// Stores the result of a notification. One that has a result already keeps it.
    pub fn end_notification(&self, ended: &Notification) -> Result<(), StoreError> {
        let sql = "UPDATE notifications
                   SET result = :result, why = :why, project = :project, text = :text, ended_ms = :ended
                   WHERE session_id = :session AND at_ms = :at AND state = :state AND way = :way
                     AND result IN ('waiting', 'sending')";
        let event = &ended.event;
        let stored = self.connection.run(
            sql,
            named_params! {
                ":result": ended.result.as_str(),
                ":why": ended.why,
                ":project": ended.project,
                ":text": ended.text,
                ":ended": ended.ended.map(Time),
                ":session": event.session,
                ":at": Time(event.at),
                ":state": event.state.as_str(),
                ":way": ended.way.as_str(),
            },
        );
        stored.map(drop).map_err(cannot("record the result of the notification"))
    }

    /// Returns the newest notifications, the newest last.
    pub fn notifications(&self, most: usize) -> Result<Vec<Notification>, StoreError> {
        let sql = format!(
            "SELECT session_id, at_ms, state, way, result, why, project, text, ended_ms FROM notifications
             ORDER BY at_ms DESC, session_id DESC, way DESC {}",
            limit(most)
        );
        crate::newest_last(&self.connection, &sql, (), read).map_err(cannot("list the notifications"))
    }

    /// Deletes the notifications before `oldest`; returns how many there were.
    pub fn prune_notifications(&self, oldest: Millis) -> Result<usize, StoreError> {
        let sql = "DELETE FROM notifications WHERE at_ms < ?1";
        self.connection.run(sql, [Time(oldest)]).map_err(cannot("delete old notifications"))
    }
}

/// Returns the last notification by each way that was sent or has failed, by the database at `path`; `None` if it cannot be
/// read. Changes nothing.
pub fn last_notifications_of(path: &Path, wait: Duration) -> Option<Vec<Notification>> {
    let connection = health::open(path, wait).ok()?;
    // SQLite takes the other columns from the row with the maximum.
    let sql = "SELECT session_id, max(at_ms), state, way, result, why, project, text, ended_ms FROM notifications
               WHERE result IN ('sent', 'failed') GROUP BY way";
    connection.all_with(sql, [], read).ok()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Notification> {
    let text = |at: usize| row.get::<_, String>(at);
    let unknown = |at: usize| rusqlite::Error::InvalidColumnType(at, "name".to_owned(), rusqlite::types::Type::Text);
    let result = text(4)?;
    Ok(Notification {
        event: NotifyEvent {
            session: text(0)?,
            at: row.get::<_, Time>(1)?.0,
            state: NotifyState::from_name(&text(2)?).ok_or_else(|| unknown(2))?,
        },
        way: NotifyWay::from_name(&text(3)?).ok_or_else(|| unknown(3))?,
        result: NotifyResult::from_name(&result).ok_or_else(|| unknown(4))?,
        why: row.get(5)?,
        project: row.get(6)?,
        text: row.get(7)?,
        ended: row.get::<_, Option<Time>>(8)?.map(|time| time.0),
    })
}
