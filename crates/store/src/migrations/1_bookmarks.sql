CREATE TABLE bookmarks (
    id             INTEGER PRIMARY KEY,
    session_id     TEXT NOT NULL,
    created_at     INTEGER NOT NULL, -- milliseconds since the epoch, as in the activity log
    prompt_id      TEXT,
    note           TEXT,
    cwd            TEXT,
    git_commit     TEXT,
    git_dirty      INTEGER,          -- NULL where git did not answer in time
    context_tokens INTEGER
) STRICT;

CREATE INDEX bookmarks_by_session ON bookmarks (session_id, created_at);
