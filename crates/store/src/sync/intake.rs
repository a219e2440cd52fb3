//! What the transaction that takes in records of other hosts has to know of a host, a project and a session.

use longhaul_core::Millis;
use longhaul_sync::{Entry, HostId};
use rusqlite::Connection;

use super::circle::{add_host, note_project, shared_as};
use super::identity::HostRow;
use crate::memory::session_row::add_project;
use crate::recall::index::NewTerms;
use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;

#[derive(Debug, Clone, Copy)]
pub(super) struct IntakeHost {
    pub(super) row: HostRow,
    /// Whether it is this host, now or before it got a new id.
    pub(super) is_own: bool,
    /// Whether it is this host now.
    pub(super) is_self: bool,
    /// The highest idx that is here.
    pub(super) head: u64,
    /// The newest key that a record of it was encrypted with.
    pub(super) epoch: u32,
}

impl IntakeHost {
    /// Returns its row, as a row of the memory has it: `None` for this host.
    pub(super) fn other(self) -> Option<HostRow> {
        (!self.is_own).then_some(self.row)
    }
}

#[derive(Debug, Clone)]
pub(super) struct SharedHere {
    key: String,
    name: String,
    pub(super) row: ProjectRow,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct IntakeSession {
    pub(super) row: SessionRow,
    /// Whether it ran on this host.
    pub(super) is_local: bool,
    forgotten_at: Option<Time>,
}

impl IntakeSession {
    /// Returns whether what happened at a time was forgotten, and must not come back.
    pub(super) fn is_forgotten(self, at: Millis) -> bool {
        self.forgotten_at.is_some_and(|forgotten_at| at <= forgotten_at.0)
    }
}

pub(super) struct Intake<'a> {
    pub(super) connection: &'a Connection,
    /// Where the terms of new rows are gathered: to be written before the transaction is committed, and before rows change or go
    /// that the indexes may have.
    pub(super) terms: NewTerms,
}

impl Intake<'_> {
    /// Returns a host, adding it if it is not known.
    pub(super) fn host(&self, host: HostId) -> rusqlite::Result<IntakeHost> {
        let row = add_host(self.connection, host)?;
        let sql = "SELECT is_own, circle IS NOT NULL, head, epoch FROM sync_hosts WHERE id = ?1";
        let (is_own, is_self, head, epoch): (_, _, i64, _) = self.connection.one(sql, [row])?;
        Ok(IntakeHost { row, is_own, is_self, head: head.unsigned_abs(), epoch })
    }

    /// Returns the project of an entry; `None` if it is not shared here.
    pub(super) fn project(&self, entry: &Entry) -> rusqlite::Result<Option<SharedHere>> {
        let Some((key, name)) = shared_as(self.connection, entry.project)? else {
            return note_project(self.connection, entry.project, &entry.project_name).map(|()| None);
        };
        let row = add_project(self.connection, &key, &name)?;
        Ok(Some(SharedHere { key, name, row }))
    }

    /// Returns a session, adding it as one of another host if there is none.
    pub(super) fn session(
        &self,
        session: &str,
        host: IntakeHost,
        project: &SharedHere,
        at: Millis,
    ) -> rusqlite::Result<IntakeSession> {
        let sql = "SELECT id, host_id IS NULL, forgotten_at FROM sessions WHERE session_id = ?1";
        if let Some((row, is_local, forgotten_at)) = self.connection.first(sql, [session])? {
            return Ok(IntakeSession { row, is_local, forgotten_at });
        }
        let sql = "INSERT INTO sessions (session_id, project, project_key, project_path, status, created_at, host_id)
                   VALUES (?1, ?2, ?3, '', 'completed', ?4, ?5)";
        let row = self.connection.add(sql, (session, &project.name, &project.key, Time(at), host.other()))?;
        Ok(IntakeSession { row: SessionRow(row), is_local: host.is_own, forgotten_at: None })
    }
}
