-- The lasting record of a session.
CREATE TABLE sessions (
    id                INTEGER PRIMARY KEY,
    session_id        TEXT NOT NULL UNIQUE, -- the client's own, in the form that names files
    project           TEXT NOT NULL,
    project_key       TEXT NOT NULL,
    project_path      TEXT NOT NULL,
    first_user_prompt TEXT,
    last_prompt       TEXT,                 -- for a turn whose transcript cannot be read
    prompt_counter    INTEGER NOT NULL DEFAULT 0,
    status            TEXT NOT NULL DEFAULT 'initialized' CHECK (status IN ('initialized', 'active', 'completed')),
    end_reason        TEXT,
    inherits          TEXT,                 -- whom it would inherit, until its first prompt
    merged_into       TEXT,
    client_pid        INTEGER NOT NULL DEFAULT 0,
    transcript_path   TEXT,
    read_offset       INTEGER NOT NULL DEFAULT 0, -- how far the transcript has been read,
    read_mark         INTEGER NOT NULL DEFAULT 0, -- what stood just before that,
    read_turn         TEXT,                       -- the turn that ran there,
    read_tip          TEXT,                       -- and the last entry
    created_at        INTEGER NOT NULL,           -- milliseconds
    completed_at      INTEGER
) STRICT;

CREATE INDEX sessions_by_project ON sessions (project_key, created_at);

-- The entries of a transcript, to know what a rewind took back.
CREATE TABLE links (
    session_id TEXT NOT NULL,
    uuid       TEXT NOT NULL,
    position   INTEGER NOT NULL,
    parent     TEXT,
    turn       TEXT,
    PRIMARY KEY (session_id, uuid)
) STRICT, WITHOUT ROWID;

-- Turns, numbered within the session that they were in at first.
CREATE TABLE turns (
    session_id        TEXT NOT NULL,
    origin_session_id TEXT NOT NULL,
    turn_number       INTEGER NOT NULL,
    turn_id           TEXT NOT NULL,
    role              TEXT NOT NULL,
    interrupted       INTEGER NOT NULL DEFAULT 0,
    failure           TEXT,
    replaced          INTEGER NOT NULL DEFAULT 0, -- a rewind took it back
    pending_reply     TEXT,                       -- from the hook itself, until the transcript has it
    hidden            INTEGER NOT NULL DEFAULT 0, -- its reply ends inside a private passage
    chars             INTEGER NOT NULL DEFAULT 0, -- of everything in it
    created_at        INTEGER NOT NULL,
    PRIMARY KEY (origin_session_id, turn_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX turns_by_number ON turns (origin_session_id, turn_number);
CREATE INDEX turns_by_session ON turns (session_id, created_at, turn_number);

-- Second layer: what was said, word for word.
CREATE TABLE bodies (
    session_id        TEXT NOT NULL,
    origin_session_id TEXT NOT NULL,
    turn_number       INTEGER NOT NULL,
    role              TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text              TEXT NOT NULL,
    token_count       INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    UNIQUE (session_id, origin_session_id, turn_number, role)
) STRICT;

-- First layer: one line a turn.
CREATE TABLE skeletons (
    session_id        TEXT NOT NULL,
    origin_session_id TEXT NOT NULL,
    turn_number       INTEGER NOT NULL,
    role              TEXT NOT NULL,
    summary           TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    UNIQUE (session_id, origin_session_id, turn_number, role)
) STRICT;

-- Third layer: kept, never injected, fetched on demand.
CREATE TABLE details (
    session_id        TEXT NOT NULL,
    origin_session_id TEXT NOT NULL,
    turn_number       INTEGER NOT NULL,
    tool_name         TEXT,
    input_text        TEXT,
    output_text       TEXT,
    token_count       INTEGER NOT NULL,
    kind              TEXT NOT NULL CHECK (kind IN ('tool_input', 'tool_output', 'system', 'image', 'thinking')),
    is_error          INTEGER NOT NULL DEFAULT 0,
    source_id         TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    UNIQUE (session_id, origin_session_id, source_id)
) STRICT;

CREATE INDEX details_by_turn ON details (origin_session_id, turn_number);

CREATE TABLE handoff_batons (
    project_path TEXT NOT NULL,
    client_pid   INTEGER NOT NULL, -- 0 where unknown
    session_id   TEXT NOT NULL,
    trigger      TEXT NOT NULL,
    created_at   INTEGER NOT NULL, -- milliseconds
    PRIMARY KEY (project_path, client_pid)
) STRICT, WITHOUT ROWID;

CREATE TABLE injection_log (
    id             INTEGER PRIMARY KEY,
    session_id     TEXT NOT NULL,
    event_type     TEXT NOT NULL,
    predecessor    TEXT,
    reason         TEXT,
    turns_injected INTEGER NOT NULL DEFAULT 0,
    chars          INTEGER NOT NULL DEFAULT 0,
    tokens_saved   INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL
) STRICT;
