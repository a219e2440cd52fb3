-- A chain of sessions that carry one task on, and where it stands.
CREATE TABLE continuations (
    id           INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL,             -- the session that the chain has come to
    project_path TEXT NOT NULL,
    client_pid   INTEGER NOT NULL DEFAULT 0, -- 0 where unknown
    place        TEXT,                      -- the terminal, by the name of its lock
    state        TEXT NOT NULL CHECK (state IN ('armed', 'asked', 'clearing', 'prompting', 'done', 'failed', 'cancelled')),
    round        INTEGER NOT NULL DEFAULT 0,
    nonce        TEXT NOT NULL DEFAULT '',
    asked_at     INTEGER NOT NULL DEFAULT 0, -- milliseconds, as everywhere
    fired        TEXT NOT NULL DEFAULT '[]', -- the limits that have fired in this session
    attempt      INTEGER NOT NULL DEFAULT 0,
    since        INTEGER NOT NULL,
    deadline     INTEGER NOT NULL DEFAULT 0,
    paused       INTEGER NOT NULL DEFAULT 0,
    lifts        INTEGER NOT NULL DEFAULT 0, -- how often it went on by itself after the account's limit
    by_prompt    INTEGER NOT NULL DEFAULT 0, -- whether the question was put as a prompt
    stuck_in     TEXT,
    reason       TEXT NOT NULL DEFAULT '',
    untold       TEXT,                      -- what the user is yet to be told
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX continuations_by_session ON continuations (session_id, since);
CREATE INDEX continuations_open ON continuations (since) WHERE state IN ('asked', 'clearing', 'prompting');

-- Every step of every chain.
CREATE TABLE continuation_steps (
    id              INTEGER PRIMARY KEY,
    continuation_id INTEGER NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    session_id      TEXT NOT NULL,
    round           INTEGER NOT NULL,
    state           TEXT NOT NULL,
    attempt         INTEGER NOT NULL,
    reason          TEXT NOT NULL,
    at              INTEGER NOT NULL,
    deadline        INTEGER NOT NULL
) STRICT;

-- What each round handed over.
CREATE TABLE continuation_handoffs (
    id              INTEGER PRIMARY KEY, -- rounds are counted anew after a person's prompt
    continuation_id INTEGER NOT NULL REFERENCES continuations (id) ON DELETE CASCADE,
    round           INTEGER NOT NULL,
    session_id      TEXT NOT NULL, -- the session that wrote it
    front           TEXT NOT NULL, -- its front matter, with whatever keys it has
    body            TEXT NOT NULL,
    remaining       TEXT NOT NULL, -- what was left to do, in a form that can be compared
    at              INTEGER NOT NULL
) STRICT;

CREATE INDEX continuation_handoffs_by_chain ON continuation_handoffs (continuation_id, id);
