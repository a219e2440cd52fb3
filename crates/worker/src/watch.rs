//! What the worker sees: the sessions, their context use and their cost. Detects new records while there are listeners, sends
//! them, and sends the `ping` that keeps an idle connection open.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use longhaul_core::{Config, Millis};
use longhaul_cost::{Prices, Sum, sum_json};
use longhaul_runtime::cost::SessionCosts;
use longhaul_runtime::memory::take_in_all;
use longhaul_runtime::waiting_times::{self, SESSIONS_READ_FOR_REQUEST};
use longhaul_runtime::{Error, Home, Observation, Observed, Observer, agent_json, how_full, today};
use longhaul_store::{ContextUse, Entry, Newest, Store, What};
use longhaul_tracker::{Agent, attention};
use longhaul_transcript::ContextFill;
use serde_json::{Value, json};

use crate::database::{blocking, lock};
use crate::routes::Problem;
use crate::serve::{Worker, log};
use crate::shapes;
use crate::stream::{Joining, event};

/// How often the database is checked.
const PAUSE: Duration = Duration::from_millis(250);

/// The maximum number of new rows of each kind in one event.
const MOST: usize = 100;

pub(crate) async fn watch(worker: Arc<Worker>) {
    let mut watcher = Watcher::default();
    let mut pinged = Instant::now();
    loop {
        if worker.hub.clients() == 0 {
            watcher = Watcher::default();
            worker.hub.wake.notified().await;
        }
        let joining = worker.hub.take_joining();
        let (looked, news) = look(&worker, watcher, joining).await;
        watcher = looked;
        for event in &news.events {
            worker.hub.send(event);
        }
        for (joining, greeting) in news.greetings {
            worker.hub.welcome(joining, &greeting);
        }
        if pinged.elapsed() >= waiting_times::STREAM_PING {
            pinged = Instant::now();
            worker.hub.send(&event("ping", None, &json!({})));
        }
        let _ = tokio::time::timeout(PAUSE, worker.hub.wake.notified()).await;
    }
}

/// The events for all listeners, and for the new ones.
#[derive(Default)]
struct News {
    events: Vec<Bytes>,
    greetings: Vec<(Joining, Vec<Bytes>)>,
}

async fn look(worker: &Arc<Worker>, watcher: Watcher, joining: Vec<Joining>) -> (Watcher, News) {
    let worker = Arc::clone(worker);
    let looked = blocking(move || {
        let mut watcher = watcher;
        let before = (watcher.file, watcher.newest, watcher.words);
        let news = watcher.look(&worker, joining).unwrap_or_else(|error| {
            log(&error.chain());
            // Nothing was sent: the next check begins at the same point.
            (watcher.file, watcher.newest, watcher.words) = before;
            News::default()
        });
        Ok::<_, Problem>((watcher, news))
    });
    looked.await.unwrap_or_default()
}

#[derive(Default)]
struct Watcher {
    seen: Option<Seen>,
    /// The inode of the database at the last check; 0 for none.
    file: u64,
    newest: Option<Newest>,
    /// The number of requests to a model today.
    words: Option<u64>,
    agents: Vec<Value>,
    agents_at: Option<Instant>,
    notes: u64,
}

/// A connection for the checks. SQLite's data version changes only by writes of other connections.
struct Seen {
    store: Store,
    version: Option<i64>,
}

impl Watcher {
    fn look(&mut self, worker: &Worker, joining: Vec<Joining>) -> Result<News, Error> {
        self.take_in(worker)?;
        let database = &worker.database;
        let Seen { store, version: before } = match self.seen.take() {
            Some(seen) if self.file == database.file() => seen,
            _ => {
                let (store, file) = database.reader(PAUSE)?;
                // In a new database, the ids start again.
                if self.file != 0 && self.file != file {
                    self.newest = Some(Newest::default());
                }
                self.file = file;
                Seen { store, version: None }
            }
        };
        let version = Some(store.data_version()?);
        let changed = before != version;
        let mut news = News::default();
        if changed {
            news.events.extend(self.rows(&store)?);
        }
        let is_time = self.agents_at.is_none_or(|at| at.elapsed() >= waiting_times::STREAM_CONTEXT_READ);
        if changed || is_time || !joining.is_empty() {
            self.agents_at = Some(Instant::now());
            news.events.extend(self.agents(worker, &store)?);
        }
        for listener in joining {
            let greeting = self.greet(&store, &listener)?;
            news.greetings.push((listener, greeting));
        }
        self.seen = Some(Seen { store, version });
        Ok(news)
    }

