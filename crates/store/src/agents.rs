//! The sessions that are running: how they are added and removed, how their status changes, and their questions for
//! permission.
//!
//! Hooks run concurrently, so every statement has its own guard and returns whether it changed a row.

use longhaul_core::{AGENTS_WITH_SEVERAL_SESSIONS, Millis, Status};
use longhaul_tracker::{Agent, NOTIFICATION_LAG_SECONDS, Pane, Transition, free_orphans};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, ToSql, named_params};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// What a hook knows of the session in which it runs.
#[derive(Debug, Clone)]
pub struct Sighting<'a> {
    /// The session's id, in the form that is safe as a file name.
    pub session: &'a str,
    pub cwd: Option<&'a str>,
    /// The name of that directory.
    pub project: &'a str,
    /// The branch that is checked out there.
    pub branch: Option<&'a str>,
    /// What distinguishes it from a session in the project's own folder: `teammate`, `worktree NAME` or `child of ID`.
    pub agent_type: Option<&'a str>,
    pub pane: Option<&'a Pane>,
    /// That pane as `session:window.pane`.
    pub target: Option<&'a str>,
    pub client: &'a str,
    pub pid: Option<u32>,
    pub at: Millis,
}

/// Where a prompt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOrigin {
    User,
    /// A task in the background, which has ended: its result continues what the user has asked for.
    Task,
    /// It sets a bookmark. In a running turn it changes nothing of that turn.
    Bookmark,
}

/// A status that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub session: String,
    pub from: Option<Status>,
    pub to: Status,
    pub project: String,
    /// The beginning of its last prompt.
    pub summary: Option<String>,
    pub pane: Option<Pane>,
    /// What it waits for, if it is blocked and that is known.
    pub reason: Option<String>,
    /// Whether its turn ended in an error.
    pub failed: bool,
    /// The subagent that has opened the dialog; `None` for the main conversation.
    pub asked_by: Option<String>,
    /// What the dialog asks for, if it is one for permission.
    pub wants: Option<String>,
}

const CHANGED: &str =
    "RETURNING previous, status, session_id, project_name, prompt_summary, tmux_socket, tmux_pane, reason,
                                 failed, asked_by, wants";

impl Store {
    /// Adds a session that begins, or updates where a known one runs without touching its status.
    ///
    /// Any other session in its pane is removed: `/clear` changes the session in the same pane. (A busy one of a client that
    /// runs several sessions stays.) A session that was resumed in another process begins anew. Returns whether a row was
    /// added or removed.
    pub fn add_agent(&self, seen: &Sighting<'_>, status: Status, reason: Option<&str>) -> Result<bool, StoreError> {
        self.write("add the session", |tx| {
            let evicted = evict(tx, seen)?;
            // Whatever the earlier process did, this one does not.
            remove(tx, "session_id = ?1 AND pid <> ?2", (seen.session, seen.pid))?;
            let added =
                NewRow { seen, status, reason, summary: None, prompted: None }.insert(tx, "DO NOTHING")?.is_some();
            if !added {
                update_place(tx, seen)?;
            }
            Ok(added || evicted > 0)
        })
    }

    /// Adds a session that was found running, unless a hook has recorded one in its pane meanwhile.
    pub fn add_found_agent(&self, seen: &Sighting<'_>, status: Status, reason: Option<&str>) -> Result<(), StoreError> {
        self.write("add the session that was found", |tx| {
            let sql = "SELECT 1 FROM agents WHERE tmux_socket = ?1 AND tmux_pane = ?2";
            let is_taken = match seen.pane {
                Some(pane) => tx.has(sql, (&pane.socket, &pane.id))?,
                None => false,
            };
            if !is_taken {
                NewRow { seen, status, reason, summary: None, prompted: None }.insert(tx, "DO NOTHING")?;
            }
            Ok(())
        })
    }

