//! The context window of each session, how full it is, and the account's limits, as the client reports them to its status
//! line or to the bridge.

use longhaul_core::Millis;
use rusqlite::{Row, named_params};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// The context of a session, as far as the client has reported it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextUse {
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    pub model: Option<String>,
    pub window_tokens: Option<u64>,
    /// The tokens in the window; `None` before the first reply.
    pub used_tokens: Option<u64>,
    /// The same in percent, rounded by the client.
    pub used_percent: Option<f64>,
    /// The account's limits, as JSON.
    pub rate_limits: Option<String>,
    pub recorded_at: Millis,
}

impl Store {
    /// Records a session's context; returns whether anything has changed.
    ///
    /// It is called with every render of the status line, so storing the same again writes nothing. A window or a limit that
    /// is not reported this time stays stored; a use that is not reported is removed. A report that is older than the stored
    /// one changes nothing.
    pub fn record_context(&self, context: &ContextUse) -> Result<bool, StoreError> {
        let signed = |tokens: Option<u64>| tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
        let changed = self.connection.run(
            "INSERT INTO context (session_id, model, window_tokens, used_tokens, used_percent, rate_limits, recorded_ms)
             VALUES (:session, :model, :window, :used, :percent, :limits, :now)
             ON CONFLICT (session_id) DO UPDATE SET
                 model = coalesce(excluded.model, model),
                 window_tokens = coalesce(excluded.window_tokens, window_tokens),
                 used_tokens = excluded.used_tokens,
                 used_percent = excluded.used_percent,
                 rate_limits = coalesce(excluded.rate_limits, rate_limits),
                 recorded_ms = excluded.recorded_ms
             WHERE recorded_ms <= excluded.recorded_ms
               AND (model, window_tokens, used_tokens, used_percent, rate_limits) IS NOT
                   (coalesce(excluded.model, model), coalesce(excluded.window_tokens, window_tokens),
                    excluded.used_tokens, excluded.used_percent, coalesce(excluded.rate_limits, rate_limits))",
            named_params! {
                ":session": context.session,
                ":model": context.model,
                ":window": signed(context.window_tokens),
                ":used": signed(context.used_tokens),
                ":percent": context.used_percent,
                ":limits": context.rate_limits,
                ":now": Time(context.recorded_at),
            },
        );
        changed.map(|rows| rows > 0).map_err(cannot("record the context's use"))
    }

    pub fn context(&self, session: &str) -> Result<Option<ContextUse>, StoreError> {
        let sql = "SELECT * FROM context WHERE session_id = ?1";
        self.connection.first_with(sql, [session], read).map_err(cannot("read the context"))
    }

    /// Returns what a session's context can be derived from: its own row, and for every model the newest other row with a
    /// window.
    ///
    /// It goes from model to model by the index, because there is a row for every session that there ever was.
    pub fn contexts_for(&self, session: &str) -> Result<Vec<ContextUse>, StoreError> {
        self.connection
            .all_with(
                "WITH RECURSIVE models (model) AS (
                     SELECT min(model) FROM context
                     UNION ALL
                     SELECT (SELECT min(c.model) FROM context c WHERE c.model > m.model) FROM models m
                     WHERE m.model IS NOT NULL
                 )
                 SELECT * FROM context WHERE session_id IN (
                     SELECT ?1
                     UNION ALL
                     SELECT (SELECT c.session_id FROM context c
                             WHERE c.model = m.model AND c.window_tokens IS NOT NULL AND c.session_id <> ?1
                             ORDER BY c.recorded_ms DESC LIMIT 1)
                     FROM models m)",
                [session],
                read,
            )
            .map_err(cannot("read the context"))
    }

    /// Returns every context that is known, the newest first.
    pub fn contexts(&self) -> Result<Vec<ContextUse>, StoreError> {
        self.connection
            .all_with("SELECT * FROM context ORDER BY recorded_ms DESC, session_id", (), read)
            .map_err(cannot("list the contexts"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ContextUse> {
    let unsigned = |column: &str| row.get::<_, Option<i64>>(column).map(|value| value.map(i64::unsigned_abs));
    Ok(ContextUse {
        session: row.get("session_id")?,
        model: row.get("model")?,
        window_tokens: unsigned("window_tokens")?,
        used_tokens: unsigned("used_tokens")?,
        used_percent: row.get("used_percent")?,
        rate_limits: row.get("rate_limits")?,
        recorded_at: row.get::<_, Time>("recorded_ms")?.into(),
    })
}
