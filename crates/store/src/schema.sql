-- Times are in milliseconds since the epoch, unless a column says otherwise. Short where it can be: every hook that opens the
-- database reads all of it. So there are no references and no checks: a column NAME_id is the row of the table of that name, what
-- a text may be is an enum in the code, and what is deleted with what is in memory/forget.rs.

-- ## Sessions that run

-- Who is alive now. One row per session, one session per pane.
CREATE TABLE agents (
    session_id     TEXT PRIMARY KEY,
    status         TEXT NOT NULL,
    previous       TEXT,             -- the status before this one
    reason         TEXT,             -- why it is blocked
    wants          TEXT,             -- what the open permission dialog asks for
    cwd            TEXT,
    project_name   TEXT NOT NULL,
    git_branch     TEXT,
    prompt_summary TEXT,
    prompt_ms      INTEGER,          -- the time of the last prompt
    agent_type     TEXT,             -- teammate or worktree; NULL for the user's own sessions
    tmux_socket    TEXT,
    tmux_pane      TEXT,
    tmux_target    TEXT,
    agent_client   TEXT NOT NULL DEFAULT 'claude',
    pid            INTEGER,
    subagent_count INTEGER NOT NULL DEFAULT 0,
    task_count     INTEGER NOT NULL DEFAULT 0,
    stopped        INTEGER NOT NULL DEFAULT 0, -- the turn has ended, and subagents still run
    failed         INTEGER NOT NULL DEFAULT 0, -- the turn ended in an error, which stays shown until the next prompt
    asked_by       TEXT,             -- the subagent whose dialog is open; NULL for the main loop's
    permission_at  INTEGER,          -- when it last asked for permission, in seconds
    started_at     INTEGER NOT NULL, -- seconds
    updated_at     INTEGER NOT NULL, -- seconds, when the status last changed
    touched_ms     INTEGER NOT NULL  -- when a hook last changed the row
) STRICT, WITHOUT ROWID;

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
    seen_ms         INTEGER NOT NULL,
    project_name    TEXT NOT NULL,
    -- From the row of agents, when that is removed:
    git_branch      TEXT,
    prompt_summary  TEXT,
    agent_type      TEXT,
    status          TEXT
) STRICT, WITHOUT ROWID;


-- How full a session's context is, as the client itself told its status line. The newest row of a model tells its window.
CREATE TABLE context (
    session_id    TEXT PRIMARY KEY,
    model         TEXT,
    window_tokens INTEGER,
    used_tokens   INTEGER,          -- NULL before the first reply
    used_percent  REAL,
    rate_limits   TEXT,             -- JSON as the client sent it; subscriptions only
    recorded_ms   INTEGER NOT NULL  -- when the values last changed
) STRICT, WITHOUT ROWID;

CREATE INDEX context_by_model ON context (model, recorded_ms);

-- Clients that run our module: they can be asked, and nothing need be typed.
CREATE TABLE bridges (
    client_pid INTEGER PRIMARY KEY,
    plugin     TEXT NOT NULL,
    heard_ms   INTEGER NOT NULL, -- when it was last heard of
    errand     TEXT,             -- what it is to do when its turn ends, until it takes it
    trouble    TEXT              -- what it could not do last
) STRICT;

-- The log of notifications: one row for each change of a session and each way. The key allows each of them once.
CREATE TABLE notifications (
    session_id TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,  -- when the session changed
    state      TEXT NOT NULL,     -- blocked, completed, failed or limit
    way        TEXT NOT NULL,
    result     TEXT NOT NULL,
    why        TEXT,              -- why it was suppressed, or has failed
    project    TEXT,
    text       TEXT,              -- what was sent
    ended_ms   INTEGER,           -- when the result was known
    PRIMARY KEY (session_id, at_ms, state, way)
) STRICT, WITHOUT ROWID;

-- ## Bookmarks and snapshots

CREATE TABLE bookmarks (
    id             INTEGER PRIMARY KEY,
    session_id     TEXT NOT NULL,
    created_at     INTEGER NOT NULL, -- as in the activity log
    prompt_id      TEXT,
    note           TEXT,
    cwd            TEXT,
    git_commit     TEXT,
    git_dirty      INTEGER,          -- NULL where git did not answer in time
    context_tokens INTEGER,
    uid            BLOB,             -- these three as in turns
    host_id        INTEGER,
    version        INTEGER
) STRICT;