    /// Records a prompt: the session is working, whatever its status was, and is added if it is not known.
    ///
    /// Returns the change, if the status was another.
    pub fn note_prompt(
        &self,
        seen: &Sighting<'_>,
        origin: PromptOrigin,
        summary: Option<&str>,
    ) -> Result<Option<Change>, StoreError> {
        // The duration of a turn is measured from what the user has asked for.
        let began = match origin {
            PromptOrigin::User => ":prompt_ms",
            PromptOrigin::Task => "coalesce(prompt_ms, :prompt_ms)",
            PromptOrigin::Bookmark => {
                "iif(status IN ('working', 'blocked'), coalesce(prompt_ms, :prompt_ms), :prompt_ms)"
            }
        };
        self.write("record the prompt", |tx| {
            evict(tx, seen)?;
            let row = NewRow { seen, status: Status::Working, reason: None, summary, prompted: Some(seen.at) };
            let change = row.insert(
                tx,
                &format!(
                    "DO UPDATE SET
                     previous = status, status = :status, reason = :reason, stopped = 0, failed = 0,
                     asked_by = NULL, wants = NULL, task_count = 0, prompt_ms = {began},
                     prompt_summary = coalesce(:summary, prompt_summary),
                     cwd = coalesce(:cwd, cwd), project_name = :project, git_branch = :branch,
                     updated_at = iif(status = :status, updated_at, :now), touched_ms = :ms"
                ),
            )?;
            update_place(tx, seen)?;
            Ok(change.filter(|change| change.from != Some(change.to)))
        })
    }

    /// Changes a session's status if the transition's guard holds; returns the change, if there was one.
    pub fn change_status(
        &self,
        session: &str,
        transition: &Transition,
        reason: Option<&str>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        self.guarded_change("session_id = :session", named_params! { ":session": session }, transition, reason, at)
    }

    /// Does the same if `agent` has opened the dialog: a subagent, or `None` for the main conversation. Only the one that has
    /// asked is answered by what it does next.
    pub fn change_status_asked_by(
        &self,
        session: &str,
        agent: Option<&str>,
        transition: &Transition,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let guard = "session_id = :session AND asked_by IS :agent";
        self.guarded_change(guard, named_params! { ":session": session, ":agent": agent }, transition, None, at)
    }

    /// Does the same, unless a hook has changed the row since it was read.
    pub fn change_status_if_untouched(
        &self,
        agent: &Agent,
        transition: &Transition,
        reason: Option<&str>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let values = named_params! { ":session": agent.session, ":touched": agent.touched_ms as i64 };
        self.guarded_change("session_id = :session AND touched_ms = :touched", values, transition, reason, at)
    }

    /// Does the same for the late notification that follows a permission dialog, which is ignored if the dialog was answered
    /// meanwhile.
    pub fn change_status_unless_asked_lately(
        &self,
        session: &str,
        transition: &Transition,
        reason: Option<&str>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let guard = format!(
            "session_id = :session AND (permission_at IS NULL
                 OR permission_at NOT BETWEEN :now - {NOTIFICATION_LAG_SECONDS} AND :now)"
        );
        self.guarded_change(&guard, named_params! { ":session": session }, transition, reason, at)
    }

    /// Does the same for the session that is in a pane.
    pub fn change_status_in_pane(
        &self,
        pane: &Pane,
        transition: &Transition,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let values = named_params! { ":socket": pane.socket, ":pane": pane.id };
        self.guarded_change("tmux_socket = :socket AND tmux_pane = :pane", values, transition, None, at)
    }

    /// Records that a working session turns in circles, or no longer. The next change of its status ends that, too.
    pub fn note_looping(&self, session: &str, reason: Option<&str>) -> Result<(), StoreError> {
        let statement = "UPDATE agents SET reason = ?2 WHERE session_id = ?1 AND status = 'working'";
        self.connection
            .run(statement, (session, reason))
            .map_err(cannot("record that the session turns in circles"))?;
        Ok(())
    }

    /// Changes the status of the row that meets `guard`, whose parameters are in `values`.
    fn guarded_change(
        &self,
        guard: &str,
        values: &[(&str, &dyn ToSql)],
        transition: &Transition,
        reason: Option<&str>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let from = |n: usize| transition.from.get(n).map(|status| status.as_str());
        let works = transition.to == Status::Working;
        let set = named_params! {
            ":to": transition.to.as_str(),
            ":reason": reason,
            ":now": seconds(at),
            ":ms": Time(at),
            ":works": works,
            ":from0": from(0),
            ":from1": from(1),
            ":from2": from(2),
            ":from3": from(3),
        };
        let sql = format!(
            "UPDATE agents SET previous = status, status = :to, reason = :reason, updated_at = :now, touched_ms = :ms,
                               stopped = iif(:works, 0, stopped), failed = iif(:works, 0, failed),
                               asked_by = iif(:to = 'blocked', asked_by, NULL),
                               wants = iif(:to = 'blocked', wants, NULL),
                               subagent_count = iif(:to = 'completed', 0, subagent_count)
             WHERE {guard} AND status IN (:from0, :from1, :from2, :from3)
             {CHANGED}"
        );
        self.connection
            .first_with(&sql, [values, set].concat().as_slice(), change)
            .map_err(cannot("change the session's status"))
    }
}

