-- Terms of prompts with their replies, observations and summaries, as longhaul_memory::Terms makes them: each once per
-- row, without positions. The rowid says what a row is of (see recall/key.rs), so that a search in a project reads that
-- project's rows and no others. Terms that begin with = say where a row belongs.
--
-- The index is kept by code, not by triggers: SQLite cannot make the terms.
CREATE VIRTUAL TABLE passage_terms USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '.='"
);
INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);

-- Which prompt a turn's replies belong to. There is a row exactly where the replies are in the index.
CREATE TABLE replies (
    origin_session_id TEXT NOT NULL,
    turn_number       INTEGER NOT NULL,
    prompt_id         INTEGER NOT NULL REFERENCES user_prompts (id),
    part              INTEGER NOT NULL, -- from 1, within the prompt
    PRIMARY KEY (origin_session_id, turn_number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX replies_by_prompt ON replies (prompt_id, part);

-- What the index does not have yet: of each table the rows up to this id. `memory upkeep` works downwards.
CREATE TABLE passage_backlog (
    source TEXT PRIMARY KEY,
    todo   INTEGER NOT NULL, -- the rows up to this id are not in the index yet
    total  INTEGER NOT NULL  -- what `todo` was at first
) STRICT, WITHOUT ROWID;

INSERT INTO passage_backlog (source, todo, total)
SELECT 'user_prompts', coalesce(max(id), 0), coalesce(max(id), 0) FROM user_prompts UNION ALL
SELECT 'observations', coalesce(max(id), 0), coalesce(max(id), 0) FROM observations UNION ALL
SELECT 'session_summaries', coalesce(max(id), 0), coalesce(max(id), 0) FROM session_summaries UNION ALL
SELECT 'sessions', coalesce(max(id), 0), coalesce(max(id), 0) FROM sessions;

-- The triggers of the indexes of words get names of their own: both go when the index above is complete.
DROP TRIGGER user_prompts_inserted;
DROP TRIGGER user_prompts_deleted;
DROP TRIGGER observations_inserted;
DROP TRIGGER observations_deleted;
DROP TRIGGER observations_changing;
DROP TRIGGER observations_changed;

CREATE TRIGGER user_prompts_inserted AFTER INSERT ON user_prompts BEGIN
    INSERT INTO prompt_trigrams (rowid, prompt, mark) VALUES (new.id, new.prompt, new.mark);
END;
CREATE TRIGGER user_prompts_deleted BEFORE DELETE ON user_prompts BEGIN
    DELETE FROM prompt_trigrams WHERE rowid = old.id;
END;
CREATE TRIGGER observations_inserted AFTER INSERT ON observations BEGIN
    INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
    VALUES (new.id, new.title, new.files_read, new.files_modified, new.mark);
    UPDATE projects SET observations = observations + 1 WHERE id = new.project_id;
END;
CREATE TRIGGER observations_deleted BEFORE DELETE ON observations BEGIN
    DELETE FROM observation_trigrams WHERE rowid = old.id;
    UPDATE projects SET observations = observations - 1 WHERE id = old.project_id;
END;
CREATE TRIGGER observations_changing BEFORE UPDATE OF title, narrative, facts ON observations BEGIN
    DELETE FROM observation_trigrams WHERE rowid = old.id;
END;
CREATE TRIGGER observations_changed AFTER UPDATE OF title, narrative, facts ON observations BEGIN
    INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
    VALUES (new.id, new.title, new.files_read, new.files_modified, new.mark);
END;

CREATE TRIGGER user_prompts_words_inserted AFTER INSERT ON user_prompts BEGIN
    INSERT INTO prompt_words (rowid, prompt, scope) VALUES (new.id, new.prompt, new.scope);
END;
CREATE TRIGGER user_prompts_words_deleted BEFORE DELETE ON user_prompts BEGIN
    DELETE FROM prompt_words WHERE rowid = old.id;
END;
CREATE TRIGGER observations_words_inserted AFTER INSERT ON observations BEGIN
    INSERT INTO observation_words (rowid, title, narrative, facts, files_read, files_modified, scope)
    VALUES (new.id, new.title, new.narrative, new.facts, new.files_read, new.files_modified, new.scope);
END;
CREATE TRIGGER observations_words_deleted BEFORE DELETE ON observations BEGIN
    DELETE FROM observation_words WHERE rowid = old.id;
END;
CREATE TRIGGER observations_words_changing BEFORE UPDATE OF title, narrative, facts ON observations BEGIN
    DELETE FROM observation_words WHERE rowid = old.id;
END;
CREATE TRIGGER observations_words_changed AFTER UPDATE OF title, narrative, facts ON observations BEGIN
    INSERT INTO observation_words (rowid, title, narrative, facts, files_read, files_modified, scope)
    VALUES (new.id, new.title, new.narrative, new.facts, new.files_read, new.files_modified, new.scope);
END;
