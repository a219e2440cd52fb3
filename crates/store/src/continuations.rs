//! Chains of sessions that continue one task: their plans, steps and handoffs.

use longhaul_core::Millis;
use longhaul_handoff::continuation::{Plan, PlanAction, PlanOutcome, Question, State};
use rusqlite::{Connection, Row, named_params};

use crate::row_ids::{ChainId, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit, newest_last};

/// Where a chain runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChain<'a> {
    pub project_path: &'a str,
    /// The client's process, 0 where unknown.
    pub client_pid: u32,
    /// The name of the terminal's lock, by which a terminal is identified; `None` outside of any.
    pub terminal_lock: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub id: ChainId,
    /// Its state, and the step that it waits for.
    pub plan: Plan,
    pub project_path: String,
    pub client_pid: u32,
    pub terminal_lock: Option<String>,
    pub created_at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStep {
    pub chain: ChainId,
    pub session: String,
    pub round: u32,
    pub state: String,
    /// Attempt number of this step, from 1.
    pub attempt: u32,
    pub reason: String,
    pub at: Millis,
    /// When the next step had to follow at the latest.
    pub deadline: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    pub session: String,
    pub round: u32,
    pub body: String,
}

/// A message for the user that no hook could show yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMessage {
    pub chain: ChainId,
    /// That chain's client, 0 where unknown.
    pub client_pid: u32,
    pub message: String,
}

/// What a chain makes of an occasion.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainUpdate {
    pub chain: Chain,
    pub act: PlanAction,
}

const COLUMNS: &str =
    "id, session_id, project_path, client_pid, place, state, round, nonce, asked_at, fired, attempt, since,
                       deadline, paused, stuck_in, reason, created_at, lifts, question";

