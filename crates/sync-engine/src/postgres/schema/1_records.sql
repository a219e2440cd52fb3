-- The header of the circle: one row.
CREATE TABLE longhaul.circle (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint  NOT NULL,
    header   bytea   NOT NULL
);

-- The hosts: an encrypted name, and when the host was last seen by its own clock.
CREATE TABLE longhaul.hosts (
    host           uuid   PRIMARY KEY,
    name           bytea  NOT NULL,
    seen_ms        bigint NOT NULL,
    clock_ahead_ms bigint NOT NULL, -- how far its clock was ahead of this server's then
    added_by       text   NOT NULL DEFAULT current_user
);

-- The records: a header in clear text and an encrypted payload, which is NULL once it was forgotten.
CREATE TABLE longhaul.records (
    host     uuid   NOT NULL,
    idx      bigint NOT NULL CHECK (idx > 0),
    id       uuid   NOT NULL,
    time_ms  bigint NOT NULL,
    payload  bytea,
    added_by text   NOT NULL DEFAULT current_user,
    PRIMARY KEY (host, idx)
);

-- Encrypted bytes cannot be compressed.
ALTER TABLE longhaul.records ALTER COLUMN payload SET STORAGE EXTERNAL;

-- The owner of the tables, who has run `init`, is not limited by these rules.
ALTER TABLE longhaul.circle ENABLE ROW LEVEL SECURITY;
ALTER TABLE longhaul.hosts ENABLE ROW LEVEL SECURITY;
ALTER TABLE longhaul.records ENABLE ROW LEVEL SECURITY;

CREATE POLICY read_circle ON longhaul.circle FOR SELECT USING (true);

CREATE POLICY read_hosts ON longhaul.hosts FOR SELECT USING (true);
CREATE POLICY add_hosts ON longhaul.hosts FOR INSERT WITH CHECK (added_by = current_user);
CREATE POLICY change_own_hosts ON longhaul.hosts FOR UPDATE
    USING (added_by = current_user) WITH CHECK (added_by = current_user);
CREATE POLICY remove_own_hosts ON longhaul.hosts FOR DELETE USING (added_by = current_user);

CREATE POLICY read_records ON longhaul.records FOR SELECT USING (true);
CREATE POLICY add_records ON longhaul.records FOR INSERT WITH CHECK (added_by = current_user);
-- A member may remove the payload of a record that the member has added, and change nothing else.
CREATE POLICY erase_own_records ON longhaul.records FOR UPDATE
    USING (added_by = current_user) WITH CHECK (added_by = current_user AND payload IS NULL);
