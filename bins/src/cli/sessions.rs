//! Which session a person means: by its number, its id, or the beginning of its id.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use longhaul_core::{Env, Millis, SessionId};
use longhaul_inject::{Terminal, TmuxPane};
use longhaul_runtime::{Home, SessionRecord, Tracker, bounded_read, files};
use longhaul_tracker::Agent;
use serde::{Deserialize, Serialize};

/// Returns the session of `known` with the id `prefix`, or else the only one whose id begins with it.
pub(crate) fn only_one<T>(prefix: &str, known: Vec<T>, id: impl Fn(&T) -> &str) -> Result<T> {
    let mut found: Vec<T> = known.into_iter().filter(|session| id(session).starts_with(prefix)).collect();
    if let Some(exact) = found.iter().position(|session| id(session) == prefix) {
        return Ok(found.swap_remove(exact));
    }
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().map(id).collect();
        bail!("several sessions have an id that begins with {prefix:?}: {}", ids.join(", "));
    }
    found.pop().with_context(|| format!("no session has an id that begins with {prefix:?}"))
}

/// A number has at most this many digits. A longer word of digits is the beginning of an id.
const NUMBER_DIGITS: usize = 4;

/// A running session, with its process and terminal.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) agent: Agent,
    pub(crate) record: SessionRecord,
}

/// Finds a running session by its number, its id, or the beginning of its id.
pub(crate) fn find_target(home: &Home, name: &str) -> anyhow::Result<Target> {
    let agents = match home.existing_store()? {
        Some(store) => store.agents()?,
        None => Vec::new(),
    };
    if agents.is_empty() {
        bail!("no session is running: `longhaul status` lists them");
    }
    let number = Some(name).filter(|name| name.len() <= NUMBER_DIGITS).and_then(|name| name.parse().ok());
    let agent = match number {
        Some(number) => {
            let session = read_numbers(home).session(number).map(str::to_owned);
            let found = agents.into_iter().find(|agent| Some(&agent.session) == session.as_ref());
            found.with_context(|| format!("no running session has the number {number}: see `longhaul status`"))?
        }
        None if name.is_empty() => {
            bail!("the name of the session is empty: use its number, or the beginning of its id")
        }
        None => only_one(name, agents, |agent| &agent.session).context("see `longhaul status`")?,
    };
    Ok(target(home, agent))
}

/// Returns the only session of the user that runs, or `None` if there is none or more than one.
pub(crate) fn only_running(env: &Env, home: &Home) -> anyhow::Result<Option<Target>> {
    if !home.database().exists() {
        return Ok(None);
    }
    let mut tracker = Tracker::open(env, home)?;
    // Sessions whose process is gone would count, too.
    tracker.tidy()?;
    let mut agents = tracker.agents()?.into_iter().filter(|agent| agent.is_counted() && agent.client == "claude");
    let only = agents.next().filter(|_| agents.next().is_none());
    Ok(only.map(|agent| target(home, agent)))
}

/// Finds a running session by its id.
pub(crate) fn of_session(home: &Home, session: &str) -> anyhow::Result<Target> {
    let agent = home.existing_store()?.map(|store| store.agent(session)).transpose()?.flatten();
    let agent = agent.context("the session has ended")?;
    Ok(target(home, agent))
}

/// Returns a session with its record; without one, what the tracker knows is used.
fn target(home: &Home, agent: Agent) -> Target {
    let record = SessionId::new(&agent.session).and_then(|session| SessionRecord::load(home, &session));
    let record = record.unwrap_or_else(|| SessionRecord {
        cleared: false,
        session: agent.session.clone(),
        started_at: agent.started_at.saturating_mul(1000),
        terminal: agent
            .pane
            .as_ref()
            .filter(|_| agent.client == "claude")
            .map(|pane| Terminal::Tmux(TmuxPane { socket: pane.socket.clone(), pane: pane.id.clone() })),
        no_terminal: None,
        client_pid: agent.pid,
        cwd: agent.cwd.as_ref().map(Into::into),
        transcript: None,
    });
    Target { agent, record }
}

/// Returns the numbers of the sessions. A session without a number gets one, which is stored.
///
/// Numbers are a convenience: if they cannot be stored, the caller can still show the sessions.
pub(crate) fn assign_numbers<'a>(home: &Home, running: impl Iterator<Item = &'a str>, now: Millis) -> SessionNumbers {
    let running: Vec<&str> = running.collect();
    // Without a session, this must not create the data folder.
    if running.is_empty() {
        return SessionNumbers::default();
    }
    // Two commands at the same time must not give one number to two sessions.
    let lock = files::open_append(&home.locks().join("session-numbers")).ok();
    let is_locked = lock.as_ref().is_some_and(|lock| lock.lock().is_ok());
    let mut numbers = read_numbers(home);
    if numbers.assign(running.into_iter(), now) && is_locked {
        let text = serde_json::to_vec(&numbers).unwrap_or_default();
        let _ = files::replace(&home.session_numbers(), &text);
    }
    numbers
}

fn read_numbers(home: &Home) -> SessionNumbers {
    let text = bounded_read::bytes(&home.session_numbers(), bounded_read::LARGE).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// How long the number of a session that has ended is not given to another one: what a person has read may be old.
const KEPT_MS: u64 = 60 * 60 * 1000;

/// How old the time of a session that still runs may get before it is stored again.
const STALE_MS: u64 = 10 * 60 * 1000;

/// The numbers of the sessions. A session keeps its number as long as it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SessionNumbers {
    numbers: BTreeMap<u32, Numbered>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Numbered {
    session: String,
    /// When it was last seen running.
    seen: u64,
}

impl SessionNumbers {
    /// Gives every running session a number: the one that it has, or else the smallest one that is free.
    ///
    /// Returns whether something has changed that must be stored.
    pub(crate) fn assign<'a>(&mut self, running: impl Iterator<Item = &'a str>, now: Millis) -> bool {
        let before = self.numbers.clone();
        let running: Vec<&str> = running.collect();
        self.numbers.retain(|_, numbered| {
            running.contains(&numbered.session.as_str()) || now.0.saturating_sub(numbered.seen) < KEPT_MS
        });
        for session in running {
            match self.numbers.values_mut().find(|numbered| numbered.session == session) {
                Some(known) if now.0.saturating_sub(known.seen) >= STALE_MS => known.seen = now.0,
                Some(_) => {}
                None => {
                    let free = (1..).find(|number| !self.numbers.contains_key(number)).unwrap_or(u32::MAX);
                    self.numbers.insert(free, Numbered { session: session.to_owned(), seen: now.0 });
                }
            }
        }
        self.numbers != before
    }

    pub(crate) fn of(&self, session: &str) -> Option<u32> {
        self.numbers.iter().find(|(_, numbered)| numbered.session == session).map(|(number, _)| *number)
    }

    pub(crate) fn session(&self, number: u32) -> Option<&str> {
        self.numbers.get(&number).map(|numbered| numbered.session.as_str())
    }
}

#[cfg(test)]
mod tests;
