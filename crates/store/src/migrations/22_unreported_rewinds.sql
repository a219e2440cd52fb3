-- Every end of a turn looks for a rewind that was not reported; 2 is UNREPORTED in rewinds.rs.
CREATE INDEX turns_with_unreported_rewind ON turns (origin_session_id) WHERE replaced = 2;