CREATE UNIQUE INDEX bookmarks_by_uid ON bookmarks (uid) WHERE uid IS NOT NULL;
CREATE INDEX bookmarks_by_session ON bookmarks (session_id, created_at);

CREATE TABLE snapshots (
    id            INTEGER PRIMARY KEY,
    session_id    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,  -- of a bookmark, the same as in bookmarks
    kind          TEXT NOT NULL,     -- start, prompt, bookmark, compaction, restore, work or end
    prompt_id     TEXT,
    pinned        INTEGER NOT NULL,  -- whether it is dropped last
    private       INTEGER NOT NULL DEFAULT 0, -- whether a private turn begins with it
    work_tree     TEXT,              -- the folder; NULL outside of a repository
    tree_key      TEXT,              -- identifies the work tree in LONGHAUL_HOME/snapshots
    commit_id     TEXT,              -- in the private store; NULL where no snapshot was taken
    tree_id       TEXT,              -- the files
    head          TEXT,              -- the commit that was checked out
    branch        TEXT,
    under_way     TEXT,              -- a merge or rebase that was not finished
    index_tree    TEXT,              -- what was staged
    left_out      INTEGER NOT NULL DEFAULT 0,
    left_out_some TEXT,              -- the first of them, for the list
    files         INTEGER,           -- changed since the snapshot of this work tree before it; NULL for the first
    changed_some  TEXT,              -- the first of them, as a JSON list
    added         INTEGER,
    removed       INTEGER,
    bytes         INTEGER NOT NULL DEFAULT 0,
    took_ms       INTEGER,
    skipped       TEXT               -- why no snapshot was taken
) STRICT;

CREATE UNIQUE INDEX snapshots_by_event ON snapshots (session_id, created_at, kind);

-- Line maps: which prompt, command or person each line of a file comes from. They outlive the snapshots.
CREATE TABLE blame (
    tree_key    TEXT NOT NULL,     -- as in snapshots
    path        TEXT NOT NULL,     -- encoded, because a path is bytes
    begins_at   INTEGER NOT NULL,  -- the time of the first snapshot that it has seen
    snapshot_at INTEGER NOT NULL,  -- the time of the snapshot that it goes up to
    blob        TEXT NOT NULL,     -- the content then; empty if there was no file
    lines       BLOB NOT NULL,     -- hashes of the lines, and the numbers of their origins
    origins     TEXT NOT NULL,     -- JSON array
    made_at     INTEGER NOT NULL,
    UNIQUE (tree_key, path)
) STRICT;

-- ## Handoff

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
    status            TEXT NOT NULL DEFAULT 'initialized',
    end_reason        TEXT,
    inherits          TEXT,                 -- whom it would inherit, until its first prompt
    merged_into       TEXT,
    client_pid        INTEGER NOT NULL DEFAULT 0,
    transcript_path   TEXT,
    read_offset       INTEGER NOT NULL DEFAULT 0, -- how far the transcript has been read,
    read_mark         INTEGER NOT NULL DEFAULT 0, -- what stood just before that,
    read_turn         TEXT,                       -- the turn that ran there,
    read_tip          TEXT,                       -- and the last entry
    spool_offset      INTEGER NOT NULL DEFAULT 0, -- how far the hook's own notes have been read
    shown_records     INTEGER NOT NULL DEFAULT 0, -- records of memory that it began with
    compaction        TEXT,                 -- what is given back to it after the compaction that runs, as JSON
    host_id           INTEGER,              -- the host on which it ran; NULL for this one
    forgotten_at      INTEGER,              -- what was before is not to be remembered again
    created_at        INTEGER NOT NULL,
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

