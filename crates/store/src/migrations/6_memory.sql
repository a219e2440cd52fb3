-- Projects by number, which is short enough to stand in every row and index.
CREATE TABLE projects (
    id           INTEGER PRIMARY KEY,
    project_key  TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    observations INTEGER NOT NULL DEFAULT 0 -- how many, kept by triggers: counting a million takes too long for a hook
) STRICT;

ALTER TABLE sessions ADD COLUMN spool_offset INTEGER NOT NULL DEFAULT 0; -- how far the hook's own notes have been read
ALTER TABLE sessions ADD COLUMN forgotten_at INTEGER; -- what was before is not to be remembered again

-- Ids, no more, of prompts of which nothing may be kept, and of the subagents that they started.
CREATE TABLE private_ids (
    session_id TEXT NOT NULL,
    id         TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;

-- Numbers are never given twice: somebody may still ask for one that was forgotten.
--
-- `scope` and `mark` exist in the indexes only. They are words of their own that say where a row belongs, so that a
-- search within a project, a session, a kind or a month costs what it finds and not what it leaves out. A mark is three
-- characters of the private use area, which makes it exactly one trigram. A "month" is thirty days.
CREATE TABLE user_prompts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id    INTEGER NOT NULL REFERENCES projects (id),
    prompt_number INTEGER NOT NULL,
    prompt_id     TEXT,
    prompt        TEXT NOT NULL,
    created_at    INTEGER NOT NULL, -- milliseconds
    scope         TEXT GENERATED ALWAYS AS
                  ('p' || project_id || ' s' || session_id || ' t' || (created_at / 2592000000)) VIRTUAL,
    mark          TEXT GENERATED ALWAYS AS
                  (char(57344, 57344 + project_id / 6400, 57344 + project_id % 6400)) VIRTUAL,
    UNIQUE (session_id, prompt_number)
) STRICT;

CREATE INDEX user_prompts_by_project ON user_prompts (project_id, created_at);

CREATE TABLE observations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id     INTEGER REFERENCES sessions (id) ON DELETE CASCADE, -- NULL for a note that no session made
    project_id     INTEGER NOT NULL REFERENCES projects (id),
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
    made_by        TEXT NOT NULL CHECK (made_by IN ('rule', 'model', 'person')),
    created_at     INTEGER NOT NULL,           -- milliseconds
    scope          TEXT GENERATED ALWAYS AS
                   ('p' || project_id || ' s' || coalesce(session_id, 0) || ' k' || kind
                    || ' t' || (created_at / 2592000000)) VIRTUAL,
    mark           TEXT GENERATED ALWAYS AS
                   (char(57344, 57344 + project_id / 6400, 57344 + project_id % 6400)) VIRTUAL,
    CHECK (session_id IS NOT NULL OR kind = 'note')
) STRICT;

CREATE INDEX observations_by_session ON observations (session_id, created_at);
CREATE INDEX observations_by_project ON observations (project_id, created_at);
CREATE INDEX observations_by_command ON observations (session_id, command_key) WHERE command_key IS NOT NULL;

