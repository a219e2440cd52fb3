-- Clients that run our module: they can be asked, and nothing need be typed.
CREATE TABLE bridges (
    client_pid INTEGER PRIMARY KEY,
    plugin     TEXT NOT NULL,
    heard_ms   INTEGER NOT NULL, -- milliseconds, when it was last heard of
    errand     TEXT,             -- what it is to do when its turn ends, until it takes it
    trouble    TEXT              -- what it could not do last
) STRICT;

ALTER TABLE continuations ADD COLUMN taken TEXT; -- the step that somebody is at: the client's module, or whoever types
ALTER TABLE sessions ADD COLUMN shown_records INTEGER NOT NULL DEFAULT 0; -- records of memory that it began with
