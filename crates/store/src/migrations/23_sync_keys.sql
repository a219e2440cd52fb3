-- Keys of the circle by number: a lower one than before is not used any more.
ALTER TABLE sync_self ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;  -- the highest that the engine had
ALTER TABLE sync_hosts ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0; -- the highest that a record of the host was encrypted with

-- When records that could not be read were last fetched again, in milliseconds.
ALTER TABLE sync_self ADD COLUMN damaged_at INTEGER NOT NULL DEFAULT 0;

-- Records whose project is shared by now have a state of their own, and those that a key was missing for are tried again.
UPDATE sync_log SET state = 5 WHERE state > 0 AND state = 1
    AND project IN (SELECT project FROM sync_projects WHERE is_shared = 1);
UPDATE sync_log SET version = 0 WHERE state > 0 AND state = 2;

-- A search leaves out what a rewind took back.
CREATE INDEX turns_taken_back ON turns (origin_session_id) WHERE replaced > 0;

-- The first files that changed since the snapshot before, as a JSON list.
ALTER TABLE snapshots ADD COLUMN changed_some TEXT;

-- Whatever deletes a record deletes it everywhere if this machine has made it, and else only here: only its writer may have it
-- forgotten by others. 3 is in the column `forgotten`: deleted here only.
DROP TRIGGER user_prompts_forgotten;
CREATE TRIGGER user_prompts_forgotten AFTER DELETE ON user_prompts BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL,
        forgotten = max(forgotten, (SELECT iif(is_own, 1, 3) FROM sync_hosts WHERE id = host_id))
    WHERE what = 0 AND row_id = old.id;
END;
DROP TRIGGER observations_forgotten;
CREATE TRIGGER observations_forgotten AFTER DELETE ON observations BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL,
        forgotten = max(forgotten, (SELECT iif(is_own, 1, 3) FROM sync_hosts WHERE id = host_id))
    WHERE what = 1 AND row_id = old.id;
END;
DROP TRIGGER session_summaries_forgotten;
CREATE TRIGGER session_summaries_forgotten AFTER DELETE ON session_summaries BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL,
        forgotten = max(forgotten, (SELECT iif(is_own, 1, 3) FROM sync_hosts WHERE id = host_id))
    WHERE what = 2 AND row_id = old.id;
END;
DROP TRIGGER bookmarks_forgotten;
CREATE TRIGGER bookmarks_forgotten AFTER DELETE ON bookmarks BEGIN
    UPDATE sync_entities SET row_id = NULL, digest = NULL,
        forgotten = max(forgotten, (SELECT iif(is_own, 1, 3) FROM sync_hosts WHERE id = host_id))
    WHERE what = 3 AND row_id = old.id;
END;

-- Whether a subagent made the call. Those of the session itself are also in its transcript.
ALTER TABLE details ADD COLUMN subagent INTEGER NOT NULL DEFAULT 0;
-- What is given back to the session after the compaction that runs, as JSON.
ALTER TABLE sessions ADD COLUMN compaction TEXT;
