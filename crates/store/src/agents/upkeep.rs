//! The sessions that are running: their counters, their removal, and the list of them.

use longhaul_tracker::{Agent, free_orphans};
use rusqlite::Row;

use super::{pane, remove, status};
use crate::{Store, StoreError, cannot};

impl Store {
    /// Records that a turn has ended in an error.
    pub fn note_failure(&self, session: &str) -> Result<(), StoreError> {
        self.update("UPDATE agents SET failed = 1 WHERE session_id = ?1", (session,))
    }

    /// Records that a session's turn has ended while subagents still run.
    pub fn note_stopped(&self, session: &str) -> Result<(), StoreError> {
        self.update("UPDATE agents SET stopped = 1 WHERE session_id = ?1", (session,))
    }

    /// Counts a subagent that begins (+1) or returns (-1). The count is never below 0.
    pub fn count_subagent(&self, session: &str, by: i32) -> Result<(), StoreError> {
        let sql = "UPDATE agents SET subagent_count = max(0, subagent_count + ?2) WHERE session_id = ?1";
        self.update(sql, (session, by))
    }

    /// Sets the count of subagents to what the client reports.
    pub fn set_subagents(&self, session: &str, count: usize) -> Result<(), StoreError> {
        let sql = "UPDATE agents SET subagent_count = ?2 WHERE session_id = ?1 AND subagent_count <> ?2";
        self.update(sql, (session, count as i64))
    }

    /// Counts a task that was completed.
    pub fn count_task(&self, session: &str) -> Result<(), StoreError> {
        self.update("UPDATE agents SET task_count = task_count + 1 WHERE session_id = ?1", (session,))
    }

    /// Marks a session as a teammate, which is not counted; returns whether it was none before.
    pub fn note_teammate(&self, session: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE agents SET agent_type = 'teammate' WHERE session_id = ?1 AND agent_type IS NOT 'teammate'";
        self.connection.execute(sql, (session,)).map(|rows| rows > 0).map_err(cannot("update the session"))
    }

    /// Updates the position of a pane, which changes when windows are renumbered.
    pub fn set_target(&self, session: &str, target: &str) -> Result<(), StoreError> {
        let sql = "UPDATE agents SET tmux_target = ?2 WHERE session_id = ?1 AND tmux_target IS NOT ?2";
        self.update(sql, (session, target))
    }

    /// Removes a session; returns whether there was one.
    pub fn remove_agent(&self, session: &str) -> Result<bool, StoreError> {
        self.write("remove the session", |tx| Ok(remove(tx, "session_id = ?1", (session,))? > 0))
    }

    /// Removes a session, unless a hook has changed its row since it was read.
    pub fn remove_agent_if_untouched(&self, agent: &Agent) -> Result<(), StoreError> {
        let values = (&agent.session, agent.touched_ms as i64);
        self.write("remove the session", |tx| remove(tx, "session_id = ?1 AND touched_ms = ?2", values).map(drop))
    }

    /// Returns a session that is running.
    pub fn agent(&self, session: &str) -> Result<Option<Agent>, StoreError> {
        Ok(self.agents()?.into_iter().find(|agent| agent.session == session))
    }

    /// Returns every session that is running, the oldest first.
    pub fn agents(&self) -> Result<Vec<Agent>, StoreError> {
        let failed = cannot("list the sessions");
        let mut statement = self
            .connection
            .prepare(
                "SELECT session_id, status, reason, cwd, project_name, git_branch, prompt_summary, agent_type,
                        tmux_socket, tmux_pane, tmux_target, agent_client, pid, subagent_count, task_count,
                        started_at, updated_at, touched_ms, stopped, failed, wants, asked_by, prompt_ms
                 FROM agents ORDER BY started_at, session_id",
            )
            .map_err(&failed)?;
        let rows = statement.query_map((), read).map_err(&failed)?;
        let mut agents = rows.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        free_orphans(&mut agents);
        Ok(agents)
    }

    pub(super) fn update(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), StoreError> {
        self.connection.execute(sql, values).map(drop).map_err(cannot("update the session"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Agent> {
    let unsigned = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let mut agent = Agent::new(row.get::<_, String>(0)?, unsigned(15)?);
    agent.status = status(row, 1)?;
    agent.reason = row.get(2)?;
    agent.cwd = row.get(3)?;
    agent.project = row.get(4)?;
    agent.branch = row.get(5)?;
    agent.prompt_summary = row.get(6)?;
    agent.agent_type = row.get(7)?;
    agent.pane = pane(row, 8)?;
    agent.target = row.get(10)?;
    agent.client = row.get(11)?;
    agent.pid = row.get(12)?;
    agent.subagents = row.get(13)?;
    agent.tasks = row.get(14)?;
    agent.updated_at = unsigned(16)?;
    agent.touched_ms = unsigned(17)?;
    agent.stopped = row.get(18)?;
    agent.failed = row.get(19)?;
    agent.wants = row.get(20)?;
    agent.asked_by = row.get(21)?;
    agent.prompt_ms = row.get::<_, Option<i64>>(22)?.map(i64::unsigned_abs);
    Ok(agent)
}