impl Store {
    /// Returns the chain that is in `session` now.
    pub fn chain_of(&self, session: &str) -> Result<Option<Chain>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM continuations WHERE session_id = ?1 ORDER BY since DESC LIMIT 1");
        self.connection.first_with(&sql, [session], read).map_err(cannot("read the continuation"))
    }

    pub fn chain(&self, id: ChainId) -> Result<Option<Chain>, StoreError> {
        find(&self.connection, id).map_err(cannot("read the continuation"))
    }

    /// Returns the newest chain under way in that client or terminal, whatever its session is.
    ///
    /// If neither is known, now or when the chain began, a chain of the same project is returned.
    pub fn open_chain_at(&self, at: &NewChain<'_>) -> Result<Option<Chain>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM continuations
             WHERE state IN ('asked', 'clearing', 'prompting')
               AND ((?1 <> 0 AND client_pid = ?1) OR place = ?2
                    OR (?1 = 0 AND ?2 IS NULL AND client_pid = 0 AND place IS NULL AND project_path = ?3))
             ORDER BY since DESC LIMIT 1"
        );
        let found = self.connection.first_with(&sql, (at.client_pid, at.terminal_lock, at.project_path), read);
        found.map_err(cannot("find the continuation"))
    }

    pub fn chains(&self, most: usize) -> Result<Vec<Chain>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM continuations ORDER BY since DESC, id DESC {}", limit(most));
        self.connection.all_with(&sql, [], read).map_err(cannot("list the continuations"))
    }

    /// Begins a chain with its first step, in one transaction; returns what `decide` makes of it.
    ///
    /// If another hook has begun a chain of the session meanwhile, that one is updated instead.
    pub fn begin_chain(
        &self,
        new: &NewChain<'_>,
        plan: &Plan,
        now: Millis,
        decide: impl FnOnce(&Plan, &[String]) -> PlanOutcome,
    ) -> Result<Option<ChainUpdate>, StoreError> {
        self.write("begin the continuation", |tx| {
            tx.run(
                "INSERT INTO continuations (session_id, project_path, client_pid, place, state, since, created_at)
                 SELECT ?1, ?2, ?3, ?4, 'armed', ?5, ?5
                 WHERE NOT EXISTS (SELECT 1 FROM continuations WHERE session_id = ?1)",
                (&plan.session, new.project_path, new.client_pid, new.terminal_lock, Time(now)),
            )?;
            let sql = "SELECT id FROM continuations WHERE session_id = ?1 ORDER BY since DESC LIMIT 1";
            let id = tx.one(sql, [&plan.session])?;
            step(tx, id, now, decide)
        })
    }

    /// Updates a chain by what `decide` makes of its plan and of what each of its rounds left to do.
    ///
    /// It is read, decided on and written in one transaction. Returns `None` if there is no such chain.
    pub fn meet(
        &self,
        id: ChainId,
        now: Millis,
        decide: impl FnOnce(&Plan, &[String]) -> PlanOutcome,
    ) -> Result<Option<ChainUpdate>, StoreError> {
        self.write("carry on the continuation", |tx| step(tx, id, now, decide))
    }

    /// Records in which client and terminal a chain goes on.
    pub fn move_chain(&self, id: ChainId, client_pid: u32, terminal_lock: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE continuations SET client_pid = ?2, place = coalesce(?3, place) WHERE id = ?1";
        self.connection.run(sql, (id, client_pid, terminal_lock)).map(drop).map_err(cannot("move the continuation"))
    }

    /// Returns the handoff of a chain's newest round.
    pub fn newest_handoff(&self, chain: ChainId) -> Result<Option<Handoff>, StoreError> {
        self.connection
            .first_with(
                "SELECT session_id, round, body FROM handoff_log WHERE continuation_id = ?1
                 AND body IS NOT NULL ORDER BY id DESC LIMIT 1",
                [chain],
                |row| Ok(Handoff { session: row.get(0)?, round: row.get(1)?, body: row.get(2)? }),
            )
            .map_err(cannot("read the handoff"))
    }

    /// Stores a message for the user, to be shown by the next hook that can.
    pub fn leave_message(&self, chain: ChainId, message: &str) -> Result<(), StoreError> {
        let sql = "UPDATE continuations SET untold = ?2 WHERE id = ?1";
        self.connection.run(sql, (chain, message)).map(drop).map_err(cannot("store the message for the user"))
    }

    /// Returns the newest message that is still to be shown in this session, client or terminal.
    pub fn pending_message(
        &self,
        session: &str,
        client_pid: u32,
        terminal_lock: Option<&str>,
    ) -> Result<Option<PendingMessage>, StoreError> {
        self.connection
            .first_with(
                "SELECT id, client_pid, untold FROM continuations
                 WHERE untold IS NOT NULL AND (session_id = ?1 OR (?2 <> 0 AND client_pid = ?2) OR place = ?3)
                 ORDER BY since DESC LIMIT 1",
                (session, client_pid, terminal_lock),
                |row| Ok(PendingMessage { chain: row.get(0)?, client_pid: row.get(1)?, message: row.get(2)? }),
            )
            .map_err(cannot("look for a message to the user"))
    }

    /// Takes a chain's message, to show it; returns whether no other hook has taken it before.
    pub fn take_message(&self, chain: ChainId) -> Result<bool, StoreError> {
        let sql = "UPDATE continuations SET untold = NULL WHERE id = ?1 AND untold IS NOT NULL";
        self.connection.run(sql, [chain]).map(|taken| taken > 0).map_err(cannot("take the message for the user"))
    }

    /// Returns the newest steps of all chains, at most `most`, the oldest of them first.
    pub fn steps(&self, most: usize) -> Result<Vec<ChainStep>, StoreError> {
        let sql =
            format!("SELECT * FROM handoff_log WHERE continuation_id IS NOT NULL ORDER BY id DESC {}", limit(most));
        newest_last(&self.connection, &sql, [], read_step).map_err(cannot("read the continuation's log"))
    }
}

fn find(connection: &Connection, id: ChainId) -> rusqlite::Result<Option<Chain>> {
    let sql = format!("SELECT {COLUMNS} FROM continuations WHERE id = ?1");
    connection.first_with(&sql, [id], read)
}

