//! Waiting for the write lock in a queue, first come, first served.
//!
//! SQLite itself retries after a delay that grows each time: of many processes some wait for seconds, while others that came
//! later get the lock. Here a process that finds the database locked locks a file beside it, which is the queue; only the
//! process that holds the file retries.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fs2::FileExt;
use rusqlite::Connection;

/// How long the first in the queue waits before it retries.
const PAUSE: Duration = Duration::from_millis(1);

/// How long the first in the queue stays there without writing. It may be waiting to read, of which no hook of SQLite reports
/// the end.
const IDLE: Duration = Duration::from_millis(500);

/// How long the first in the queue stays there after its first write. A hook writes a few times in a few milliseconds, and
/// would otherwise queue again behind all others for each of them.
const STAY: Duration = Duration::from_millis(25);

/// A process that has queued for longer than this is one of many.
const LONG: Duration = Duration::from_millis(200);

#[derive(Debug, Clone)]
pub(crate) struct LockQueue(Arc<Mutex<Wait>>);

#[derive(Debug)]
struct Wait {
    lock: PathBuf,
    patience: Duration,
    since: Instant,
    /// The patience of a statement that must not queue.
    patience_outside: Option<Duration>,
    /// How long it has queued so far.
    waited: Duration,
    /// How long all statements have waited so far, and how long they may wait together.
    total: Duration,
    most_in_all: Option<Duration>,
    head: Option<QueueHead>,
}

/// The first place in the queue, which a thread holds. It is given up when this is dropped, at the latest.
#[derive(Debug)]
struct QueueHead {
    /// Reports each commit or rollback to the thread.
    served: Sender<()>,
    thread: JoinHandle<()>,
}

impl LockQueue {
    /// Makes `connection` wait in the queue of the database at `path`, for `patience` at most.
    pub(crate) fn install(connection: &mut Connection, path: &Path, patience: Duration) -> rusqlite::Result<Self> {
        let mut lock = path.as_os_str().to_owned();
        lock.push("-line");
        let wait = Wait {
            lock: lock.into(),
            patience,
            since: Instant::now(),
            patience_outside: None,
            waited: Duration::ZERO,
            total: Duration::ZERO,
            most_in_all: None,
            head: None,
        };
        let queue = Self(Arc::new(Mutex::new(wait)));
        let (busy, committed, rolled_back) = (queue.clone(), queue.clone(), queue.clone());
        connection.busy_handler(Some(move |retries| busy.wait().retry(retries)))?;
        connection.commit_hook(Some(move || {
            committed.wait().is_served();
            false
        }))?;
        connection.rollback_hook(Some(move || rolled_back.wait().is_served()))?;
        Ok(queue)
    }

    pub(crate) fn patience(&self) -> Duration {
        self.wait().patience
    }

    pub(crate) fn set_patience(&self, patience: Duration) {
        self.wait().patience = patience;
    }

    pub(crate) fn limit_all_waits(&self, most: Duration) {
        self.wait().most_in_all = Some(most);
    }

    /// Runs `work`, which waits for at most `patience` and does not queue.
    ///
    /// This is for statements that wait while they hold the write lock, as a checkpoint waits for readers: the first in the
    /// queue waits for that lock, so that both would wait until the patience of one is at its end.
    pub(crate) fn without_queueing<T>(&self, patience: Duration, work: impl FnOnce() -> T) -> T {
        self.wait().patience_outside = Some(patience);
        let done = work();
        self.wait().patience_outside = None;
        done
    }

    pub(crate) fn is_long(&self) -> bool {
        self.wait().waited > LONG
    }

    fn wait(&self) -> MutexGuard<'_, Wait> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait {
    /// Waits until it is time to try again; returns whether to. `retries` is how often it was tried in vain before.
    fn retry(&mut self, retries: i32) -> bool {
        let began = Instant::now();
        let is_tried_again = self.pause(retries);
        self.total += began.elapsed();
        is_tried_again
    }

    fn pause(&mut self, retries: i32) -> bool {
        if retries == 0 {
            self.since = Instant::now();
            self.head.take_if(|head| head.thread.is_finished());
        }
        if let Some(patience) = self.patience_outside {
            thread::sleep(PAUSE);
            return self.since.elapsed() < patience;
        }
        let in_all = self.most_in_all.map_or(Duration::MAX, |most| most.saturating_sub(self.total));
        let left = self.patience.saturating_sub(self.since.elapsed()).min(in_all);
        if left.is_zero() {
            self.head = None;
            return false;
        }
        // Not to the end: the first in the queue may be a stopped process, and the others then do without a queue.
        let in_queue = left.saturating_sub(self.patience.min(in_all) / 4);
        if self.head.is_none() && !in_queue.is_zero() && self.enqueue(in_queue) {
            return true;
        }
        thread::sleep(PAUSE.min(left));
        true
    }

    /// Reports a commit or a rollback to the thread that holds the place.
    fn is_served(&mut self) {
        self.head.take_if(|head| head.served.send(()).is_err());
    }

    /// Queues; returns whether the first place was reached within `most`.
    ///
    /// A thread does the waiting, because locking a file has no time limit.
    fn enqueue(&mut self, most: Duration) -> bool {
        let Ok(file) = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.lock) else { return false };
        let (reached, is_reached) = mpsc::channel();
        let (served, is_served) = mpsc::channel();
        let wait = move || {
            if file.lock_exclusive().is_ok() && reached.send(()).is_ok() && is_served.recv_timeout(IDLE).is_ok() {
                let end = Instant::now() + STAY;
                while is_served.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
            }
        };
        let Ok(thread) = thread::Builder::new().spawn(wait) else { return false };
        let began = Instant::now();
        let is_first = is_reached.recv_timeout(most).is_ok();
        self.waited += began.elapsed();
        self.head = is_first.then_some(QueueHead { served, thread });
        is_first
    }
}
