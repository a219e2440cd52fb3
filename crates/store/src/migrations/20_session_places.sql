-- Where a session runs, so that it can be reopened after its tmux server has died. A session that ends has no row.
CREATE TABLE session_places (
    session_id      TEXT PRIMARY KEY,
    agent_client    TEXT NOT NULL,
    pid             INTEGER,
    pid_started     TEXT,             -- as the system reports it
    folder          TEXT,             -- in which it was started, without links
    folder_owner    INTEGER,          -- user id
    config_dir      TEXT,             -- CLAUDE_CONFIG_DIR, where it is set
    transcript      TEXT,
    permission_mode TEXT,
    model           TEXT,             -- at its start
    tmux_socket     TEXT,
    server_pid      INTEGER,
    server_started  TEXT,             -- as the system reports it
    tmux_session    TEXT,
    window_index    INTEGER,
    pane_index      INTEGER,
    window_name     TEXT,
    names_itself    INTEGER,          -- whether tmux names the window after the running program
    seen_ms         INTEGER NOT NULL, -- milliseconds
    project_name    TEXT NOT NULL,
    -- From the row of agents, when that is removed:
    git_branch      TEXT,
    prompt_summary  TEXT,
    agent_type      TEXT,
    status          TEXT
) STRICT, WITHOUT ROWID;

-- Rows of agents are removed in several ways. What they say is kept for the list of sessions to reopen.
CREATE TRIGGER agents_removed BEFORE DELETE ON agents BEGIN
    UPDATE session_places
    SET git_branch = OLD.git_branch, prompt_summary = OLD.prompt_summary, agent_type = OLD.agent_type,
        status = OLD.status, seen_ms = max(seen_ms, OLD.touched_ms)
    WHERE session_id = OLD.session_id;
END;
