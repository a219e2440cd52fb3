//! Chains of sessions that carry one task on.

use longhaul_core::Millis;
use longhaul_handoff::continuation::{Act, Outcome, Plan, State};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params};

use crate::{Store, StoreError, cannot};

/// Where a chain runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChain<'a> {
    /// The project's folder.
    pub project_path: &'a str,
    /// The client's process, 0 where unknown.
    pub client_pid: u32,
    /// The terminal, by the name of its lock.
    pub place: Option<&'a str>,
}

/// A chain, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub plan: Plan,
    /// The project's folder.
    pub project_path: String,
    /// The client's process, 0 where unknown.
    pub client_pid: u32,
    /// The terminal, by the name of its lock.
    pub place: Option<String>,
    /// When it began.
    pub created_at: Millis,
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The chain.
    pub chain: i64,
    /// The session that it had come to.
    pub session: String,
    /// The round.
    pub round: u32,
    /// The state that it came into.
    pub state: String,
    /// The how-manieth try it was.
    pub attempt: u32,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Millis,
    /// By when the next should have followed.
    pub deadline: Millis,
}

/// What a round handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// The session that wrote it.
    pub session: String,
    /// The round.
    pub round: u32,
    /// What it says.
    pub body: String,
}

/// Something that the user is yet to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The chain that it is about.
    pub chain: i64,
    /// That chain's client, 0 where unknown.
    pub client_pid: u32,
    /// What is to be told.
    pub message: String,
}

/// What came of an occasion, and to which chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Met {
    /// The chain as it is now.
    pub chain: Chain,
    /// What is to be done.
    pub act: Act,
}

const COLUMNS: &str =
    "id, session_id, project_path, client_pid, place, state, round, nonce, asked_at, fired, attempt, since,
                       deadline, paused, stuck_in, reason, created_at, lifts, by_prompt";

