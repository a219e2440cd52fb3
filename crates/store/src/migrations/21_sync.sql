-- Hosts of the circle, this one included.
CREATE TABLE sync_hosts (
    id          INTEGER PRIMARY KEY,
    host        BLOB NOT NULL UNIQUE,
    name        TEXT NOT NULL DEFAULT '',
    is_own      INTEGER NOT NULL DEFAULT 0, -- whether it is this host, now or before it got a new id
    head        INTEGER NOT NULL DEFAULT 0, -- the highest idx in sync_log
    confirmed   INTEGER NOT NULL DEFAULT 0, -- of an own host, the highest idx that the engine has
    clock_ahead INTEGER NOT NULL DEFAULT 0, -- how far its clock is ahead, in milliseconds
    seen_at     INTEGER                     -- when it last exchanged, in milliseconds
) STRICT;

-- The circle that this database belongs to; no row without sync.
CREATE TABLE sync_self (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    circle    BLOB NOT NULL,
    host_id   INTEGER NOT NULL REFERENCES sync_hosts (id),
    machine   TEXT NOT NULL,    -- identifies the machine, so that a copy of the database is noticed
    joined_at INTEGER NOT NULL  -- milliseconds
) STRICT;

-- Projects that are shared, and those of other hosts that are not shared here.
CREATE TABLE sync_projects (
    id           INTEGER PRIMARY KEY,
    project      BLOB NOT NULL,
    project_key  TEXT UNIQUE,                -- NULL for a project of other hosts only
    name         TEXT NOT NULL,
    is_shared    INTEGER NOT NULL,
    since        INTEGER NOT NULL DEFAULT 0, -- what is older is not shared, in milliseconds
    -- Rows up to these numbers have been looked at:
    prompts      INTEGER NOT NULL DEFAULT 0,
    observations INTEGER NOT NULL DEFAULT 0,
    summaries    INTEGER NOT NULL DEFAULT 0,
    bookmarks    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The records of every host, without gaps. The texts are in the tables of the memory.
CREATE TABLE sync_log (
    host_id   INTEGER NOT NULL REFERENCES sync_hosts (id),
    idx       INTEGER NOT NULL,
    record_id BLOB NOT NULL,
    time      INTEGER NOT NULL,            -- milliseconds
    entity    BLOB,                        -- NULL where it is not known, and of a forgetting
    version   INTEGER NOT NULL DEFAULT 0,
    state     INTEGER NOT NULL DEFAULT 0,  -- see sync/log.rs
    project   BLOB,                        -- which project a record waits for
    content   BLOB,                        -- encrypted, of a record that waits; of an own forgetting, its entities as JSON
    PRIMARY KEY (host_id, idx)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_log_by_entity ON sync_log (entity) WHERE entity IS NOT NULL;
CREATE INDEX sync_log_open ON sync_log (state, record_id) WHERE state > 0;

-- Which row of the memory is which entity.
CREATE TABLE sync_entities (
    entity    BLOB PRIMARY KEY,
    what      INTEGER,            -- 0 prompt, 1 observation, 2 summary, 3 bookmark; NULL where only its tombstone is known
    row_id    INTEGER,            -- NULL where it was forgotten
    host_id   INTEGER NOT NULL REFERENCES sync_hosts (id), -- where it was made
    version   INTEGER NOT NULL,
    record_id BLOB NOT NULL,      -- of this version
    digest    BLOB,               -- of an own one: changes with its content
    forgotten INTEGER NOT NULL DEFAULT 0 -- 1: here, and the tombstone is not in the log yet; 2: the tombstone is in the log
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_entities_by_row ON sync_entities (what, row_id) WHERE row_id IS NOT NULL;
CREATE INDEX sync_entities_forgotten ON sync_entities (forgotten) WHERE forgotten = 1;

ALTER TABLE sessions ADD COLUMN host_id INTEGER; -- the host on which it ran; NULL for this one

-- Whatever deletes a record that others may have: they are to delete it, too.
CREATE TRIGGER user_prompts_forgotten AFTER DELETE ON user_prompts BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL, forgotten = max(forgotten, 1) WHERE what = 0 AND row_id = old.id;
END;
CREATE TRIGGER observations_forgotten AFTER DELETE ON observations BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL, forgotten = max(forgotten, 1) WHERE what = 1 AND row_id = old.id;
END;
CREATE TRIGGER session_summaries_forgotten AFTER DELETE ON session_summaries BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL, forgotten = max(forgotten, 1) WHERE what = 2 AND row_id = old.id;
END;
CREATE TRIGGER bookmarks_forgotten AFTER DELETE ON bookmarks BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL, forgotten = max(forgotten, 1) WHERE what = 3 AND row_id = old.id;
END;
