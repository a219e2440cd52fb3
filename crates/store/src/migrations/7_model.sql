-- Better words from a model. A prompt is asked about once, together with what was observed for it and what it came to.
ALTER TABLE user_prompts ADD COLUMN model_at INTEGER; -- when a model was done with it, or it was given up; milliseconds

CREATE INDEX user_prompts_without_model ON user_prompts (created_at) WHERE model_at IS NULL;

-- What was spent, by local day.
CREATE TABLE model_days (
    day               TEXT PRIMARY KEY, -- YYYY-MM-DD
    requests          INTEGER NOT NULL DEFAULT 0,
    tokens_in         INTEGER NOT NULL DEFAULT 0,
    tokens_out        INTEGER NOT NULL DEFAULT 0,
    tokens_unreported INTEGER NOT NULL DEFAULT 0 -- of requests whose end nobody has seen: what they could have cost
) STRICT, WITHOUT ROWID;

-- Requests that are under way. One that is left behind by a worker that was killed counts as spent.
CREATE TABLE model_reservations (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt_id INTEGER NOT NULL, -- the row of user_prompts, which may be forgotten meanwhile
    day       TEXT NOT NULL,
    tokens    INTEGER NOT NULL
) STRICT;

-- Prompts for which it has failed, and when it is tried again.
CREATE TABLE model_failures (
    prompt_id INTEGER PRIMARY KEY REFERENCES user_prompts (id) ON DELETE CASCADE,
    attempts  INTEGER NOT NULL,
    next_at   INTEGER NOT NULL -- milliseconds
) STRICT;

-- What went wrong last, at most one row; gone with the next success.
CREATE TABLE model_trouble (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    at    INTEGER NOT NULL, -- milliseconds
    error TEXT NOT NULL
) STRICT;