impl Store {
    /// Returns the chain that has come to `session`.
    pub fn chain_of(&self, session: &str) -> Result<Option<Chain>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM continuations WHERE session_id = ?1 ORDER BY since DESC LIMIT 1");
        self.connection.query_row(&sql, [session], read).optional().map_err(cannot("read the continuation"))
    }

    /// Returns the chain of that number.
    pub fn chain(&self, id: i64) -> Result<Option<Chain>, StoreError> {
        find(&self.connection, id).map_err(cannot("read the continuation"))
    }

    /// Returns the newest chain under way in that client or terminal, whatever its session is.
    ///
    /// Where neither is known, nor was when it began, the project has to do.
    pub fn open_chain_at(&self, at: &NewChain<'_>) -> Result<Option<Chain>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM continuations
             WHERE state IN ('asked', 'clearing', 'prompting')
               AND ((?1 <> 0 AND client_pid = ?1) OR place = ?2
                    OR (?1 = 0 AND ?2 IS NULL AND client_pid = 0 AND place IS NULL AND project_path = ?3))
             ORDER BY since DESC LIMIT 1"
        );
        let found = self.connection.query_row(&sql, (at.client_pid, at.place, at.project_path), read).optional();
        found.map_err(cannot("find the continuation"))
    }

    /// Returns the newest chains, the newest first.
    pub fn chains(&self, most: usize) -> Result<Vec<Chain>, StoreError> {
        let failed = cannot("list the continuations");
        let sql = format!("SELECT {COLUMNS} FROM continuations ORDER BY since DESC, id DESC LIMIT ?1");
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map([most as i64], read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Begins a chain with its first step, in one transaction; returns what `decide` made of it.
    ///
    /// Where another hook has begun it meanwhile, that one is met instead.
    pub fn begin_chain(
        &mut self,
        new: &NewChain<'_>,
        plan: &Plan,
        now: Millis,
        decide: impl FnOnce(&Plan, &[String]) -> Outcome,
    ) -> Result<Option<Met>, StoreError> {
        let failed = cannot("begin the continuation");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        transaction
            .execute(
                "INSERT INTO continuations (session_id, project_path, client_pid, place, state, since, created_at)
                 SELECT ?1, ?2, ?3, ?4, 'armed', ?5, ?5
                 WHERE NOT EXISTS (SELECT 1 FROM continuations WHERE session_id = ?1)",
                (&plan.session, new.project_path, new.client_pid, new.place, now.0 as i64),
            )
            .map_err(&failed)?;
        let id = transaction
            .query_row(
                "SELECT id FROM continuations WHERE session_id = ?1 ORDER BY since DESC LIMIT 1",
                [&plan.session],
                |row| row.get(0),
            )
            .map_err(&failed)?;
        let met = step(&transaction, id, now, decide).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(met)
    }

    /// Lets a chain meet an occasion: it is read, decided on and written in one transaction.
    pub fn meet(
        &mut self,
        id: i64,
        now: Millis,
        decide: impl FnOnce(&Plan, &[String]) -> Outcome,
    ) -> Result<Option<Met>, StoreError> {
        let failed = cannot("carry on the continuation");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let met = step(&transaction, id, now, decide).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(met)
    }

    /// Notes in which client and terminal a chain goes on.
    pub fn move_chain(&self, id: i64, client_pid: u32, place: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE continuations SET client_pid = ?2, place = coalesce(?3, place) WHERE id = ?1";
        self.connection.execute(sql, (id, client_pid, place)).map(drop).map_err(cannot("move the continuation"))
    }

    /// Returns the handoff of a chain's newest round.
    pub fn newest_handoff(&self, chain: i64) -> Result<Option<Handoff>, StoreError> {
        self.connection
            .query_row(
                "SELECT session_id, round, body FROM continuation_handoffs WHERE continuation_id = ?1
                 ORDER BY id DESC LIMIT 1",
                [chain],
                |row| Ok(Handoff { session: row.get(0)?, round: row.get(1)?, body: row.get(2)? }),
            )
            .optional()
            .map_err(cannot("read the handoff"))
    }

    /// Keeps something that nobody could tell the user yet.
    pub fn leave_word(&self, chain: i64, message: &str) -> Result<(), StoreError> {
        let sql = "UPDATE continuations SET untold = ?2 WHERE id = ?1";
        self.connection.execute(sql, (chain, message)).map(drop).map_err(cannot("leave word"))
    }

    /// Returns what the user is yet to be told in this session, client or terminal.
    pub fn word_for(&self, session: &str, client_pid: u32, place: Option<&str>) -> Result<Option<Word>, StoreError> {
        self.connection
            .query_row(
                "SELECT id, client_pid, untold FROM continuations
                 WHERE untold IS NOT NULL AND (session_id = ?1 OR (?2 <> 0 AND client_pid = ?2) OR place = ?3)
                 ORDER BY since DESC LIMIT 1",
                (session, client_pid, place),
                |row| Ok(Word { chain: row.get(0)?, client_pid: row.get(1)?, message: row.get(2)? }),
            )
            .optional()
            .map_err(cannot("look for word"))
    }

    /// Notes that the user was told; returns whether nobody else has done so before.
    pub fn take_word(&self, chain: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE continuations SET untold = NULL WHERE id = ?1 AND untold IS NOT NULL";
        self.connection.execute(sql, [chain]).map(|told| told > 0).map_err(cannot("pass word on"))
    }

    /// Returns the newest steps of all chains, the oldest of them first.
    pub fn steps(&self, most: usize) -> Result<Vec<Step>, StoreError> {
        let failed = cannot("read the continuation's log");
        let mut statement = self
            .connection
            .prepare(
                "SELECT continuation_id, session_id, round, state, attempt, reason, at, deadline
                 FROM continuation_steps ORDER BY id DESC LIMIT ?1",
            )
            .map_err(&failed)?;
        let rows = statement
            .query_map([most as i64], |row| {
                Ok(Step {
                    chain: row.get(0)?,
                    session: row.get(1)?,
                    round: row.get(2)?,
                    state: row.get(3)?,
                    attempt: row.get(4)?,
                    reason: row.get(5)?,
                    at: millis(row, 6)?,
                    deadline: millis(row, 7)?,
                })
            })
            .map_err(&failed)?;
        let mut steps: Vec<Step> = rows.collect::<Result<_, _>>().map_err(failed)?;
        steps.reverse();
        Ok(steps)
    }
}

fn find(connection: &Connection, id: i64) -> rusqlite::Result<Option<Chain>> {
    let sql = format!("SELECT {COLUMNS} FROM continuations WHERE id = ?1");
    connection.query_row(&sql, [id], read).optional()
}

fn step(
    connection: &Connection,
    id: i64,
    now: Millis,
    decide: impl FnOnce(&Plan, &[String]) -> Outcome,
) -> rusqlite::Result<Option<Met>> {
    let Some(chain) = find(connection, id)? else { return Ok(None) };
    // Of the rounds since a person's last prompt, which are those that the plan counts.
    let mut statement = connection
        .prepare("SELECT remaining FROM continuation_handoffs WHERE continuation_id = ?1 ORDER BY id DESC LIMIT ?2")?;
    let rows = statement.query_map((id, chain.plan.round), |row| row.get(0))?;
    let mut remaining: Vec<String> = rows.collect::<Result<_, _>>()?;
    remaining.reverse();
    let Outcome { plan, act } = decide(&chain.plan, &remaining);
    if plan != chain.plan {
        write(connection, id, &plan)?;
    }
    if is_step(&chain.plan, &plan) {
        connection.execute(
            "INSERT INTO continuation_steps (continuation_id, session_id, round, state, attempt, reason, at, deadline)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                id,
                &plan.session,
                plan.round,
                if plan.paused { "paused" } else { plan.state.as_str() },
                plan.attempt,
                &plan.reason,
                now.0 as i64,
                plan.deadline.0 as i64,
            ),
        )?;
    }
    if let Act::Clear(handoff) = &act {
        connection.execute(
            "INSERT INTO continuation_handoffs (continuation_id, round, session_id, front, body, remaining, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (id, plan.round, &plan.session, &handoff.front, &handoff.body, handoff.remaining(), now.0 as i64),
        )?;
    }
    Ok(Some(Met { chain: Chain { plan, ..chain }, act }))
}

