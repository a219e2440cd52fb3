//! Summaries written by a model, if the user has enabled it (`memory.model.enabled`).
//!
//! How the worker uses it:
//!
//! - first thing in `main`: `if let Some(code) = model::guard(std::env::args().skip(1)) { return code; }`, because
//!   `claude` runs as a child of a second process of this executable, which kills it when the worker is gone;
//! - after the worker has its lock: `let _model = model::start(&home, For::User);`. It reads the configuration in each round
//!   and does nothing while the model is disabled. When it is dropped, `claude` is killed;
//! - before it exits because it is not used: [`Summarizer::is_busy`];
//! - if a hook has started the worker: [`Summarizer::idle_for`] returns how long there has been nothing to do.
//!
//! **Invariant:** after any failure, the text written by rules stays.

mod answer;
pub(crate) mod api;
mod ask;
mod claude;
mod outlook;
mod provider_reply;
mod run;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longhaul_core::config::Via;
pub(crate) use longhaul_runtime::guard;
use longhaul_runtime::{Home, waiting_times};

pub(crate) use self::outlook::{is_work_waiting, note_failed_start};
use self::run::Runner;

#[cfg(test)]
mod tests;

/// The loop, in its own thread; it is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Summarizer {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Who started the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// The user, who also stops it.
    User,
    /// A hook: the worker exits when the model has nothing to do.
    Hook,
}

/// Starts the loop. The worker's lock ensures that there is only one for a data folder.
pub(crate) fn start(home: &Home, started: For) -> Summarizer {
    let stop = Arc::new(Stop::default());
    let (home, signal) = (home.clone(), Arc::clone(&stop));
    let work = move || Runner::new(&home, &signal, started).run();
    // If the thread cannot be started, no model is called; everything else works.
    let thread = thread::Builder::new().name("model".to_owned()).spawn(work).ok();
    if thread.is_none() {
        stop.set_idle(true);
    }
    Summarizer { stop, thread }
}

impl Summarizer {
    /// Returns whether a model is being called now.
    pub(crate) fn is_busy(&self) -> bool {
        self.stop.state().busy
    }

    /// Returns for how long there has been nothing to do, now or soon; zero if there is something.
    pub(crate) fn idle_for(&self) -> Duration {
        self.stop.state().idle_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for Summarizer {
    fn drop(&mut self) {
        self.stop.end();
        let deadline = Instant::now() + waiting_times::CHILD_AT_END;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < deadline {
            if self.stop.state().cannot_stop {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Stops the loop.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    busy: bool,
    /// Since when there is nothing to do, now or soon.
    idle_since: Option<Instant>,
    /// Whether the loop waits for something that cannot be cancelled.
    cannot_stop: bool,
}

impl Stop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.state().stopped
    }

    /// Stops everything that waits.
    pub(crate) fn end(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    /// Waits, unless it is stopped.
    pub(crate) fn wait(&self, time: Duration) {
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, time, |state| !state.stopped));
    }

    /// Records whether there is nothing to do, now or soon.
    fn set_idle(&self, is_idle: bool) {
        let mut state = self.state();
        state.idle_since = is_idle.then(|| state.idle_since.unwrap_or_else(Instant::now));
    }

    /// Records that a model is being called, until the returned value is dropped.
    fn asking(&self, via: Via) -> Asking<'_> {
        let mut state = self.state();
        (state.busy, state.cannot_stop) = (true, via == Via::Api);
        Asking(self)
    }
}

struct Asking<'a>(&'a Stop);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.busy, state.cannot_stop) = (false, false);
    }
}
