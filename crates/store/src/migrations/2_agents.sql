-- Who is alive now. One row per session, one session per pane.
CREATE TABLE agents (
    session_id     TEXT PRIMARY KEY,
    status         TEXT NOT NULL CHECK (status IN ('working', 'blocked', 'idle', 'completed')),
    previous       TEXT,             -- the status before this one
    reason         TEXT,             -- why it is blocked
    cwd            TEXT,
    project_name   TEXT NOT NULL,
    git_branch     TEXT,
    prompt_summary TEXT,
    agent_type     TEXT,             -- teammate or worktree; NULL for the user's own sessions
    tmux_socket    TEXT,
    tmux_pane      TEXT,
    tmux_target    TEXT,
    agent_client   TEXT NOT NULL DEFAULT 'claude',
    pid            INTEGER,
    subagent_count INTEGER NOT NULL DEFAULT 0 CHECK (subagent_count >= 0),
    task_count     INTEGER NOT NULL DEFAULT 0,
    stopped        INTEGER NOT NULL DEFAULT 0, -- the turn has ended, and subagents still run
    failed         INTEGER NOT NULL DEFAULT 0, -- the turn ended in an error, which stays shown until the next prompt
    asked_by       TEXT,             -- the subagent whose dialog is open; NULL for the main loop's
    permission_at  INTEGER,          -- when it last asked for permission, in seconds
    started_at     INTEGER NOT NULL, -- seconds
    updated_at     INTEGER NOT NULL, -- seconds, when the status last changed
    touched_ms     INTEGER NOT NULL  -- milliseconds, when a hook last changed the row
) STRICT, WITHOUT ROWID;

CREATE INDEX agents_by_pane ON agents (tmux_socket, tmux_pane);
