GRANT USAGE ON SCHEMA longhaul TO longhaul_member;
GRANT SELECT ON longhaul.schema, longhaul.circle TO longhaul_member;
GRANT SELECT, INSERT, UPDATE (name, seen_ms, clock_ahead_ms), DELETE ON longhaul.hosts TO longhaul_member;
GRANT SELECT, INSERT, UPDATE (payload) ON longhaul.records TO longhaul_member;
