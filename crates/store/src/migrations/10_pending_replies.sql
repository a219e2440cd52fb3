-- Replies that the transcript has not brought yet: at most a few, in however long a session.
CREATE INDEX turns_pending ON turns (origin_session_id) WHERE pending_reply IS NOT NULL;
