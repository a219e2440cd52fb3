-- The id of a host that has left stays with the user who has added its records: no other user can add records as that host.
-- One row is read, because the rule is checked whenever a host says that it is there.
DROP POLICY add_hosts ON longhaul.hosts;
CREATE POLICY add_hosts ON longhaul.hosts FOR INSERT WITH CHECK (
    added_by = current_user
    AND COALESCE(
        (SELECT r.added_by FROM longhaul.records r WHERE r.host = hosts.host ORDER BY r.idx LIMIT 1),
        current_user
    ) = current_user
);
