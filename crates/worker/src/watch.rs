//! Notices what is new, as long as somebody listens.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use longhaul_runtime::memory::take_in_all;
use longhaul_runtime::{Error, ErrorLog, Home, today};
use longhaul_store::{Entry, Newest, Store, What};
use serde_json::{Value, json};

use crate::database::{blocking, lock};
use crate::response::Problem;
use crate::stream::{Joining, event};
use crate::worker::Worker;
use crate::{observed, shapes};

/// How often somebody looks.
const PAUSE: Duration = Duration::from_millis(250);

/// How often a silent line gets a sign of life.
const PING: Duration = Duration::from_secs(15);

/// How many new rows of each kind are told at once.
const MOST: usize = 100;

/// How often it looks whether a running session's context has grown: transcripts tell no database.
const AGENTS: Duration = Duration::from_secs(2);

/// Looks for as long as the worker runs.
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
        if pinged.elapsed() >= PING {
            pinged = Instant::now();
            worker.hub.send(&event("ping", None, &json!({})));
        }
        let _ = tokio::time::timeout(PAUSE, worker.hub.wake.notified()).await;
    }
}

/// What is to be told, to everybody and to those who have just come.
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
            // Nobody has been told anything: the next look begins where this one did.
            (watcher.file, watcher.newest, watcher.words) = before;
            News::default()
        });
        Ok::<_, Problem>((watcher, news))
    });
    looked.await.unwrap_or_default()
}

/// What was seen last.
#[derive(Default)]
struct Watcher {
    seen: Option<Seen>,
    /// The database's file that was last looked at; 0 for none.
    file: u64,
    newest: Option<Newest>,
    /// How often a model was asked today.
    words: Option<u64>,
    agents: Vec<Value>,
    agents_at: Option<Instant>,
    notes: u64,
}

/// A connection of its own: only by others' writes does the number change, and only within one connection.
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
                // In a database that takes the place of another the numbers begin anew.
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
        let is_time = self.agents_at.is_none_or(|at| at.elapsed() >= AGENTS);
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

    /// Takes in what hooks have noted meanwhile; the next end of a turn may be far.
    fn take_in(&mut self, worker: &Worker) -> Result<(), Error> {
        let notes = notes(&worker.home);
        if self.notes != notes {
            let env = longhaul_runtime::env();
            // One spool that cannot be read keeps nobody from seeing the others; one that nobody could store is tried again.
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
        // What a model has put into better words keeps its number and its time.
        let words = store.model_spending(&today(longhaul_runtime::env().now))?.requests;
        let reworded = self.words.replace(words).is_some_and(|before| before != words);
        let Some(since) = self.newest.replace(newest) else { return Ok(None) };
        rows_since(store, &since, &newest, reworded)
    }

    fn agents(&mut self, worker: &Worker, store: &Store) -> Result<Option<Bytes>, Error> {
        let (env, config) = worker.now()?;
        let mut eyes = lock(&worker.eyes);
        let agents = observed::agents(store, eyes.look(&worker.home)?, &config.context.windows, env.now)?;
        drop(eyes);
        // Everybody grows older all the time.
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

/// Returns what is new; `more` where lists must be read afresh even so.
fn rows_since(store: &Store, since: &Newest, newest: &Newest, more: bool) -> Result<Option<Bytes>, Error> {
    let new = |what: What| -> Result<Vec<Value>, Error> {
        let entries: Vec<Entry> = store.entries_since(what, since, MOST)?;
        Ok(entries.iter().map(shapes::entry).collect())
    };
    let (prompts, observations, summaries) = (new(What::Prompt)?, new(What::Observation)?, new(What::Summary)?);
    let is_empty = !more && prompts.is_empty() && observations.is_empty() && summaries.is_empty();
    // Somebody has brought a whole past, or was away for long.
    let more = more || [&prompts, &observations, &summaries].iter().any(|rows| rows.len() == MOST);
    let rows = json!({ "prompts": prompts, "observations": observations, "summaries": summaries, "more": more });
    Ok((!is_empty).then(|| event("rows", Some(newest), &rows)))
}

/// Returns what changes with every note of a hook.
fn notes(home: &Home) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in std::fs::read_dir(home.spool()).into_iter().flatten().flatten() {
        if let Ok(metadata) = entry.metadata() {
            (entry.file_name(), metadata.len(), metadata.ino()).hash(&mut hasher);
        }
    }
    hasher.finish()
}
