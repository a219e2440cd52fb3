//! Summaries written by a model, if the user has enabled it (`memory.model.via`).
//!
//! How the worker uses it:
//!
//! - first thing in `main`: `if let Some(code) = model::guard(std::env::args().skip(1)) { return code; }`, because
//!   `claude` runs as a child of a second process of this executable, which kills it when the worker is gone;
//! - after the worker has its lock: `let _model = model::start(&home, false);`. It reads the configuration in each round
//!   and does nothing while the model is disabled. When it is dropped, `claude` is killed;
//! - before it exits because it is not used: [`Summarizer::is_busy`];
//! - if a hook has started the worker: [`Summarizer::idle_for`] returns how long there has been nothing to do.
//!
//! **Invariant:** after any failure, the text written by rules stays.

mod ask;
pub(crate) mod call;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longhaul_core::config::{SummaryModel, Via};
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::TurnText;
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{
    Error, Home, ModelAccess, Sanitizer, model_budget, model_dir, today, unless_tested, waiting_times,
};
use longhaul_store::{Cost, ModelJob, Rest, Retry, Store, Turn};

use self::ask::{Request, request};
use self::call::{Blame, Client, Failure, OWN_TOKENS, Reply};

use crate::serve::log;

pub(crate) use longhaul_runtime::guard;

#[cfg(test)]
mod tests;

/// The loop, in its own thread; it is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Summarizer {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Starts the loop. The worker's lock ensures that there is only one for a data folder. If a hook has started the worker for
/// it, the worker exits when the model has nothing to do.
pub(crate) fn start(home: &Home, is_by_hook: bool) -> Summarizer {
    let stop = Arc::new(Stop::default());
    let (home, signal) = (home.clone(), Arc::clone(&stop));
    let work = move || Runner::new(&home, &signal, is_by_hook).run();
    // If the thread cannot be started, no model is called; everything else works.
    let thread = thread::Builder::new().name("model".to_owned()).spawn(work).ok();
    if thread.is_none() {
        stop.set_idle(true);
    }
    Summarizer { stop, thread }
}

impl Summarizer {
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

/// The cache of its connection, in kibibytes: it reads little.
const CACHE: u32 = 512;

const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// How long hooks do not start the worker after the budget of the day is spent. The user may raise it at any time.
const SPENT_PAUSE: Duration = Duration::from_secs(30 * 60);

/// How long a prompt waits after its first failure; four times as long after each further one.
const PUT_OFF_MS: u64 = 60_000;
const LONGEST_PUT_OFF_MS: u64 = 6 * 3_600_000;

/// After this many failures that the prompt may have caused, the text written by rules stays.
const ATTEMPTS: u32 = 6;

/// How long a turn without a recorded end must have been idle.
const SILENCE_MS: u64 = 3_600_000;

/// How many of the last turns of a session are read.
const TURNS: usize = 40;

/// What came of one look at what there is to do.
enum Round {
    /// A prompt was processed: there may be more.
    Done,
    Nothing,
    /// There is nothing to do yet, but there will be soon.
    Waiting,
    Spent,
    Failed,
    /// The worker exits.
    Stopped,
}

/// The state of the loop. Only the number of failures outlives the process.
struct Runner<'a> {
    home: &'a Home,
    stop: &'a Stop,
    is_by_hook: bool,
    settled: bool,
    client: Option<Client>,
    failures: u32,
}

impl<'a> Runner<'a> {
    fn new(home: &'a Home, stop: &'a Stop, is_by_hook: bool) -> Self {
        // A user who starts the worker wants a new attempt now.
        let pause = if is_by_hook { ModelPause::read(home) } else { None };
        let failures = pause.map_or(0, |pause| pause.failures);
        Self { home, stop, is_by_hook, settled: false, client: None, failures }
    }

    fn run(&mut self) {
        while self.stop.is_wanted() {
            let round = self.round().unwrap_or_else(|error| {
                log(&format!("model: {}", error.chain()));
                // The reservation of a request whose answer could not be stored counts as spent.
                self.settled = false;
                Round::Failed
            });
            let (pause, failures) = match round {
                Round::Done => (Duration::ZERO, 0),
                Round::Nothing | Round::Waiting | Round::Spent => (waiting_times::WORKER_LOOKS_FOR_WORK, self.failures),
                Round::Failed => (pause(self.failures), self.failures.saturating_add(1)),
                Round::Stopped => return,
            };
            self.failures = failures;
            let is_idle = self.note_pause(&round, pause).unwrap_or_else(|error| {
                log(&format!("model: {}", error.chain()));
                true
            });
            self.stop.set_idle(is_idle);
            self.stop.wait(pause);
        }
    }

