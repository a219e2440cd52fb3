-- How full a session's context is, as the client itself told its status line. The newest row of a model tells its window.
CREATE TABLE context (
    session_id    TEXT PRIMARY KEY,
    model         TEXT,
    window_tokens INTEGER,
    used_tokens   INTEGER,          -- NULL before the first reply
    used_percent  REAL,
    rate_limits   TEXT,             -- JSON as the client sent it; subscriptions only
    recorded_ms   INTEGER NOT NULL  -- milliseconds, when the values last changed
) STRICT, WITHOUT ROWID;

CREATE INDEX context_by_model ON context (model, recorded_ms);