/// A row of `agents`, to be added.
struct NewRow<'a> {
    seen: &'a Sighting<'a>,
    status: Status,
    reason: Option<&'a str>,
    summary: Option<&'a str>,
    /// The time of the prompt that adds or changes the row.
    prompted: Option<Millis>,
}

impl NewRow<'_> {
    /// Adds the row; `on_conflict` is what is done if the session has one. Returns the row that was added or changed.
    fn insert(&self, connection: &Connection, on_conflict: &str) -> rusqlite::Result<Option<Change>> {
        let Sighting { session, cwd, project, branch, agent_type, pane, target, client, pid, at } = self.seen;
        let sql = format!(
            "INSERT INTO agents (session_id, status, reason, cwd, project_name, git_branch, agent_type, tmux_socket,
                                 tmux_pane, tmux_target, agent_client, pid, prompt_summary, started_at, updated_at,
                                 touched_ms, prompt_ms)
             VALUES (:session, :status, :reason, :cwd, :project, :branch, :agent_type, :socket, :pane, :target,
                     :client, :pid, :summary, :now, :now, :ms, :prompt_ms)
             ON CONFLICT (session_id) {on_conflict}
             {CHANGED}"
        );
        connection.first_with(
            &sql,
            named_params! {
                ":session": session,
                ":status": self.status.as_str(),
                ":reason": self.reason,
                ":cwd": cwd,
                ":project": project,
                ":branch": branch,
                ":agent_type": agent_type,
                ":socket": pane.map(|pane| &pane.socket),
                ":pane": pane.map(|pane| &pane.id),
                ":target": target,
                ":client": client,
                ":pid": pid,
                ":summary": self.summary,
                ":prompt_ms": self.prompted.map(Time),
                ":now": seconds(*at),
                ":ms": Time(*at),
            },
            change,
        )
    }
}

/// Removes the other sessions that are recorded in the pane; returns how many.
///
/// A session of the same process that works, or waits for an answer, goes on in the background if the client can run several
/// sessions: its row stays.
fn evict(connection: &Connection, seen: &Sighting<'_>) -> rusqlite::Result<usize> {
    let Some(pane) = seen.pane else { return Ok(0) };
    let may_go_on = seen.pid.is_some() && AGENTS_WITH_SEVERAL_SESSIONS.contains(&seen.client);
    remove(
        connection,
        "tmux_socket = ?1 AND tmux_pane = ?2 AND session_id <> ?3
         AND NOT (?4 AND agent_client = ?5 AND pid IS ?6 AND status IN ('working', 'blocked'))",
        (&pane.socket, &pane.id, seen.session, may_go_on, seen.client, seen.pid),
    )
}

/// Removes the sessions that meet a condition; returns how many. What their rows say is kept for the list of sessions to reopen.
fn remove(connection: &Connection, condition: &str, values: impl rusqlite::Params + Copy) -> rusqlite::Result<usize> {
    let keep = format!(
        "UPDATE session_places AS p
         SET git_branch = a.git_branch, prompt_summary = a.prompt_summary, agent_type = a.agent_type, status = a.status,
             seen_ms = max(seen_ms, a.touched_ms)
         FROM (SELECT * FROM agents WHERE {condition}) AS a WHERE p.session_id = a.session_id"
    );
    connection.run(&keep, values)?;
    connection.run(&format!("DELETE FROM agents WHERE {condition}"), values)
}

