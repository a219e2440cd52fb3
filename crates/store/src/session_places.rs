//! Where each session runs or ran, for reopening it. A session that ends in the usual way is removed.

use longhaul_core::{Millis, Status};
use longhaul_tracker::Pane;
use longhaul_tracker::reopen::{ServerId, SessionPlace, Window};
use rusqlite::{Row, named_params};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// The window of a session, as a condition that holds if another one is stored.
const IS_OTHER_WINDOW: &str = "(tmux_session IS NOT :tmux_session OR window_index IS NOT :window_index
    OR pane_index IS NOT :pane_index OR window_name IS NOT :window_name OR names_itself IS NOT :names_itself)";

impl Store {
    /// Records where a session runs. What is not known now keeps its stored value; the window is set by
    /// [`Store::set_window`].
    pub fn note_place(&self, place: &SessionPlace) -> Result<(), StoreError> {
        let server = place.server.as_ref();
        self.connection.run(
            "INSERT INTO session_places (session_id, agent_client, pid, pid_started, folder, folder_owner, config_dir,
                     transcript, permission_mode, model, tmux_socket, server_pid, server_started, seen_ms, project_name)
                 VALUES (:session, :client, :pid, :pid_started, :folder, :folder_owner, :config_dir, :transcript,
                     :permission_mode, :model, :socket, :server_pid, :server_started, :seen, :project)
                 ON CONFLICT (session_id) DO UPDATE SET
                     agent_client = :client, pid = :pid, pid_started = :pid_started,
                     folder = coalesce(:folder, folder), folder_owner = iif(:folder IS NULL, folder_owner, :folder_owner),
                     config_dir = :config_dir, transcript = coalesce(:transcript, transcript),
                     permission_mode = coalesce(:permission_mode, permission_mode), model = coalesce(:model, model),
                     tmux_socket = :socket, server_pid = :server_pid, server_started = :server_started,
                     seen_ms = max(seen_ms, :seen), project_name = :project",
            named_params! {
                ":session": place.session,
                ":client": place.client,
                ":pid": place.pid,
                ":pid_started": place.pid_started,
                ":folder": place.folder,
                ":folder_owner": place.folder_owner,
                ":config_dir": place.config_dir,
                ":transcript": place.transcript,
                ":permission_mode": place.permission_mode,
                ":model": place.model,
                ":socket": server.map(|server| &server.socket),
                ":server_pid": server.and_then(|server| server.pid),
                ":server_started": server.and_then(|server| server.started.as_ref()),
                ":seen": Time(Millis(place.seen_ms)),
                ":project": place.project,
            },
        )
            .map(drop)
            .map_err(cannot("record where the session runs"))
    }

    /// Records the permission mode of a session; returns whether its place is recorded at all.
    pub fn set_permission_mode(&self, session: &str, mode: Option<&str>) -> Result<bool, StoreError> {
        let sql = "SELECT permission_mode FROM session_places WHERE session_id = ?1";
        let stored: Option<Option<String>> =
            self.connection.first(sql, [session]).map_err(cannot("read the session's permission mode"))?;
        let Some(stored) = stored else { return Ok(false) };
        // Most prompts change nothing, and then nothing is written.
        if mode.is_some() && mode != stored.as_deref() {
            let sql = "UPDATE session_places SET permission_mode = ?2 WHERE session_id = ?1";
            self.connection.run(sql, (session, mode)).map_err(cannot("record the permission mode"))?;
        }
        Ok(true)
    }

    /// Records the window of the session in `pane`. Writes only if it has changed.
    pub fn set_window(&self, pane: &Pane, window: &Window) -> Result<(), StoreError> {
        let values = named_params! {
            ":socket": pane.socket,
            ":pane": pane.id,
            ":tmux_session": window.session,
            ":window_index": window.index,
            ":pane_index": window.pane,
            ":window_name": window.name,
            ":names_itself": window.names_itself,
        };
        let there = format!(
            "session_id IN (SELECT session_id FROM agents WHERE tmux_socket = :socket AND tmux_pane = :pane)
             AND {IS_OTHER_WINDOW}"
        );
        let failed = cannot("record the session's window");
        let sql = format!("SELECT 1 FROM session_places WHERE {there}");
        if !self.connection.has(&sql, values).map_err(&failed)? {
            return Ok(());
        }
        let sql = format!(
            "UPDATE session_places SET tmux_session = :tmux_session, window_index = :window_index,
                 pane_index = :pane_index, window_name = :window_name, names_itself = :names_itself
             WHERE {there}"
        );
        self.connection.run(&sql, values).map(drop).map_err(failed)
    }

    /// Forgets where a session ran, because it has ended. Returns whether it was recorded.
    pub fn remove_place(&self, session: &str) -> Result<bool, StoreError> {
        let removed = self.connection.run("DELETE FROM session_places WHERE session_id = ?1", [session]);
        removed.map(|rows| rows > 0).map_err(cannot("remove where the session ran"))
    }

    /// Forgets the sessions that were last seen before `at`.
    pub fn remove_places_before(&self, at: Millis) -> Result<(), StoreError> {
        let sql = "DELETE FROM session_places
                   WHERE seen_ms < ?1 AND session_id NOT IN (SELECT session_id FROM agents)";
        self.connection.run(sql, [Time(at)]).map(drop).map_err(cannot("remove where old sessions ran"))
    }

    /// Returns the sessions in `agents` that ran in an earlier tmux server with the socket of the server `pid`.
    ///
    /// The pane ids of the two servers can be the same.
    pub fn agents_of_earlier_servers(&self, socket: &str, pid: u32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT session_id FROM session_places JOIN agents USING (session_id)
                   WHERE session_places.tmux_socket = ?1 AND agents.tmux_socket = ?1 AND server_pid <> ?2";
        self.connection.all(sql, (socket, pid)).map_err(cannot("list the sessions of earlier servers"))
    }

    /// Returns every recorded session, running or not.
    pub fn session_places(&self) -> Result<Vec<SessionPlace>, StoreError> {
        self
            .connection.all_with("SELECT p.session_id, p.agent_client, p.pid, p.pid_started, folder, folder_owner, config_dir, transcript,
                        permission_mode, model, p.tmux_socket, server_pid, server_started,
                        tmux_session, window_index, pane_index, window_name, names_itself,
                        max(p.seen_ms, coalesce(a.touched_ms, 0)), coalesce(a.project_name, p.project_name),
                        coalesce(a.git_branch, p.git_branch), coalesce(a.prompt_summary, p.prompt_summary),
                        coalesce(a.agent_type, p.agent_type), coalesce(a.status, p.status)
                 FROM session_places p LEFT JOIN agents a USING (session_id)
                 ORDER BY p.session_id", (), read).map_err(cannot("list where sessions ran"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionPlace> {
    let Time(Millis(seen_ms)) = row.get(18)?;
    let mut place = SessionPlace::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?, seen_ms);
    place.pid = row.get(2)?;
    place.pid_started = row.get(3)?;
    place.folder = row.get(4)?;
    place.folder_owner = row.get(5)?;
    place.config_dir = row.get(6)?;
    place.transcript = row.get(7)?;
    place.permission_mode = row.get(8)?;
    place.model = row.get(9)?;
    if let Some(socket) = row.get(10)? {
        place.server = Some(ServerId { socket, pid: row.get(11)?, started: row.get(12)? });
    }
    if let (Some(session), Some(index)) = (row.get::<_, Option<String>>(13)?, row.get(14)?) {
        let mut window = Window::new(session, index, row.get::<_, Option<String>>(16)?.unwrap_or_default());
        window.pane = row.get::<_, Option<u32>>(15)?.unwrap_or_default();
        window.names_itself = row.get::<_, Option<bool>>(17)?.unwrap_or_default();
        place.window = Some(window);
    }
    place.project = row.get(19)?;
    place.branch = row.get(20)?;
    place.prompt_summary = row.get(21)?;
    place.agent_type = row.get(22)?;
    place.status = row.get::<_, Option<String>>(23)?.as_deref().and_then(Status::from_name);
    Ok(place)
}
