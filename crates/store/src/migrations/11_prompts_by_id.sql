-- A prompt is looked for by its id with every prompt that is imported: without an index each look reads all prompts of the
-- session.
CREATE INDEX user_prompts_by_id ON user_prompts (session_id, prompt_id, created_at);