    /// Stores what is in the spools: the end of the turn may be far away.
    fn take_in(&mut self, worker: &Worker) -> Result<(), Error> {
        let notes = notes(&worker.home);
        if self.notes != notes {
            let env = longhaul_runtime::env();
            // A spool that cannot be read does not affect the others, and is tried again later.
            let problems =
                worker.database.write(|store| Ok::<_, Error>(take_in_all(store, &worker.home, &env, None)))?;
            if !problems.iter().any(Error::is_busy) {
                self.notes = notes;
            }
        }
        Ok(())
    }

    fn rows(&mut self, store: &Store) -> Result<Option<Bytes>, Error> {
        let newest = store.newest()?;
        // A record that a model has rewritten keeps its id and its time.
        let words = store.model_spending(&today(longhaul_runtime::env().now))?.requests;
        let reworded = self.words.replace(words).is_some_and(|before| before != words);
        let Some(since) = self.newest.replace(newest) else { return Ok(None) };
        rows_since(store, &since, &newest, reworded)
    }

    fn agents(&mut self, worker: &Worker, store: &Store) -> Result<Option<Bytes>, Error> {
        let (env, config) = worker.now()?;
        let mut eyes = lock(&worker.eyes);
        let agents = agents(store, eyes.look(&worker.home, &config)?, &config.models.windows, env.now)?;
        drop(eyes);
        // The age changes all the time, so it is not compared.
        let ageless = |agents: &[Value]| -> Vec<Value> {
            let mut agents = agents.to_vec();
            agents.iter_mut().for_each(|agent| agent["age_seconds"] = Value::Null);
            agents
        };
        let changed = ageless(&agents) != ageless(&self.agents);
        self.agents = agents;
        Ok(changed.then(|| event("agents", None, &self.agents)))
    }

    fn greet(&self, store: &Store, joining: &Joining) -> Result<Vec<Bytes>, Error> {
        let newest = self.newest.unwrap_or_default();
        let numbers = json!({
            "prompts": newest.prompt, "observations": newest.observation, "summaries": newest.summary,
        });
        let hello = json!({ "version": env!("CARGO_PKG_VERSION"), "newest": numbers });
        let mut greeting = vec![event("hello", Some(&newest), &hello), event("agents", None, &self.agents)];
        if let Some(has) = &joining.has {
            greeting.extend(rows_since(store, has, &newest, false)?);
        }
        Ok(greeting)
    }
}

/// Returns the new rows; `more` is set if clients must read their lists again.
fn rows_since(store: &Store, since: &Newest, newest: &Newest, more: bool) -> Result<Option<Bytes>, Error> {
    let new = |what: What| -> Result<Vec<Value>, Error> {
        let entries: Vec<Entry> = store.entries_since(what, since, MOST)?;
        Ok(entries.iter().map(shapes::entry).collect())
    };
    let (prompts, observations, summaries) = (new(What::Prompt)?, new(What::Observation)?, new(What::Summary)?);
    let is_empty = !more && prompts.is_empty() && observations.is_empty() && summaries.is_empty();
    // Many records were imported, or the listener was away for long.
    let more = more || [&prompts, &observations, &summaries].iter().any(|rows| rows.len() == MOST);
    let rows = json!({ "prompts": prompts, "observations": observations, "summaries": summaries, "more": more });
    Ok((!is_empty).then(|| event("rows", Some(newest), &rows)))
}