-- Calls that have no row of their own: repeats of one that has, and, where that is NULL, calls that are to be forgotten.
CREATE TABLE folded_calls (
    tool_use_id    TEXT PRIMARY KEY,
    observation_id INTEGER REFERENCES observations (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX folded_calls_by_observation ON folded_calls (observation_id);

CREATE TABLE session_summaries (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project_id    INTEGER NOT NULL REFERENCES projects (id),
    prompt_number INTEGER NOT NULL,
    request       TEXT NOT NULL,
    investigated  TEXT NOT NULL,
    learned       TEXT NOT NULL,
    completed     TEXT NOT NULL,
    next_steps    TEXT NOT NULL,
    made_by       TEXT NOT NULL CHECK (made_by IN ('rule', 'model', 'person')),
    created_at    INTEGER NOT NULL, -- milliseconds
    scope         TEXT GENERATED ALWAYS AS
                  ('p' || project_id || ' s' || session_id || ' t' || (created_at / 2592000000)) VIRTUAL,
    UNIQUE (session_id, prompt_number)
) STRICT;

CREATE INDEX session_summaries_by_project ON session_summaries (project_id, created_at);

-- Words. The text stays in the tables above; `_` separates words, so that `config` finds `read_config`. Sizes of columns
-- are not kept, because ranking does without them.
CREATE VIRTUAL TABLE prompt_words USING fts5 (
    prompt, scope,
    content = 'user_prompts', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE observation_words USING fts5 (
    title, narrative, facts, files_read, files_modified, scope,
    content = 'observations', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE summary_words USING fts5 (
    request, investigated, learned, completed, next_steps, scope,
    content = 'session_summaries', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);

-- Trigrams, for parts of words. Only which row has which: where in it would take three times the room, and a match is
-- compared with the text anyway.
CREATE VIRTUAL TABLE prompt_trigrams USING fts5 (
    prompt, mark,
    content = 'user_prompts', content_rowid = 'id', columnsize = 0, detail = none, tokenize = 'trigram'
);
CREATE VIRTUAL TABLE observation_trigrams USING fts5 (
    title, files_read, files_modified, mark,
    content = 'observations', content_rowid = 'id', columnsize = 0, detail = none, tokenize = 'trigram'
);

-- What is deleted leaves the indexes at once, instead of being marked as deleted until a merge.
INSERT INTO prompt_words (prompt_words, rank) VALUES ('secure-delete', 1);
INSERT INTO observation_words (observation_words, rank) VALUES ('secure-delete', 1);
INSERT INTO summary_words (summary_words, rank) VALUES ('secure-delete', 1);
INSERT INTO prompt_trigrams (prompt_trigrams, rank) VALUES ('secure-delete', 1);
INSERT INTO observation_trigrams (observation_trigrams, rank) VALUES ('secure-delete', 1);

-- Before a row goes or changes, its words go: the index reads there which they are. Short, because every opening of the
-- database reads all of it.
CREATE TRIGGER user_prompts_inserted AFTER INSERT ON user_prompts BEGIN
    INSERT INTO prompt_words (rowid, prompt, scope) VALUES (new.id, new.prompt, new.scope);
    INSERT INTO prompt_trigrams (rowid, prompt, mark) VALUES (new.id, new.prompt, new.mark);
END;
CREATE TRIGGER user_prompts_deleted BEFORE DELETE ON user_prompts BEGIN
    DELETE FROM prompt_words WHERE rowid = old.id;
    DELETE FROM prompt_trigrams WHERE rowid = old.id;
END;
-- What was asked is never put into other words.
CREATE TRIGGER user_prompts_kept BEFORE UPDATE OF session_id, project_id, prompt, created_at ON user_prompts BEGIN
    SELECT raise(ABORT, 'a prompt is never changed');
END;

CREATE TRIGGER observations_inserted AFTER INSERT ON observations BEGIN
    INSERT INTO observation_words (rowid, title, narrative, facts, files_read, files_modified, scope)
    VALUES (new.id, new.title, new.narrative, new.facts, new.files_read, new.files_modified, new.scope);
    INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
    VALUES (new.id, new.title, new.files_read, new.files_modified, new.mark);
    UPDATE projects SET observations = observations + 1 WHERE id = new.project_id;
END;
CREATE TRIGGER observations_deleted BEFORE DELETE ON observations BEGIN
    DELETE FROM observation_words WHERE rowid = old.id;
    DELETE FROM observation_trigrams WHERE rowid = old.id;
    UPDATE projects SET observations = observations - 1 WHERE id = old.project_id;
END;
-- Words may change, what happened may not.
CREATE TRIGGER observations_kept
BEFORE UPDATE OF session_id, project_id, kind, files_read, files_modified, created_at ON observations BEGIN
    SELECT raise(ABORT, 'an observation only changes its words');
END;
CREATE TRIGGER observations_changing BEFORE UPDATE OF title, narrative, facts ON observations BEGIN
    DELETE FROM observation_words WHERE rowid = old.id;
    DELETE FROM observation_trigrams WHERE rowid = old.id;
END;
CREATE TRIGGER observations_changed AFTER UPDATE OF title, narrative, facts ON observations BEGIN
    INSERT INTO observation_words (rowid, title, narrative, facts, files_read, files_modified, scope)
    VALUES (new.id, new.title, new.narrative, new.facts, new.files_read, new.files_modified, new.scope);
    INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
    VALUES (new.id, new.title, new.files_read, new.files_modified, new.mark);
END;

CREATE TRIGGER session_summaries_inserted AFTER INSERT ON session_summaries BEGIN
    INSERT INTO summary_words (rowid, request, investigated, learned, completed, next_steps, scope)
    VALUES (new.id, new.request, new.investigated, new.learned, new.completed, new.next_steps, new.scope);
END;
CREATE TRIGGER session_summaries_deleted BEFORE DELETE ON session_summaries BEGIN
    DELETE FROM summary_words WHERE rowid = old.id;
END;
CREATE TRIGGER session_summaries_changing BEFORE UPDATE ON session_summaries BEGIN
    DELETE FROM summary_words WHERE rowid = old.id;
END;
CREATE TRIGGER session_summaries_changed AFTER UPDATE ON session_summaries BEGIN
    INSERT INTO summary_words (rowid, request, investigated, learned, completed, next_steps, scope)
    VALUES (new.id, new.request, new.investigated, new.learned, new.completed, new.next_steps, new.scope);
END;
