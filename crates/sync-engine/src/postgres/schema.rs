//! The tables, which `init` creates, and the rights to them.
//!
//! Plain SQL without extensions. The steps run in one transaction under an advisory lock. A shipped step is never edited.

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
