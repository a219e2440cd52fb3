//! One transaction that takes in records of other hosts: what it has read so far, and which new rows are in no search index yet.

use std::collections::HashMap;

use longhaul_core::Millis;
use longhaul_sync::{Entry, HostId, ProjectId};
use rusqlite::Connection;

use super::circle::{HostRow, add_host, note_project, own_row, shared_as};
use super::log::set_head;
use crate::What;
use crate::memory::session_row::add_project;
use crate::recall::index::NewTerms;
use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;

/// A host whose records are taken in.
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

/// A project that is shared here.
#[derive(Debug, Clone)]
pub(super) struct SharedHere {
    key: String,
    name: String,
    pub(super) row: ProjectRow,
}

/// A session that a record belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntakeSession {
    pub(super) row: SessionRow,
    /// Whether it ran on this host.
    pub(super) is_local: bool,
    forgotten_at: Option<Millis>,
}

impl IntakeSession {
    /// Returns whether what happened at a time was forgotten, and must not come back.
    pub(super) fn is_forgotten(self, at: Millis) -> bool {
        self.forgotten_at.is_some_and(|forgotten_at| at <= forgotten_at)
    }
}

/// The state of one transaction.
pub(super) struct Intake<'a> {
    pub(super) connection: &'a Connection,
    terms: NewTerms,
    hosts: HashMap<HostId, IntakeHost>,
    /// `None` for a project that is not shared here.
    projects: HashMap<ProjectId, Option<SharedHere>>,
    sessions: HashMap<String, IntakeSession>,
}

impl<'a> Intake<'a> {
    /// Begins in a transaction that has written nothing yet.
    pub(super) fn begin(connection: &'a Connection) -> Self {
        Self {
            connection,
            terms: NewTerms::default(),
            hosts: HashMap::new(),
            projects: HashMap::new(),
            sessions: HashMap::new(),
        }
    }

    /// Writes the indexes and the heads of the hosts. To be called before the transaction is committed.
    pub(super) fn finish(mut self) -> rusqlite::Result<()> {
        self.terms.write(self.connection)?;
        let sql = "UPDATE sync_hosts SET epoch = ?2 WHERE id = ?1 AND epoch < ?2";
        for host in self.hosts.values().filter(|host| !host.is_self) {
            set_head(self.connection, host.row, host.head)?;
            self.connection.run(sql, (host.row, host.epoch))?;
        }
        Ok(())
    }

    /// Prepares for changing or deleting rows that the indexes may have.
    pub(super) fn expect_change(&mut self) -> rusqlite::Result<()> {
        self.terms.write(self.connection)
    }

    /// Adds a new row to the index, at the end of the transaction.
    pub(super) fn index(&mut self, what: What, row: i64, host: IntakeHost) -> rusqlite::Result<()> {
        self.terms.take_record(self.connection, what, row, (!host.is_own).then_some(host.row))
    }

    /// Returns where the terms of new rows are gathered.
    pub(super) fn terms(&mut self) -> &mut NewTerms {
        &mut self.terms
    }

    /// Returns a host, adding it if it is not known.
    pub(super) fn host(&mut self, host: HostId) -> rusqlite::Result<IntakeHost> {
        if let Some(known) = self.hosts.get(&host) {
            return Ok(*known);
        }
        let row = add_host(self.connection, host)?;
        let is_self = own_row(self.connection)? == Some(row);
        let sql = "SELECT is_own, head, epoch FROM sync_hosts WHERE id = ?1";
        let found = self.connection.one_with(sql, [row], |found| {
            let head = found.get::<_, i64>(1)?.unsigned_abs();
            Ok(IntakeHost { row, is_own: found.get(0)?, is_self, head, epoch: found.get(2)? })
        })?;
        self.hosts.insert(host, found);
        Ok(found)
    }

    /// Records that a record of a host is in the log.
    pub(super) fn note_taken(&mut self, host: HostId, idx: u64, epoch: Option<u32>) {
        if let Some(known) = self.hosts.get_mut(&host) {
            known.head = idx;
            known.epoch = epoch.map_or(known.epoch, |epoch| known.epoch.max(epoch));
        }
    }

    /// Returns the project of an entry; `None` if it is not shared here.
    pub(super) fn project(&mut self, entry: &Entry) -> rusqlite::Result<Option<SharedHere>> {
        if let Some(known) = self.projects.get(&entry.project) {
            return Ok(known.clone());
        }
        let found = match shared_as(self.connection, entry.project)? {
            Some((key, name)) => {
                let row = add_project(self.connection, &key, &name)?;
                Some(SharedHere { key, name, row })
            }
            None => {
                note_project(self.connection, entry.project, &entry.project_name)?;
                None
            }
        };
        self.projects.insert(entry.project, found.clone());
        Ok(found)
    }

    /// Returns a session, adding it as one of another host if there is none.
    pub(super) fn session(
        &mut self,
        session: &str,
        host: IntakeHost,
        project: &SharedHere,
        at: Millis,
    ) -> rusqlite::Result<IntakeSession> {
        if let Some(known) = self.sessions.get(session) {
            return Ok(*known);
        }
        let found = match self.find_session(session)? {
            Some(found) => found,
            None => {
                let sql =
                    "INSERT INTO sessions (session_id, project, project_key, project_path, status, created_at, host_id)
                           VALUES (?1, ?2, ?3, '', 'completed', ?4, ?5)";
                let row = self.connection.add(sql, (session, &project.name, &project.key, Time(at), host.row))?;
                IntakeSession { row: SessionRow(row), is_local: host.is_own, forgotten_at: None }
            }
        };
        self.sessions.insert(session.to_owned(), found);
        Ok(found)
    }

    fn find_session(&self, session: &str) -> rusqlite::Result<Option<IntakeSession>> {
        let sql = "SELECT id, host_id IS NULL OR host_id IN (SELECT id FROM sync_hosts WHERE is_own = 1), forgotten_at
                   FROM sessions WHERE session_id = ?1";
        self.connection.first_with(sql, [session], |row| {
            let forgotten_at = row.get::<_, Option<Time>>(2)?.map(Millis::from);
            Ok(IntakeSession { row: row.get(0)?, is_local: row.get(1)?, forgotten_at })
        })
    }
}
