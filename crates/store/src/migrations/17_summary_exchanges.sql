-- What was asked in some turns of the session and what came of each, the most important first, as JSON; NULL where a rule of
-- an earlier version, a model or a person made the summary.
ALTER TABLE session_summaries ADD COLUMN exchanges TEXT;
