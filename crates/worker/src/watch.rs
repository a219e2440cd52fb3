//! Detects new records while there are listeners, sends them, and sends the `ping` that keeps an idle connection open.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use longhaul_runtime::memory::take_in_all;
use longhaul_runtime::{Error, ErrorLog, Home, today, waiting_times};
use longhaul_store::{Entry, Newest, Store, What};
use serde_json::{Value, json};

use crate::database::{blocking, lock};
use crate::response::Problem;
use crate::stream::{Joining, event};
use crate::worker::Worker;
use crate::{observed, shapes};

/// How often the database is checked.
const PAUSE: Duration = Duration::from_millis(250);

/// The maximum number of new rows of each kind in one event.
const MOST: usize = 100;

/// Runs for as long as the worker does.
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
            ErrorLog::new(&longhaul_runtime::env(), "worker").write(&error.chain());
            // Nothing was sent: the next check begins at the same point.
            (watcher.file, watcher.newest, watcher.words) = before;
            News::default()
        });
        Ok::<_, Problem>((watcher, news))
    });
    looked.await.unwrap_or_default()
}

/// The state at the last check.
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
        for one in joining {
            let greeting = self.greet(&store, &one)?;
            news.greetings.push((one, greeting));
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
        let agents = observed::agents(store, eyes.look(&worker.home, &config)?, &config.context.windows, env.now)?;
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
