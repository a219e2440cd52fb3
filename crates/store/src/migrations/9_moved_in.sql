-- What has come over from another program, by the name that it had there. It comes over once: what is forgotten here stays
-- forgotten, although it is still there.
CREATE TABLE moved_in (
    origin TEXT NOT NULL, -- the program
    key    TEXT NOT NULL, -- the record in it
    PRIMARY KEY (origin, key)
) STRICT, WITHOUT ROWID;
