-- Vectors: what records are about, as numbers that a model has computed. Only vectors of the same model compare.
CREATE TABLE vector_models (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dims INTEGER NOT NULL
) STRICT;

-- How far a model has come: everything from `lowest` to `highest` has been looked at.
CREATE TABLE vector_ranges (
    model_id INTEGER NOT NULL REFERENCES vector_models (id) ON DELETE CASCADE,
    what     INTEGER NOT NULL, -- 0 prompt, 1 observation, 2 summary
    lowest   INTEGER NOT NULL,
    highest  INTEGER NOT NULL,
    PRIMARY KEY (model_id, what)
) STRICT, WITHOUT ROWID;

-- Where each vector stands. A long record has several parts.
CREATE TABLE vector_slots (
    what      INTEGER NOT NULL,
    record_id INTEGER NOT NULL,
    model_id  INTEGER NOT NULL REFERENCES vector_models (id),
    part      INTEGER NOT NULL,
    slot      INTEGER NOT NULL,
    PRIMARY KEY (what, record_id, model_id, part)
) STRICT, WITHOUT ROWID;

-- 128 vectors side by side, because reading a row for each takes longer than comparing it. A key has 16 bytes.
CREATE TABLE vector_blocks (
    model_id INTEGER NOT NULL REFERENCES vector_models (id),
    block    INTEGER NOT NULL,
    keys     BLOB NOT NULL,
    vectors  BLOB NOT NULL,
    PRIMARY KEY (model_id, block)
) STRICT;

-- Records whose vectors are to be computed again: their words have changed, or their reply is still to come.
CREATE TABLE vector_redo (
    model_id  INTEGER NOT NULL REFERENCES vector_models (id) ON DELETE CASCADE,
    what      INTEGER NOT NULL,
    record_id INTEGER NOT NULL,
    bytes     INTEGER, -- of the text that the vectors were computed from; NULL where it has changed
    PRIMARY KEY (what, record_id, model_id)
) STRICT, WITHOUT ROWID;

-- A vector goes with its record, its bytes included.
CREATE TRIGGER vector_slots_deleted AFTER DELETE ON vector_slots BEGIN
    UPDATE vector_blocks SET
        keys = CAST(substr(keys, 1, old.slot % 128 * 16) || zeroblob(16) || substr(keys, old.slot % 128 * 16 + 17) AS BLOB),
        vectors = CAST(substr(vectors, 1, old.slot % 128 * (length(vectors) / 128)) || zeroblob(length(vectors) / 128)
                       || substr(vectors, (old.slot % 128 + 1) * (length(vectors) / 128) + 1) AS BLOB)
    WHERE model_id = old.model_id AND block = old.slot / 128;
END;
CREATE TRIGGER user_prompts_vectors AFTER DELETE ON user_prompts BEGIN
    DELETE FROM vector_slots WHERE what = 0 AND record_id = old.id;
    DELETE FROM vector_redo WHERE what = 0 AND record_id = old.id;
END;
CREATE TRIGGER observations_vectors AFTER DELETE ON observations BEGIN
    DELETE FROM vector_slots WHERE what = 1 AND record_id = old.id;
    DELETE FROM vector_redo WHERE what = 1 AND record_id = old.id;
END;
CREATE TRIGGER session_summaries_vectors AFTER DELETE ON session_summaries BEGIN
    DELETE FROM vector_slots WHERE what = 2 AND record_id = old.id;
    DELETE FROM vector_redo WHERE what = 2 AND record_id = old.id;
END;
CREATE TRIGGER observations_vectors_changed AFTER UPDATE OF title, narrative, facts ON observations BEGIN
    INSERT OR REPLACE INTO vector_redo SELECT DISTINCT model_id, 1, new.id, NULL FROM vector_slots
    WHERE what = 1 AND record_id = new.id;
END;
CREATE TRIGGER session_summaries_vectors_changed AFTER UPDATE ON session_summaries BEGIN
    INSERT OR REPLACE INTO vector_redo SELECT DISTINCT model_id, 2, new.id, NULL FROM vector_slots
    WHERE what = 2 AND record_id = new.id;
END;