    /// Records until when hooks should not start the worker; returns whether the worker can exit.
    fn note_pause(&self, round: &Round, pause: Duration) -> Result<bool, Error> {
        let env = longhaul_runtime::env();
        match round {
            Round::Done => {
                ModelPause::clear(self.home);
                Ok(false)
            }
            Round::Waiting | Round::Stopped => Ok(false),
            Round::Nothing => Ok(true),
            // A worker that the user has started stays and tries again.
            Round::Spent if !self.is_by_hook => Ok(true),
            Round::Spent => {
                let reason = "the day's token budget is spent";
                ModelPause::write(self.home, env.now, SPENT_PAUSE, self.failures, reason)?;
                Ok(true)
            }
            Round::Failed => {
                let reason = "the model could not be called, or its answer could not be used";
                ModelPause::write(self.home, env.now, pause, self.failures, reason)?;
                Ok(pause > HORIZON)
            }
        }
    }

    fn round(&mut self) -> Result<Round, Error> {
        let env = longhaul_runtime::env();
        let (config, _) = longhaul_runtime::config(&env)?;
        let Some(summarizer) = config.memory.summarizer() else { return Ok(Round::Nothing) };
        let Some(store) = self.home.existing_store()? else { return Ok(Round::Nothing) };
        store.set_cache(CACHE)?;
        if !self.settled {
            store.settle_left_over(env.now, |attempts| after_a_kill(env.now, attempts))?;
            self.settled = true;
        }
        if store.model_spending(&today(env.now))?.total() >= model_budget(&config) {
            return Ok(Round::Spent);
        }
        let may_ask = |project: &str| !is_excluded(&config.memory, &env, Path::new(project));
        match store.next_model_job(rest(env.now), may_ask)? {
            Some(job) => self.work(store, &job, summarizer, &env, &config),
            // A worker that the user has started is stopped by the user, whatever there is to do later.
            None if !self.is_by_hook => Ok(Round::Nothing),
            None if is_due_soon(&store, &env, &config)? => Ok(Round::Waiting),
            None => Ok(Round::Nothing),
        }
    }

    fn work(
        &mut self,
        store: Store,
        job: &ModelJob,
        summarizer: &SummaryModel,
        env: &Env,
        config: &Config,
    ) -> Result<Round, Error> {
        let request = request_for(&store, job)?;
        let own = match summarizer.via {
            Via::Api => 0,
            Via::Claude => OWN_TOKENS,
        };
        let reserved =
            store.reserve_tokens(job.prompt, &today(env.now), request.estimate() + own, model_budget(config))?;
        let Some(reservation) = reserved else { return Ok(Round::Spent) };
        // The connection is not needed while the model works.
        drop(store);
        let answered = self.ask(&request, summarizer);
        let (at, store) = (longhaul_runtime::env().now, self.home.store(waiting_times::DATABASE)?);
        let (error, cost, blame) = match answered {
            Ok(reply) => match ask::read(&reply.answer, job, Sanitizer::new(config)) {
                Some(words) => {
                    store.finish_model_job(reservation, job, &words, reply.tokens, at)?;
                    return Ok(Round::Done);
                }
                None => {
                    ("the answer is not what was asked for".to_owned(), Cost::Reported(reply.tokens), Blame::Prompt)
                }
            },
            Err(Failure::Failed { error, cost, blame }) => (error, cost, blame),
            // The reservation stays: the next worker counts it as spent.
            Err(Failure::NotWanted) => return Ok(Round::Stopped),
        };
        let error = Sanitizer::new(&Config::default()).clean(&error);
        log(&format!("model: {error}"));
        store.fail_model_job(reservation, cost, retry(at, job.attempts, blame), &error, at)?;
        Ok(Round::Failed)
    }

    fn ask(&mut self, request: &Request, summarizer: &SummaryModel) -> Result<Reply, Failure> {
        let access = ModelAccess::read();
        let model = summarizer.model.get();
        let limit = unless_tested("LONGHAUL_ANSWER_MS", waiting_times::MODEL_ANSWER);
        let (dir, is_wanted) = (model_dir(self.home), || self.stop.is_wanted());
        let _asking = self.stop.asking(summarizer.via);
        match summarizer.via {
            Via::Api => call::ask(request, model, &access, limit),
            Via::Claude => {
                let client = match self.client.take() {
                    Some(client) => client,
                    None => Client::find(&access, &dir, is_wanted)?,
                };
                let reply = client.ask(request, model, &dir, limit, is_wanted)?;
                // After a failure, its options are read again: it may have been updated.
                self.client = Some(client);
                Ok(reply)
            }
        }
    }
}