/// Updates the pane and the process in which a session runs.
fn update_place(connection: &Connection, seen: &Sighting<'_>) -> rusqlite::Result<()> {
    connection
        .run(
            "UPDATE agents SET tmux_socket = coalesce(?2, tmux_socket), tmux_pane = coalesce(?3, tmux_pane),
                               tmux_target = coalesce(?4, tmux_target), pid = coalesce(?5, pid)
             WHERE session_id = ?1",
            (seen.session, seen.pane.map(|pane| &pane.socket), seen.pane.map(|pane| &pane.id), seen.target, seen.pid),
        )
        .map(drop)
}

fn seconds(at: Millis) -> i64 {
    (at.0 / 1000) as i64
}

fn change(row: &Row<'_>) -> rusqlite::Result<Change> {
    let from = row.get::<_, Option<String>>(0)?;
    Ok(Change {
        from: from.as_deref().and_then(Status::from_name),
        to: status(row, 1)?,
        session: row.get(2)?,
        project: row.get(3)?,
        summary: row.get(4)?,
        pane: pane(row, 5)?,
        reason: row.get(7)?,
        failed: row.get(8)?,
        asked_by: row.get(9)?,
        wants: row.get(10)?,
    })
}

fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let name: String = row.get(column)?;
    let unknown = || rusqlite::Error::InvalidColumnType(column, name.clone(), Type::Text);
    Status::from_name(&name).ok_or_else(unknown)
}

fn pane(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Pane>> {
    let (socket, id): (Option<String>, Option<String>) = (row.get(column)?, row.get(column + 1)?);
    Ok(socket.zip(id).map(|(socket, id)| Pane { socket, id }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermissionQuestion<'a> {
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
        asked: &PermissionQuestion<'_>,
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
    fn join_subagent(
        &self,
        session: &str,
        asked: &PermissionQuestion<'_>,
        at: Millis,
    ) -> Result<Option<Change>, StoreError> {
        let sql = format!(
            "UPDATE agents SET previous = status, reason = ?2, asked_by = NULL, wants = ?3, touched_ms = ?4
             WHERE session_id = ?1 AND status = 'blocked' AND asked_by IS NOT NULL
             {CHANGED}"
        );
        self.connection
            .first_with(&sql, (session, asked.reason, asked.wants, Time(at)), change)
            .map_err(cannot("record the question of the main conversation"))
    }

    /// Records what a session asks for, without a change of its status.
    pub fn note_asked(&self, session: &str, asked: &PermissionQuestion<'_>, at: Millis) -> Result<(), StoreError> {
        let sql = "UPDATE agents SET permission_at = ?2, asked_by = ?3, wants = ?4 WHERE session_id = ?1";
        self.update(sql, (session, seconds(at), asked.by, asked.wants))
    }
}

impl Store {
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

    pub fn count_task(&self, session: &str) -> Result<(), StoreError> {
        self.update("UPDATE agents SET task_count = task_count + 1 WHERE session_id = ?1", (session,))
    }

    /// Marks a session as a teammate, which is not counted; returns whether it was none before.
    pub fn note_teammate(&self, session: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE agents SET agent_type = 'teammate' WHERE session_id = ?1 AND agent_type IS NOT 'teammate'";
        self.connection.run(sql, (session,)).map(|rows| rows > 0).map_err(cannot("update the session"))
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

    pub fn agent(&self, session: &str) -> Result<Option<Agent>, StoreError> {
        Ok(self.agents()?.into_iter().find(|agent| agent.session == session))
    }

    /// Returns every session that is running, the oldest first.
    pub fn agents(&self) -> Result<Vec<Agent>, StoreError> {
        let sql = "SELECT session_id, status, reason, cwd, project_name, git_branch, prompt_summary, agent_type,
                          tmux_socket, tmux_pane, tmux_target, agent_client, pid, subagent_count, task_count,
                          started_at, updated_at, touched_ms, stopped, failed, wants, asked_by, prompt_ms
                   FROM agents ORDER BY started_at, session_id";
        let mut agents = self.connection.all_with(sql, [], read_agent).map_err(cannot("list the sessions"))?;
        free_orphans(&mut agents);
        Ok(agents)
    }

    fn update(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), StoreError> {
        self.connection.run(sql, values).map(drop).map_err(cannot("update the session"))
    }
}

fn read_agent(row: &Row<'_>) -> rusqlite::Result<Agent> {
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