-- Turns: what was asked, what was answered, and what came of it, one row each, from whichever source saw it first. A turn whose
-- prompt the memory has is `P12` by its id. Ids are never given twice: somebody may still ask for one that was forgotten.
--
-- `mark` exists in the index of trigrams only. It says which project a row belongs to, so that a search within a project costs
-- what it finds and not what it leaves out. It is three characters of the private use area, which makes it exactly one trigram.
CREATE TABLE turns (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    INTEGER NOT NULL, -- in which it ran
    owner_id      INTEGER NOT NULL, -- that has inherited it, else the same
    -- As the memory has it; NULL where it must not have it, or not yet:
    project_id    INTEGER,                    -- of projects; no reference, because no index finds it by that
    prompt_number INTEGER,                    -- within the session
    prompt_id     TEXT,
    -- A prompt with many observations is asked about in several requests. After the first, it counts as dealt with.
    model_at      INTEGER,                    -- when a model was done with it, or it was given up
    attempts      INTEGER NOT NULL DEFAULT 0, -- how many requests about it have failed,
    next_at       INTEGER NOT NULL DEFAULT 0, -- and when it is tried again
    asked_to      INTEGER,                    -- while more requests are to come: observations up to this id have been asked about
    forgotten     INTEGER NOT NULL DEFAULT 0, -- no text is left of it, and what comes of it later is not kept
    -- As the transcript has it; NULL until that, or the hook at the end of the turn, has told it:
    number        INTEGER,                    -- within the session
    turn_id       TEXT,                       -- begins with hook: where the transcript does not have it yet
    role          TEXT,
    began_at      INTEGER,
    replied_at    INTEGER,
    interrupted   INTEGER NOT NULL DEFAULT 0,
    failure       TEXT,
    replaced      INTEGER NOT NULL DEFAULT 0, -- a rewind took it back
    hidden        INTEGER NOT NULL DEFAULT 0, -- its reply ends inside a private passage
    chars         INTEGER NOT NULL DEFAULT 0, -- of everything in it
    provisional   INTEGER NOT NULL DEFAULT 0, -- how many bytes at the end of the reply a hook has told, and the transcript not yet
    passage       INTEGER, -- whose prompt the reply answers, exactly where the reply is in the index,
    part          INTEGER,                       -- from 1, within the passage
    -- As the circle of sync knows it; NULL where it does not:
    uid           BLOB,                       -- the entity
    host_id       INTEGER,                    -- the other host, of sync_hosts, that wrote it; NULL for this one
    version       INTEGER,
    created_at    INTEGER NOT NULL,           -- when it was first seen
    mark          TEXT GENERATED ALWAYS AS
                  (char(57344, 57344 + project_id / 6400, 57344 + project_id % 6400)) VIRTUAL,
    line          TEXT,                       -- the turn in one line, by rule
    model_line    TEXT,                       -- the same by a model; empty where it returned nothing that can be shown
    prompt        TEXT,
    reply         TEXT,
    UNIQUE (session_id, turn_id),
    UNIQUE (session_id, number),
    UNIQUE (session_id, prompt_number)
) STRICT;

CREATE UNIQUE INDEX turns_by_uid ON turns (uid) WHERE uid IS NOT NULL;
CREATE INDEX turns_by_owner ON turns (owner_id, began_at, number);
CREATE UNIQUE INDEX turns_by_answered ON turns (passage, part) WHERE passage IS NOT NULL;
-- What is looked for often and is rare: replies that the transcript has not brought yet, what a rewind took back, what was
-- forgotten, and prompts that a model is asked about in several requests. A query that has one of the conditions as it is here
-- can use the index.
CREATE INDEX turns_special ON turns (session_id, created_at)
    WHERE provisional > 0 OR replaced <> 0 OR forgotten > 0 OR asked_to IS NOT NULL;
CREATE INDEX turns_by_project ON turns (project_id, created_at) WHERE prompt_number IS NOT NULL;
-- A turn that a source tells is looked for by its prompt's id and by its time.
CREATE INDEX turns_by_prompt_id ON turns (session_id, prompt_id);
CREATE INDEX turns_by_time ON turns (session_id, created_at);
CREATE INDEX turns_without_model ON turns (created_at) WHERE prompt_number IS NOT NULL AND model_at IS NULL;

-- The prompts that the memory has.
CREATE VIEW prompts AS SELECT * FROM turns WHERE prompt_number IS NOT NULL;

-- Raw text, fetched on demand and never shown to a model by itself: of each call of a transcript, and what else is in it. It
-- expires.
CREATE TABLE details (
    session_id  INTEGER NOT NULL, -- in which it was made
    turn        INTEGER,                    -- the turn's id, where that is known
    source_id   TEXT NOT NULL,              -- of a call, its tool_use_id
    kind        TEXT NOT NULL,              -- tool, system, image or thinking
    tool_name   TEXT,
    input_text  TEXT,                       -- of a call only
    output_text TEXT,
    is_error    INTEGER NOT NULL DEFAULT 0,
    subagent    INTEGER NOT NULL DEFAULT 0, -- made by a subagent; the session's own are also in its transcript
    created_at  INTEGER NOT NULL,
    UNIQUE (session_id, source_id)
) STRICT;

