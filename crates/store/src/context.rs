//! What the client told its status line, or the bridge: each session's context window, its use, and the account's limits.

use longhaul_core::Millis;
use rusqlite::{OptionalExtension, Row, named_params};

use crate::{Store, StoreError, cannot};

/// The context of a session, as far as the client told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextUse {
    /// The session, in the form that names files.
    pub session: String,
    /// The model's id.
    pub model: Option<String>,
    /// The size of its window.
    pub window_tokens: Option<u64>,
    /// The tokens in it; `None` before the first reply.
    pub used_tokens: Option<u64>,
    /// The same in percent, rounded by the client.
    pub used_percent: Option<f64>,
    /// The account's limits, as JSON.
    pub rate_limits: Option<String>,
    /// When any of it last changed.
    pub recorded_at: Millis,
}

impl Store {
    /// Records a session's context; returns whether it was news.
    ///
    /// Called with every render, so the same again writes nothing. A window or a limit that is not told this time stays
    /// known; use that is not told is not known. An older render that comes late changes nothing.
    pub fn record_context(&self, context: &ContextUse) -> Result<bool, StoreError> {
        let signed = |tokens: Option<u64>| tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
        let changed = self.connection.execute(
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
                ":now": context.recorded_at.0 as i64,
            },
        );
        changed.map(|rows| rows > 0).map_err(cannot("record the context's use"))
    }

    /// Returns a session's context.
    pub fn context(&self, session: &str) -> Result<Option<ContextUse>, StoreError> {
        let sql = "SELECT session_id, model, window_tokens, used_tokens, used_percent, rate_limits, recorded_ms
                   FROM context WHERE session_id = ?1";
        self.connection.query_row(sql, [session], read).optional().map_err(cannot("read the context"))
    }

    /// Returns what tells of a session's context: its own row, and of every model the newest other one with a window.
    ///
    /// From model to model by the index, because there is a row for every session that ever was.
    pub fn contexts_for(&self, session: &str) -> Result<Vec<ContextUse>, StoreError> {
        let failed = cannot("read the context");
        let mut statement = self
            .connection
            .prepare(
                "WITH RECURSIVE models (model) AS (
                     SELECT min(model) FROM context
                     UNION ALL
                     SELECT (SELECT min(c.model) FROM context c WHERE c.model > m.model) FROM models m
                     WHERE m.model IS NOT NULL
                 )
                 SELECT session_id, model, window_tokens, used_tokens, used_percent, rate_limits, recorded_ms
                 FROM context WHERE session_id IN (
                     SELECT ?1
                     UNION ALL
                     SELECT (SELECT c.session_id FROM context c
                             WHERE c.model = m.model AND c.window_tokens IS NOT NULL AND c.session_id <> ?1
                             ORDER BY c.recorded_ms DESC LIMIT 1)
                     FROM models m)",
            )
            .map_err(&failed)?;
        let rows = statement.query_map([session], read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns every context that is known, the newest first.
    pub fn contexts(&self) -> Result<Vec<ContextUse>, StoreError> {
        let failed = cannot("list the contexts");
        let mut statement = self
            .connection
            .prepare(
                "SELECT session_id, model, window_tokens, used_tokens, used_percent, rate_limits, recorded_ms
                 FROM context ORDER BY recorded_ms DESC, session_id",
            )
            .map_err(&failed)?;
        let rows = statement.query_map((), read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ContextUse> {
    let unsigned = |column: usize| row.get::<_, Option<i64>>(column).map(|value| value.map(i64::unsigned_abs));
    Ok(ContextUse {
        session: row.get(0)?,
        model: row.get(1)?,
        window_tokens: unsigned(2)?,
        used_tokens: unsigned(3)?,
        used_percent: row.get(4)?,
        rate_limits: row.get(5)?,
        recorded_at: Millis(row.get::<_, i64>(6)?.unsigned_abs()),
    })
}
