//! The state that all requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use longhaul_core::{Config, Env};
use longhaul_runtime::worker::{WorkerFile, new_token};
use longhaul_runtime::{Error, Home};
use longhaul_usage_reader::AllUsage;

use tokio::sync::Semaphore;

use crate::database::{Database, lock};
use crate::observed::Eyes;
use crate::request_rate::{Bucket, REQUESTS, STRANGERS};
use crate::stream::Hub;

/// The state of the worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) home: Home,
    env: Env,
    pub(crate) file: WorkerFile,
    /// The key with which the page asks. It is in no file of Longhaul, opens only what the page uses, and ends with this
    /// worker.
    pub(crate) page_key: String,
    pub(crate) database: Arc<Database>,
    pub(crate) hub: Hub,
    pub(crate) eyes: Mutex<Eyes>,
    /// The usage of all transcripts, which `/api/cost` reads on from where it was.
    pub(crate) usage: Mutex<AllUsage>,
    pub(crate) requests: Bucket,
    pub(crate) strangers: Bucket,
    /// Held while two snapshots are compared.
    pub(crate) comparisons: Arc<Semaphore>,
    used: Mutex<Instant>,
    is_kept: AtomicBool,
}

impl Worker {
    pub(crate) fn new(env: &Env, file: WorkerFile) -> Result<Self, Error> {
        let now = Instant::now();
        let home = Home::of(env)?;
        Ok(Self {
            database: Arc::new(Database::open(&home)?),
            home,
            env: env.clone(),
            page_key: new_token()?,
            is_kept: AtomicBool::new(!file.for_model),
            file,
            hub: Hub::default(),
            eyes: Mutex::default(),
            usage: Mutex::default(),
            requests: Bucket::new(REQUESTS.0, REQUESTS.1, now),
            strangers: Bucket::new(STRANGERS.0, STRANGERS.1, now),
            comparisons: Arc::new(Semaphore::new(1)),
            used: Mutex::new(now),
        })
    }

    /// Records that the worker is used.
    pub(crate) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Records that the user wants the worker: from now on it counts as started by the user, not by a hook.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Returns whether the user wants the worker, so that it stays while a model has nothing to do.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Returns for how long the worker was not used.
    pub(crate) fn idle(&self) -> Duration {
        if self.hub.clients() > 0 {
            self.touch();
        }
        lock(&self.used).elapsed()
    }

    /// Returns the current environment and configuration.
    pub(crate) fn now(&self) -> Result<(Env, Config), Error> {
        let mut env = self.env.clone();
        env.now = longhaul_runtime::env().now;
        let (config, _) = longhaul_runtime::config(&env)?;
        Ok((env, config))
    }
}