CREATE INDEX details_by_turn ON details (turn);

-- What became of each handoff, and what was handed over.
CREATE TABLE handoff_log (
    id              INTEGER PRIMARY KEY,
    session_id      TEXT NOT NULL,
    event           TEXT NOT NULL,    -- of a step of a chain: its state then
    predecessor     TEXT,
    reason          TEXT,
    turns_injected  INTEGER NOT NULL DEFAULT 0,
    chars           INTEGER NOT NULL DEFAULT 0,
    tokens_saved    INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    -- Of a baton that was written, until it is taken or dropped: where it lies. It offers the predecessor, and the reason is its
    -- trigger.
    project_path    TEXT,
    client_pid      INTEGER,          -- 0 where unknown
    laid_at         INTEGER,          -- when its session ended, if that was after its trigger; its age counts from then
    -- Of a step of a chain:
    continuation_id INTEGER,
    round           INTEGER,
    attempt         INTEGER,
    deadline        INTEGER,
    -- What the session handed over with it:
    front           TEXT,             -- its front matter, with whatever keys it has
    body            TEXT,
    remaining       TEXT              -- what was left to do, in a form that can be compared
) STRICT;

CREATE INDEX handoff_injected ON handoff_log (session_id) WHERE event = 'injected';
CREATE UNIQUE INDEX handoff_batons ON handoff_log (project_path, client_pid) WHERE project_path IS NOT NULL;
CREATE INDEX continuation_handoffs ON handoff_log (continuation_id, id) WHERE body IS NOT NULL;

-- ## Continuation