fn step(
    connection: &Connection,
    id: ChainId,
    now: Millis,
    decide: impl FnOnce(&Plan, &[String]) -> PlanOutcome,
) -> rusqlite::Result<Option<ChainUpdate>> {
    let Some(chain) = find(connection, id)? else { return Ok(None) };
    // The plan counts the rounds since a person's last prompt; so many handoffs are read.
    let sql = "SELECT remaining FROM handoff_log WHERE continuation_id = ?1 AND body IS NOT NULL
               ORDER BY id DESC LIMIT ?2";
    let remaining: Vec<String> = newest_last(connection, sql, (id, chain.plan.round), |row| row.get(0))?;
    let PlanOutcome { plan, act, .. } = decide(&chain.plan, &remaining);
    if plan != chain.plan {
        write(connection, id, &plan)?;
    }
    let handoff = if let PlanAction::Clear(handoff) = &act { Some(handoff) } else { None };
    if handoff.is_some() || is_step(&chain.plan, &plan) {
        connection.run(
            "INSERT INTO handoff_log (continuation_id, session_id, round, event, attempt, reason, created_at, deadline,
                                      front, body, remaining)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            (
                id,
                &plan.session,
                plan.round,
                if plan.paused { "paused" } else { plan.state.as_str() },
                plan.attempt,
                &plan.reason,
                Time(now),
                Time(plan.deadline),
                handoff.map(|handoff| &handoff.front),
                handoff.map(|handoff| &handoff.body),
                handoff.map(|handoff| handoff.remaining()),
            ),
        )?;
    }
    Ok(Some(ChainUpdate { chain: Chain { plan, ..chain }, act }))
}

/// Returns whether a change of a plan is a step. The count of its rounds, for example, is reset without one.
fn is_step(before: &Plan, after: &Plan) -> bool {
    (before.state, before.attempt, before.paused, before.since, &before.session)
        != (after.state, after.attempt, after.paused, after.since, &after.session)
}

fn write(connection: &Connection, id: ChainId, plan: &Plan) -> rusqlite::Result<()> {
    connection.run(
        "UPDATE continuations SET session_id = :session, state = :state, round = :round, nonce = :nonce,
             asked_at = :asked, fired = :fired, attempt = :attempt, since = :since, deadline = :deadline,
             paused = :paused, lifts = :lifts, question = :question, stuck_in = :stuck, reason = :reason
         WHERE id = :id",
        named_params! {
            ":id": id,
            ":session": plan.session,
            ":state": plan.state.as_str(),
            ":round": plan.round,
            ":nonce": plan.nonce,
            ":asked": Time(plan.asked_at),
            ":fired": serde_json::to_string(&plan.fired).unwrap_or_default(),
            ":attempt": plan.attempt,
            ":since": Time(plan.since),
            ":deadline": Time(plan.deadline),
            ":paused": plan.paused,
            ":lifts": plan.lifts,
            ":question": plan.question.number(),
            ":stuck": plan.stuck_in.map(State::as_str),
            ":reason": plan.reason,
        },
    )?;
    Ok(())
}

/// Reads a count; one that is out of range is read as the nearest that is in it.
fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<u32> {
    Ok(u32::try_from(row.get::<_, i64>(column)?.max(0)).unwrap_or(u32::MAX))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Chain> {
    let state = |column: &str| -> rusqlite::Result<Option<State>> {
        Ok(row.get::<_, Option<String>>(column)?.and_then(|state| State::from_name(&state)))
    };
    let time = |column: &str| row.get::<_, Time>(column).map(Millis::from);
    let mut plan = Plan::new(row.get::<_, String>("session_id")?, time("since")?);
    plan.state = state("state")?.unwrap_or_default();
    plan.round = count(row, "round")?;
    plan.nonce = row.get("nonce")?;
    plan.asked_at = time("asked_at")?;
    plan.fired = serde_json::from_str(&row.get::<_, String>("fired")?).unwrap_or_default();
    plan.attempt = count(row, "attempt")?;
    plan.deadline = time("deadline")?;
    plan.paused = row.get("paused")?;
    plan.lifts = count(row, "lifts")?;
    plan.question = Question::from_number(row.get("question")?).unwrap_or_default();
    plan.stuck_in = state("stuck_in")?;
    plan.reason = row.get("reason")?;
    Ok(Chain {
        id: row.get("id")?,
        project_path: row.get("project_path")?,
        client_pid: count(row, "client_pid")?,
        terminal_lock: row.get("place")?,
        plan,
        created_at: time("created_at")?,
    })
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<ChainStep> {
    Ok(ChainStep {
        chain: row.get("continuation_id")?,
        session: row.get("session_id")?,
        round: row.get("round")?,
        state: row.get("event")?,
        attempt: row.get("attempt")?,
        reason: row.get("reason")?,
        at: row.get::<_, Time>("created_at")?.into(),
        deadline: row.get::<_, Time>("deadline")?.into(),
    })
}
