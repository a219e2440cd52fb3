CREATE TABLE snapshots (
    id           INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,  -- milliseconds since the epoch; of a bookmark, the same as in bookmarks
    kind         TEXT NOT NULL,     -- start, prompt, bookmark or restore
    prompt_id    TEXT,
    pinned       INTEGER NOT NULL,  -- whether it is dropped last
    work_tree    TEXT,              -- the folder; NULL outside of a repository
    tree_key     TEXT,              -- identifies the work tree in LONGHAUL_HOME/snapshots
    commit_id    TEXT,              -- in the private store; NULL where no snapshot was taken
    tree_id      TEXT,              -- the files
    head         TEXT,              -- the commit that was checked out
    branch       TEXT,
    under_way    TEXT,              -- a merge or rebase that was not finished
    index_tree   TEXT,              -- what was staged
    left_out     INTEGER NOT NULL DEFAULT 0,
    left_out_some TEXT,             -- the first of them, for the list
    files        INTEGER,           -- changed since the snapshot of this work tree before it; NULL for the first
    added        INTEGER,
    removed      INTEGER,
    bytes        INTEGER NOT NULL DEFAULT 0,
    took_ms      INTEGER,
    skipped      TEXT               -- why no snapshot was taken
) STRICT;

CREATE UNIQUE INDEX snapshots_by_event ON snapshots (session_id, created_at, kind);