-- A chain of sessions that carry one task on, and where it stands.
CREATE TABLE continuations (
    id           INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL,             -- the session that the chain has come to
    project_path TEXT NOT NULL,
    client_pid   INTEGER NOT NULL DEFAULT 0, -- 0 where unknown
    place        TEXT,                      -- the terminal, by the name of its lock
    state        TEXT NOT NULL,
    round        INTEGER NOT NULL DEFAULT 0,
    nonce        TEXT NOT NULL DEFAULT '',
    asked_at     INTEGER NOT NULL DEFAULT 0,
    fired        TEXT NOT NULL DEFAULT '[]', -- the limits that have fired in this session
    attempt      INTEGER NOT NULL DEFAULT 0,
    since        INTEGER NOT NULL,
    deadline     INTEGER NOT NULL DEFAULT 0,
    paused       INTEGER NOT NULL DEFAULT 0,
    lifts        INTEGER NOT NULL DEFAULT 0, -- how often it went on by itself after the account's limit
    question     INTEGER NOT NULL DEFAULT 0, -- how the handoff was asked for: the number of `Question`
    stuck_in     TEXT,
    reason       TEXT NOT NULL DEFAULT '',
    untold       TEXT,                      -- what the user is yet to be told
    taken        TEXT,                      -- the step that somebody is at: the client's module, or whoever types
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX continuations_by_session ON continuations (session_id, since);

-- ## Memory

-- Projects by number, which is short enough to stand in every row and index.
CREATE TABLE projects (
    id                INTEGER PRIMARY KEY,
    project_key       TEXT UNIQUE,                -- NULL for a project of other hosts only, which has no records
    name              TEXT NOT NULL,
    observations      INTEGER NOT NULL DEFAULT 0, -- how many: counting a million takes too long for a hook
    -- As the circle of sync knows it, if it does; NULL and 0 where it does not:
    sync_id           BLOB,
    sync_name         TEXT,
    is_shared         INTEGER NOT NULL DEFAULT 0, -- from here
    since             INTEGER NOT NULL DEFAULT 0, -- what is older is not shared
    -- Rows up to these numbers have been looked at:
    seen_prompts      INTEGER NOT NULL DEFAULT 0,
    seen_observations INTEGER NOT NULL DEFAULT 0,
    seen_summaries    INTEGER NOT NULL DEFAULT 0,
    seen_bookmarks    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Ids, no more, of what has no row of its own, or is not to get one again. The id of a session has no space, so that scopes
-- are apart:
--   a session    prompts of which nothing may be kept, and the subagents that they started
--   'a call'     calls that repeat one that has a row, and, without `same_as`, calls that are to be forgotten
--   'tombstone', 'tombstone to write', 'tombstone of N', 'forgotten here'
--                entities of sync that were forgotten: here, by the host N, or only on this one (sync/identity.rs)
--   'from P'     what has come over from the program P, by its key there. It comes over once: what is forgotten here stays
--                forgotten, although it is still there
CREATE TABLE known_ids (
    scope   TEXT NOT NULL,
    id      TEXT NOT NULL,
    same_as TEXT,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;

-- Numbers are never given twice, and `mark` is as in turns.
CREATE TABLE observations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id     INTEGER, -- NULL for a note that no session made
    project_id     INTEGER NOT NULL,
    prompt_number  INTEGER NOT NULL,
    tool_use_id    TEXT UNIQUE,                -- NULL for notes
    kind           TEXT NOT NULL,
    tool_name      TEXT NOT NULL,
    title          TEXT NOT NULL,
    narrative      TEXT NOT NULL,
    facts          TEXT NOT NULL,              -- JSON array
    files_read     TEXT NOT NULL,              -- JSON array
    files_modified TEXT NOT NULL,              -- JSON array
    command_key    TEXT,                       -- what makes two commands the same
    fold_key       INTEGER,                    -- what makes two calls the same
    repeats        INTEGER NOT NULL DEFAULT 0, -- how often it came again
    made_by        TEXT NOT NULL,
    uid            BLOB,                       -- these three as in turns
    host_id        INTEGER,
    version        INTEGER,
    created_at     INTEGER NOT NULL,
    mark           TEXT GENERATED ALWAYS AS
                   (char(57344, 57344 + project_id / 6400, 57344 + project_id % 6400)) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX observations_by_uid ON observations (uid) WHERE uid IS NOT NULL;
CREATE INDEX observations_by_session ON observations (session_id, created_at);
CREATE INDEX observations_by_project ON observations (project_id, created_at);
CREATE INDEX observations_by_command ON observations (session_id, command_key) WHERE command_key IS NOT NULL;

CREATE TABLE session_summaries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    INTEGER NOT NULL,
    project_id    INTEGER NOT NULL,
    prompt_number INTEGER NOT NULL,
    request       TEXT NOT NULL,
    investigated  TEXT NOT NULL,
    learned       TEXT NOT NULL,
    completed     TEXT NOT NULL,
    next_steps    TEXT NOT NULL,
    exchanges     TEXT, -- what was asked in some turns and what came of each, the most important first, as JSON; NULL unless a rule made it
    made_by       TEXT NOT NULL,
    uid           BLOB, -- these three as in turns
    host_id       INTEGER,
    version       INTEGER,
    created_at    INTEGER NOT NULL,
    UNIQUE (session_id, prompt_number)
) STRICT;

CREATE UNIQUE INDEX session_summaries_by_uid ON session_summaries (uid) WHERE uid IS NOT NULL;
CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at);

-- ## Search

-- Trigrams, for parts of words. Only which row has which: where in it would take three times the room, and a match is
-- compared with the text anyway.
CREATE VIRTUAL TABLE prompt_trigrams USING fts5 (
    prompt, mark,
    content = 'prompts', content_rowid = 'id', columnsize = 0, detail = none, tokenize = 'trigram'
);
CREATE VIRTUAL TABLE observation_trigrams USING fts5 (
    title, files_read, files_modified, mark,
    content = 'observations', content_rowid = 'id', columnsize = 0, detail = none, tokenize = 'trigram'
);

-- Terms of prompts with their replies, observations and summaries, as longhaul_memory::Terms makes them: each once per
-- row, without positions. The rowid says what a row is of (see recall/key.rs), so that a search in a project reads that
-- project's rows and no others. Terms that begin with = say where a row belongs.
--
-- All indexes, vectors and counts are kept by code (recall/index.rs): every hook would have to read triggers.
CREATE VIRTUAL TABLE passage_terms USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '.='"
);

-- What is deleted leaves the indexes at once, instead of being marked as deleted until a merge.
INSERT INTO prompt_trigrams (prompt_trigrams, rank) VALUES ('secure-delete', 1);
INSERT INTO observation_trigrams (observation_trigrams, rank) VALUES ('secure-delete', 1);
INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);

-- The indexes that code keeps: 0 is that of passages, the others are vectors, by the model that has computed them. Only vectors
-- of the same model compare. An index of passages with another version of the terms than the program's is emptied and built
-- again by `memory upkeep`, which works downwards.
CREATE TABLE indexes (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,         -- of the model
    form   INTEGER NOT NULL,             -- the version of the terms, 0 where the index is damaged; the dimensions of the vectors
    -- By table, as JSON. Of passages, the rows up to the first number are not in the index yet; the second is what the first
    -- was at the beginning. Of vectors, everything from the first number to the second has been looked at.
    ranges TEXT NOT NULL DEFAULT '{}'
) STRICT;