/// A plan can change without a step, as when the count of its rounds begins anew.
fn is_step(before: &Plan, after: &Plan) -> bool {
    (before.state, before.attempt, before.paused, before.since, &before.session)
        != (after.state, after.attempt, after.paused, after.since, &after.session)
}

fn write(connection: &Connection, id: i64, plan: &Plan) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE continuations SET session_id = :session, state = :state, round = :round, nonce = :nonce,
             asked_at = :asked, fired = :fired, attempt = :attempt, since = :since, deadline = :deadline,
             paused = :paused, lifts = :lifts, by_prompt = :by_prompt, stuck_in = :stuck, reason = :reason
         WHERE id = :id",
        named_params! {
            ":id": id,
            ":session": plan.session,
            ":state": plan.state.as_str(),
            ":round": plan.round,
            ":nonce": plan.nonce,
            ":asked": plan.asked_at.0 as i64,
            ":fired": serde_json::to_string(&plan.fired).unwrap_or_default(),
            ":attempt": plan.attempt,
            ":since": plan.since.0 as i64,
            ":deadline": plan.deadline.0 as i64,
            ":paused": plan.paused,
            ":lifts": plan.lifts,
            ":by_prompt": plan.by_prompt,
            ":stuck": plan.stuck_in.map(State::as_str),
            ":reason": plan.reason,
        },
    )?;
    Ok(())
}

fn millis(row: &Row<'_>, column: usize) -> rusqlite::Result<Millis> {
    Ok(Millis(row.get::<_, i64>(column)?.unsigned_abs()))
}

/// Reads a count; one that cannot be is the nearest that can.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    Ok(u32::try_from(row.get::<_, i64>(column)?.max(0)).unwrap_or(u32::MAX))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Chain> {
    let state = |column: usize| -> rusqlite::Result<Option<State>> {
        Ok(row.get::<_, Option<String>>(column)?.and_then(|state| State::from_stored(&state)))
    };
    Ok(Chain {
        id: row.get(0)?,
        project_path: row.get(2)?,
        client_pid: count(row, 3)?,
        place: row.get(4)?,
        plan: Plan {
            session: row.get(1)?,
            state: state(5)?.unwrap_or_default(),
            round: count(row, 6)?,
            nonce: row.get(7)?,
            asked_at: millis(row, 8)?,
            fired: serde_json::from_str(&row.get::<_, String>(9)?).unwrap_or_default(),
            attempt: count(row, 10)?,
            since: millis(row, 11)?,
            deadline: millis(row, 12)?,
            paused: row.get(13)?,
            lifts: count(row, 17)?,
            by_prompt: row.get(18)?,
            stuck_in: state(14)?,
            reason: row.get(15)?,
        },
        created_at: millis(row, 16)?,
    })
}
