//! The tables, which `init` creates, the rights to them, and the statements of an exchange, each of which is one round
//! trip.
//!
//! Plain SQL without extensions. The steps run in one transaction under an advisory lock. A shipped step is never
//! edited.

use tokio_postgres::{Client, Error};

/// The steps. Their number is the version of the schema.
const STEPS: &[&str] = &[
    include_str!("schema/1_records.sql"),
    include_str!("schema/2_own_hosts.sql"),
    include_str!("schema/3_left_hosts.sql"),
];

/// The rights of members, repeated after every step.
const RIGHTS: &str = include_str!("schema/rights.sql");

/// The number of the advisory lock, chosen at random.
const LOCK: i64 = 0x6c68_7379_6e63;

/// The role that every member of a team has.
pub(super) const MEMBER: &str = "longhaul_member";

/// The newest version that this program knows.
pub(super) fn newest() -> i64 {
    STEPS.len() as i64
}

/// Brings the tables to the newest version. Only their owner may do it.
pub(super) async fn bring_up_to_date(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    transaction
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS longhaul;
             CREATE TABLE IF NOT EXISTS longhaul.schema (version bigint NOT NULL);",
        )
        .await?;
    let rows = transaction.query("SELECT max(version) FROM longhaul.schema", &[]).await?;
    let found: i64 = rows.first().and_then(|row| row.get(0)).unwrap_or_default();
    for (number, step) in (1i64..).zip(STEPS).filter(|(number, _)| *number > found) {
        transaction.batch_execute(step).await?;
        transaction.execute("INSERT INTO longhaul.schema (version) VALUES ($1)", &[&number]).await?;
    }
    transaction.commit().await
}

/// Creates the role of members and gives it its rights. Returns a remark if this user may not create roles.
pub(super) async fn grant_rights(client: &mut Client) -> Result<Option<String>, Error> {
    let exists = client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", &[&MEMBER]).await?;
    if exists.is_empty()
        && let Err(error) = client.batch_execute(&format!("CREATE ROLE {MEMBER} NOLOGIN")).await
    {
        // Another machine may have created it at the same time.
        let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
        if code == "42501" {
            return Ok(Some(format!(
                "This user may not create roles, so only the user itself can use the circle. For a team, let an \
                 administrator run `CREATE ROLE {MEMBER} NOLOGIN`, then run `longhaul sync init` with the same address again: \
                 it gives the role its rights, and then reports that the circle exists."
            )));
        }
        if code != "42710" && code != "23505" {
            return Err(error);
        }
    }
    // PostgreSQL fails if two transactions grant rights to the same table at once.
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    transaction.batch_execute(RIGHTS).await?;
    transaction.commit().await?;
    Ok(None)
}

/// The schema, the header, and the highest idx of each host: at least one row. The hosts are found by jumping through the
/// primary key, so that the number of records does not matter.
pub(super) const OVERVIEW: &str = "
    WITH RECURSIVE found(host) AS (
        (SELECT host FROM longhaul.records ORDER BY host LIMIT 1)
        UNION ALL
        SELECT (SELECT r.host FROM longhaul.records r WHERE r.host > found.host ORDER BY r.host LIMIT 1)
        FROM found WHERE found.host IS NOT NULL
    )
    SELECT s.version, c.header, found.host,
           (SELECT r.idx FROM longhaul.records r WHERE r.host = found.host ORDER BY r.idx DESC LIMIT 1),
           (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM (SELECT max(version) AS version FROM longhaul.schema) s
    LEFT JOIN longhaul.circle c ON true
    LEFT JOIN found ON found.host IS NOT NULL";

/// Stores a page, unless another record has the number of one of its records. Returns that number, and how many were new.
pub(super) const INSERT: &str = "
    WITH page AS (
        SELECT * FROM unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::bytea[]) AS p(idx, id, time_ms, payload)
    ), clash AS (
        SELECT min(p.idx) AS idx FROM page p
        JOIN longhaul.records r ON r.host = $1 AND r.idx = p.idx WHERE r.id <> p.id
    ), added AS (
        INSERT INTO longhaul.records (host, idx, id, time_ms, payload)
        SELECT $1, p.idx, p.id, p.time_ms, p.payload FROM page p WHERE (SELECT c.idx FROM clash c) IS NULL
        ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT (SELECT c.idx FROM clash c), (SELECT count(*) FROM added)";

/// The next records of a host, up to a number of records and of bytes, and at least one.
///
/// A payload that is larger than [`longhaul_sync::MAX_PAYLOAD`] comes as an empty one, which counts as damaged.
pub(super) const FETCH: &str = "
    SELECT id, idx, time_ms, CASE WHEN octet_length(payload) > 4194304 THEN ''::bytea ELSE payload END FROM (
        SELECT p.*, sum(coalesce(octet_length(payload), 0)) OVER (ORDER BY idx ROWS UNBOUNDED PRECEDING)
                    - coalesce(octet_length(payload), 0) AS bytes_before
        FROM (
            SELECT id, idx, time_ms, payload FROM longhaul.records
            WHERE host = $1 AND idx > $2 AND idx <= $3 ORDER BY idx LIMIT $4
        ) p
    ) q
    WHERE bytes_before < $5 ORDER BY idx";

/// Removes payloads, as far as row-level security allows it.
pub(super) const ERASE: &str = "
    UPDATE longhaul.records r SET payload = NULL
    FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS p(host, idx, id)
    WHERE r.host = p.host AND r.idx = p.idx AND r.id = p.id AND r.payload IS NOT NULL";

/// Which of these records have no payload.
pub(super) const ERASED: &str = "
    SELECT r.id FROM longhaul.records r
    JOIN unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS p(host, idx, id)
    ON r.host = p.host AND r.idx = p.idx AND r.id = p.id
    WHERE r.payload IS NULL";

/// Stores a host. One that another user has added, or has added records of, is not changed, and no row is counted.
pub(super) const PUT_HOST: &str = "
    INSERT INTO longhaul.hosts (host, name, seen_ms, clock_ahead_ms)
    SELECT $1, $2, $3, $3 - (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    WHERE COALESCE(
        (SELECT r.added_by FROM longhaul.records r WHERE r.host = $1 ORDER BY r.idx LIMIT 1), current_user
    ) = current_user
    ON CONFLICT (host) DO UPDATE
    SET name = excluded.name, seen_ms = excluded.seen_ms, clock_ahead_ms = excluded.clock_ahead_ms
    WHERE hosts.added_by = current_user";

pub(super) const HOSTS: &str = "SELECT host, name, seen_ms, clock_ahead_ms FROM longhaul.hosts ORDER BY host";

#[cfg(test)]
mod tests {
    #[test]
    fn the_largest_payload_is_the_same_everywhere() {
        assert_eq!(longhaul_sync::MAX_PAYLOAD, 4_194_304);
        for sql in [super::FETCH, include_str!("schema/2_own_hosts.sql")] {
            assert!(sql.contains("4194304"), "{sql}");
        }
    }
}