fn request_for(store: &Store, job: &ModelJob) -> Result<Request, Error> {
    let (turns, _) = store.turns(&job.session, None, TURNS)?;
    let is_before = |at: Millis| job.until.is_none_or(|until| at < until);
    let is_of_job = |turn: &Turn| job.turns.iter().any(|of| (&of.origin, of.number) == (&turn.origin, turn.number));
    let turn_texts: Vec<TurnText<'_>> = turns
        .iter()
        .filter(|turn| turn.origin == job.session && is_before(turn.at) && !is_of_job(turn))
        .map(|turn| TurnText { asked: &turn.asked, replied: &turn.replied })
        .collect();
    Ok(request(job, &turn_texts))
}

/// How long a session must have been idle: until then, it may say more about what it has done.
const QUIET: Duration = Duration::from_secs(2 * 60);

fn quiet_ms() -> u64 {
    unless_tested("LONGHAUL_QUIET_MS", QUIET).as_millis() as u64
}

fn rest(now: Millis) -> Rest {
    let ago = |ms: u64| Millis(now.0.saturating_sub(ms));
    Rest { now, quiet_since: ago(quiet_ms()), silent_since: ago(SILENCE_MS) }
}

/// Returns how long a loop waits after this many failures in a row: twice as long after each further one.
pub(crate) fn pause(failures: u32) -> Duration {
    PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE)
}

/// Returns when a prompt that has failed this many times is sent again.
fn retry(now: Millis, attempts: u32, blame: Blame) -> Retry {
    let longest = match blame {
        Blame::Prompt if attempts + 1 >= ATTEMPTS => return Retry::Never,
        Blame::Prompt => LONGEST_PUT_OFF_MS,
        Blame::Way => LONGEST_PAUSE.as_millis() as u64,
    };
    let wait = PUT_OFF_MS.saturating_mul(4_u64.saturating_pow(attempts)).min(longest);
    Retry::At(Millis(now.0.saturating_add(wait)))
}

/// After a worker was killed once, the prompt is sent again at once; if that happens each time, it must not go on forever.
fn after_a_kill(now: Millis, attempts: u32) -> Retry {
    match attempts {
        0 => Retry::At(now),
        more => retry(now, more - 1, Blame::Prompt),
    }
}

/// How long the worker waits for work that is not due yet: longer than [`QUIET`], and a failed request that is repeated within
/// this time is waited for.
const HORIZON: Duration = Duration::from_secs(3 * 60);

/// Returns whether a prompt is due, or will be within the horizon.
fn is_due_soon(store: &Store, env: &Env, config: &Config) -> Result<bool, Error> {
    let may_ask = |project: &str| !is_excluded(&config.memory, env, Path::new(project));
    let latest = Millis(env.now.0.saturating_add(HORIZON.as_millis() as u64));
    Ok(store.next_model_time(quiet_ms(), may_ask)?.is_some_and(|due| due <= latest))
}

/// Returns whether a worker that has just released its lock should be started again.
///
/// A hook that ran before the release found the lock taken and relied on the worker.
pub(crate) fn is_work_waiting(home: &Home) -> Result<bool, Error> {
    let env = longhaul_runtime::env();
    let (config, _) = longhaul_runtime::config(&env)?;
    if config.memory.summarizer().is_none() || ModelPause::in_force(home, env.now).is_some() {
        return Ok(false);
    }
    let Some(store) = home.existing_store()? else { return Ok(false) };
    let has_budget = store.model_spending(&today(env.now))?.total() < model_budget(&config);
    Ok(has_budget && is_due_soon(&store, &env, &config)?)
}

/// Records that a worker that a hook has started could not run, so that hooks do not start it at every turn.
pub(crate) fn note_failed_start(env: &Env) -> Result<(), Error> {
    let home = Home::of(env)?;
    let failures = ModelPause::read(&home).map_or(0, |pause| pause.failures);
    let reason = "the worker could not run";
    ModelPause::write(&home, env.now, pause(failures), failures.saturating_add(1), reason)
}
