-- A member adds only records of hosts that the same user has added, and so cannot write in the name of another machine.
DROP POLICY add_records ON longhaul.records;
CREATE POLICY add_records ON longhaul.records FOR INSERT WITH CHECK (
    added_by = current_user
    AND EXISTS (SELECT 1 FROM longhaul.hosts h WHERE h.host = records.host AND h.added_by = current_user)
);

-- Larger ones could not be read. Rows that are there already are not checked, so that the step is instant.
ALTER TABLE longhaul.records ADD CONSTRAINT payload_size CHECK (octet_length(payload) <= 4194304) NOT VALID;
ALTER TABLE longhaul.hosts ADD CONSTRAINT name_size CHECK (octet_length(name) <= 1024) NOT VALID;