INSERT INTO indexes (id, name, form) VALUES (0, '', 0);

-- ## Vectors: what records are about, as numbers that a model has computed

-- Where each vector stands. A long record has several parts. One whose vectors are to be computed again, because its words have
-- changed or its reply is still to come, has part -1.
CREATE TABLE vector_slots (
    what      INTEGER NOT NULL,
    record_id INTEGER NOT NULL,
    model_id  INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    slot      INTEGER, -- NULL for part -1
    bytes     INTEGER, -- of part -1: of the text that the vectors were computed from; NULL where it has changed
    PRIMARY KEY (what, record_id, model_id, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX vector_slots_again ON vector_slots (model_id, record_id) WHERE part = -1;

-- 128 vectors side by side, because reading a row for each takes longer than comparing it. A key has 16 bytes.
CREATE TABLE vector_blocks (
    model_id INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    keys     BLOB NOT NULL,
    vectors  BLOB NOT NULL,
    PRIMARY KEY (model_id, block)
) STRICT;

-- ## Better words from a model

-- A prompt is asked about once, together with what was observed for it and what it came to.

-- What each day has spent, and, with `prompt_id`, requests that are under way and what they may spend. One that is left behind by
-- a worker that was killed counts as spent.
CREATE TABLE model_spending (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    day               TEXT NOT NULL,    -- the local day, YYYY-MM-DD
    prompt_id         INTEGER,          -- the row of turns, which may be forgotten meanwhile
    requests          INTEGER NOT NULL DEFAULT 0,
    tokens_in         INTEGER NOT NULL DEFAULT 0,
    tokens_out        INTEGER NOT NULL DEFAULT 0,
    tokens_unreported INTEGER NOT NULL DEFAULT 0, -- of requests whose end nobody has seen: what they could have cost
    error             TEXT,   -- what went wrong last, and when; gone with the next success
    error_at          INTEGER
) STRICT;

CREATE UNIQUE INDEX model_spending_by_day ON model_spending (day) WHERE prompt_id IS NULL;

-- ## Sync

-- Hosts of the circle, this one included.
CREATE TABLE sync_hosts (
    id          INTEGER PRIMARY KEY,
    host        BLOB NOT NULL UNIQUE,
    name        TEXT NOT NULL DEFAULT '',
    is_own      INTEGER NOT NULL DEFAULT 0, -- whether it is this host, now or before it got a new id
    head        INTEGER NOT NULL DEFAULT 0, -- the highest idx in sync_log
    confirmed   INTEGER NOT NULL DEFAULT 0, -- of an own host, the highest idx that the engine has
    epoch       INTEGER NOT NULL DEFAULT 0, -- the highest number of a key that a record of the host was encrypted with
    clock_ahead INTEGER NOT NULL DEFAULT 0, -- how far its clock is ahead
    seen_at     INTEGER,                    -- when it last exchanged
    -- Of the one row that is this host, while it is in a circle; NULL in all others:
    circle      BLOB,
    machine     TEXT,                       -- identifies the machine, so that a copy of the database is noticed
    key_epoch   INTEGER,                    -- the highest number of a key that the engine had: a lower one is not used any more
    damaged_at  INTEGER,                    -- when records that could not be read were last fetched again
    joined_at   INTEGER
) STRICT;

-- The records of every host, without gaps. The texts are in the tables of the memory.
CREATE TABLE sync_log (
    host_id   INTEGER NOT NULL,
    idx       INTEGER NOT NULL,
    record_id BLOB NOT NULL,
    time      INTEGER NOT NULL,
    entity    BLOB,                        -- NULL where it is not known, and of a forgetting
    version   INTEGER NOT NULL DEFAULT 0,
    state     INTEGER NOT NULL DEFAULT 0,  -- see sync/log.rs
    project   BLOB,                        -- which project a record waits for
    content   BLOB,                        -- encrypted, of a record that waits; of an own one, the digest of the row, or the
                                           -- entities that were forgotten, as JSON
    PRIMARY KEY (host_id, idx)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_log_by_entity ON sync_log (entity) WHERE entity IS NOT NULL;
CREATE INDEX sync_log_open ON sync_log (state, record_id) WHERE state > 0;