/// Returns a value that changes whenever a hook writes to a spool.
fn notes(home: &Home) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in std::fs::read_dir(home.spool()).into_iter().flatten().flatten() {
        if let Ok(metadata) = entry.metadata() {
            (entry.file_name(), metadata.len(), metadata.ino()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Reads the files of sessions, at most once per [`SESSIONS_READ_FOR_REQUEST`].
#[derive(Debug, Default)]
pub(crate) struct Eyes {
    observer: Observer,
    costs: SessionCosts,
    seen: SeenSessions,
    at: Option<Instant>,
}

#[derive(Debug, Default)]
pub(crate) struct SeenSessions {
    pub(crate) observation: Observation,
    /// The cost of each running session whose transcript is known.
    costs: HashMap<String, Sum>,
}

impl Eyes {
    /// Returns the sessions as they were at most [`SESSIONS_READ_FOR_REQUEST`] ago.
    pub(crate) fn look(&mut self, home: &Home, config: &Config) -> Result<&SeenSessions, Error> {
        if self.at.is_none_or(|at| at.elapsed() >= SESSIONS_READ_FOR_REQUEST) {
            let observation = self.observer.look(home)?;
            let costs = self.costs(&observation, &Prices::new(&config.models.prices));
            self.seen = SeenSessions { observation, costs };
            self.at = Some(Instant::now());
        }
        Ok(&self.seen)
    }

    fn costs(&mut self, observation: &Observation, prices: &Prices) -> HashMap<String, Sum> {
        let running = observation.sessions.iter().filter(|observed| observed.agent.is_some());
        let known: Vec<(&str, &Path)> = running
            .filter_map(|observed| Some((observed.session.as_str(), observed.record.as_ref()?.transcript.as_deref()?)))
            .collect();
        let transcripts: Vec<&Path> = known.iter().map(|(_, transcript)| *transcript).collect();
        self.costs.keep_only(&transcripts);
        let cost = |(session, transcript): (&str, &Path)| (session.to_owned(), self.costs.of(transcript, prices));
        known.into_iter().map(cost).collect()
    }
}

/// Returns the running sessions, as `longhaul status --json` prints them, with their cost; the most urgent first.
pub(crate) fn agents(
    store: &Store,
    seen: &SeenSessions,
    windows: &BTreeMap<String, u64>,
    now: Millis,
) -> Result<Vec<Value>, Error> {
    let Observation { sessions, contexts } = &seen.observation;
    let of = |agent: &Agent| sessions.iter().find(|observed| observed.session == agent.session);
    let bridges = store.bridges()?;
    let mut agents = store.agents()?;
    agents.retain(|agent| of(agent).is_none_or(|observed| observed.client_runs != Some(false)));
    agents.sort_by_cached_key(attention);
    let json = |agent: &Agent| {
        let context = context(&agent.session, of(agent), contexts, windows);
        let percent = context.and_then(|context| context["used_percent"].as_f64());
        let mut json = agent_json(agent, percent, &bridges, now.0 / 1000);
        json["cost"] = seen.costs.get(&agent.session).map_or(Value::Null, sum_json);
        json
    };
    Ok(agents.iter().map(json).collect())
}

/// Returns how full a session's context is; `None` if nothing is known about it.
pub(crate) fn context(
    session: &str,
    observed: Option<&Observed>,
    contexts: &[ContextUse],
    windows: &BTreeMap<String, u64>,
) -> Option<Value> {
    let usage = observed.and_then(Observed::usage);
    if usage.is_none() && !contexts.iter().any(|context| context.session == session) {
        return None;
    }
    let ContextFill { tokens: used, window, model, .. } = how_full(session, usage, contexts, windows);
    let percent = used.map(|used| (used as f64 * 1000.0 / window.max(1) as f64).round() / 10.0);
    Some(json!({ "model": model, "used_tokens": used, "window_tokens": window, "used_percent": percent }))
}
