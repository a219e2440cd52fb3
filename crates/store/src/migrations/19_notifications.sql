-- What a notification says, and how long a turn took.
ALTER TABLE agents ADD COLUMN wants TEXT;          -- what the open permission dialog asks for
ALTER TABLE agents ADD COLUMN prompt_ms INTEGER;   -- the time of the last prompt, in milliseconds

-- The log of notifications: one row for each change of a session and each way. The key allows each of them once.
CREATE TABLE notifications (
    session_id TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,  -- when the session changed
    state      TEXT NOT NULL,     -- blocked, completed, failed or limit
    way        TEXT NOT NULL,
    result     TEXT NOT NULL CHECK (result IN ('waiting', 'sending', 'sent', 'suppressed', 'failed')),
    why        TEXT,              -- why it was suppressed, or has failed
    project    TEXT,
    text       TEXT,              -- what was sent
    ended_ms   INTEGER,           -- when the result was known
    PRIMARY KEY (session_id, at_ms, state, way)
) STRICT, WITHOUT ROWID;
