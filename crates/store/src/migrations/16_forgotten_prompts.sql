-- When prompts that were forgotten had been asked. What is said for one of them later belongs to no other prompt, and is not
-- kept.
CREATE TABLE forgotten_prompts (
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL, -- milliseconds
    PRIMARY KEY (session_id, created_at)
) STRICT, WITHOUT ROWID;
