//! Better words from a model, where the user wants to pay for them (`memory.model.enabled`).
//!
//! To have it in a worker:
//!
//! - first thing in `main`: `if let Some(code) = model::guard(std::env::args().skip(1)) { return code; }`, because the
//!   client is run below this executable once more, which ends it when the worker is gone;
//! - when the worker has its place: `let _model = model::start(&home, For::User);`. It looks into the config by itself, each
//!   time, and does nothing while that says no. When it is dropped, the client is ended;
//! - before it ends for want of visitors: [`Summarizer::is_busy`];
//! - where a hook has started the worker: [`Summarizer::idle_for`] says how long there has been nothing to do.
//!
//! **Invariant:** a failure, of whatever kind and at whatever moment, leaves the words of the rules as they are.

mod answer;
pub(crate) mod api;
mod ask;
mod claude;
mod outlook;
mod provider;
mod run;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longhaul_core::config::Via;
use longhaul_runtime::Home;
pub(crate) use longhaul_runtime::guard;

pub(crate) use self::outlook::{is_work_waiting, note_failed_start};
use self::run::Runner;

#[cfg(test)]
mod tests;

/// How long the end of a child is waited for. A request over HTTPS is left alone: it ends with the process.
const AT_END: Duration = Duration::from_secs(2);

/// The loop, in a thread of its own; ended when dropped.
#[derive(Debug)]
pub(crate) struct Summarizer {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Who has started the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// The user, who ends it, too.
    User,
    /// A hook, for as long as there is something to put into words.
    Hook,
}

/// Starts the loop. There must be no second one with the same home: the worker's lock sees to that.
pub(crate) fn start(home: &Home, started: For) -> Summarizer {
    let stop = Arc::new(Stop::default());
    let (home, signal) = (home.clone(), Arc::clone(&stop));
    let work = move || Runner::new(&home, &signal, started).run();
    // Without a thread there are no better words, and everything else works.
    let thread = thread::Builder::new().name("model".to_owned()).spawn(work).ok();
    if thread.is_none() {
        stop.set_idle(true);
    }
    Summarizer { stop, thread }
}

impl Summarizer {
    /// Returns whether a model is being asked right now.
    pub(crate) fn is_busy(&self) -> bool {
        self.stop.state().busy
    }

    /// Returns for how long there has been nothing to do, now or soon; zero where there is.
    pub(crate) fn idle_for(&self) -> Duration {
        self.stop.state().idle_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for Summarizer {
    fn drop(&mut self) {
        self.stop.end();
        let deadline = Instant::now() + AT_END;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < deadline {
            if self.stop.state().cannot_stop {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Tells the loop to end.
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
    /// It waits for something that cannot be broken off.
    cannot_stop: bool,
}

impl Stop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.state().stopped
    }

    /// Ends what waits for it.
    pub(crate) fn end(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    /// Waits, unless it is told to end.
    pub(crate) fn wait(&self, time: Duration) {
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, time, |state| !state.stopped));
    }

    /// Notes whether there is nothing to do, now or soon.
    fn set_idle(&self, is_idle: bool) {
        let mut state = self.state();
        state.idle_since = is_idle.then(|| state.idle_since.unwrap_or_else(Instant::now));
    }

    /// Notes that a model is being asked, until what it returns is dropped.
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
