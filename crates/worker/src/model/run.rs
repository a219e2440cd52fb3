//! The loop that sends one prompt after the other to the model, and how long it waits after a failure.

use std::path::Path;
use std::time::Duration;

use longhaul_core::config::Via;
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::TurnText;
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{Error, ErrorLog, Home, ModelAccess, Sanitizer, model_budget, model_dir, today, waiting_times};
use longhaul_store::{Cost, ModelJob, Rest, Retry, Store, Turn};

use super::ask::{Request, request};
use super::claude::{Client, OWN_TOKENS};
use super::outlook::{horizon, is_due_soon};
use super::provider_reply::{Blame, Failure, Reply};
use super::{For, Stop, answer, api};

/// The cache of its connection, in kibibytes: it reads little.
const CACHE: u32 = 512;

/// How long the loop waits after a failure; the time doubles with each failure, up to the maximum.
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

/// The result of one round.
enum Look {
    /// A prompt was processed: there may be more.
    Done,
    /// There is nothing to do.
    Nothing,
    /// There is nothing to do yet, but there will be soon.
    Waiting,
    /// The budget is spent.
    Spent,
    /// The request failed.
    Failed,
    /// The worker exits.
    Stopped,
}

/// The state of the loop. Only the number of failures outlives the process.
pub(super) struct Runner<'a> {
    home: &'a Home,
    stop: &'a Stop,
    started: For,
    settled: bool,
    client: Option<Client>,
    failures: u32,
}

impl<'a> Runner<'a> {
    pub(super) fn new(home: &'a Home, stop: &'a Stop, started: For) -> Self {
        // A user who starts the worker wants a new attempt now.
        let failures = match started {
            For::User => 0,
            For::Hook => ModelPause::read(home).map_or(0, |pause| pause.failures),
        };
        Self { home, stop, started, settled: false, client: None, failures }
    }

    /// Runs until it is stopped.
    pub(super) fn run(&mut self) {
        while self.stop.is_wanted() {
            let look = self.look().unwrap_or_else(|error| {
                ErrorLog::new(&longhaul_runtime::env(), "worker").write(&format!("model: {}", error.chain()));
                // The reservation of a request whose answer could not be stored counts as spent.
                self.settled = false;
                Look::Failed
            });
            let pause = match look {
                Look::Done => Duration::ZERO,
                Look::Nothing | Look::Waiting | Look::Spent => waiting_times::WORKER_LOOKS_FOR_WORK,
                Look::Failed => pause(self.failures),
                Look::Stopped => return,
            };
            match look {
                Look::Failed => self.failures = self.failures.saturating_add(1),
                Look::Done => self.failures = 0,
                Look::Nothing | Look::Waiting | Look::Spent | Look::Stopped => {}
            }
            let is_idle = self.note_pause(&look, pause).unwrap_or_else(|error| {
                ErrorLog::new(&longhaul_runtime::env(), "worker").write(&format!("model: {}", error.chain()));
                true
            });
            self.stop.set_idle(is_idle);
            self.stop.wait(pause);
        }
    }

    /// Records until when hooks should not start the worker; returns whether the worker can exit.
    fn note_pause(&self, look: &Look, pause: Duration) -> Result<bool, Error> {
        let env = longhaul_runtime::env();
        match look {
            Look::Done => {
                ModelPause::clear(self.home);
                Ok(false)
            }
            Look::Waiting | Look::Stopped => Ok(false),
            Look::Nothing => Ok(true),
            // A worker that the user has started stays and tries again.
            Look::Spent if self.started == For::User => Ok(true),
            Look::Spent => {
                let reason = "the day's token budget is spent";
                ModelPause::write(self.home, env.now, SPENT_PAUSE, self.failures, reason)?;
                Ok(true)
            }
            Look::Failed => {
                let (config, _) = longhaul_runtime::config(&env)?;
                let reason = "the model could not be called, or its answer could not be used";
                ModelPause::write(self.home, env.now, pause, self.failures, reason)?;
                Ok(pause > horizon(&config))
            }
        }
    }

    fn look(&mut self) -> Result<Look, Error> {
        let env = longhaul_runtime::env();
        let (config, _) = longhaul_runtime::config(&env)?;
        if !config.memory.enabled || !config.memory.model.enabled {
            return Ok(Look::Nothing);
        }
        let Some(store) = self.home.existing_store()? else { return Ok(Look::Nothing) };
        store.set_cache(CACHE)?;
        if !self.settled {
            store.settle_left_over(env.now, |attempts| after_a_kill(env.now, attempts))?;
            self.settled = true;
        }
        if store.model_spending(&today(env.now))?.total() >= model_budget(&config) {
            return Ok(Look::Spent);
        }
        let may_ask = |project: &str| !is_excluded(&config.memory, &env, Path::new(project));
        match store.next_model_job(rest(&config, env.now), may_ask)? {
            Some(job) => self.work(store, &job, &env, &config),
            // A worker that the user has started is stopped by the user, whatever there is to do later.
            None if self.started == For::User => Ok(Look::Nothing),
            None if is_due_soon(&store, &env, &config)? => Ok(Look::Waiting),
            None => Ok(Look::Nothing),
        }
    }

    fn work(&mut self, store: Store, job: &ModelJob, env: &Env, config: &Config) -> Result<Look, Error> {
        let request = request_for(&store, job)?;
        let own = match config.memory.model.via {
            Via::Api => 0,
            Via::Claude => OWN_TOKENS,
        };
        let reserved =
            store.reserve_tokens(job.prompt, &today(env.now), request.estimate() + own, model_budget(config))?;
        let Some(reservation) = reserved else { return Ok(Look::Spent) };
        // The connection is not needed while the model works.
        drop(store);
        let asked = self.ask(&request, config);
        let (at, store) = (longhaul_runtime::env().now, self.home.store(waiting_times::DATABASE)?);
        let (error, cost, blame) = match asked {
            Ok(reply) => match answer::read(&reply.answer, job, Sanitizer::new(config)) {
                Some(words) => {
                    store.finish_model_job(reservation, job, &words, reply.tokens, at)?;
                    return Ok(Look::Done);
                }
                None => {
                    ("the answer is not what was asked for".to_owned(), Cost::Reported(reply.tokens), Blame::Prompt)
                }
            },
            Err(Failure::Failed { error, cost, blame }) => (error, cost, blame),
            // The reservation stays: the next worker counts it as spent.
            Err(Failure::NotWanted) => return Ok(Look::Stopped),
        };
        let error = Sanitizer::new(&Config::default()).clean(&error);
        ErrorLog::new(env, "worker").write(&format!("model: {error}"));
        store.fail_model_job(reservation, cost, retry(at, job.attempts, blame), &error, at)?;
        Ok(Look::Failed)
    }

    fn ask(&mut self, request: &Request, config: &Config) -> Result<Reply, Failure> {
        let access = ModelAccess::read();
        let model = &config.memory.model;
        let limit = Duration::from_millis(model.timeout_seconds.as_millis().clamp(1_000, 3_600_000));
        let (dir, is_wanted) = (model_dir(self.home), || self.stop.is_wanted());
        let _asking = self.stop.asking(model.via);
        match model.via {
            Via::Api => api::ask(request, model.model.get(), &access, limit),
            Via::Claude => {
                let client = match self.client.take() {
                    Some(client) => client,
                    None => Client::find(&access, &dir, is_wanted)?,
                };
                let reply = client.ask(request, model.model.get(), &dir, limit, is_wanted)?;
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

/// Returns how long a session must have been idle, in milliseconds.
pub(super) fn quiet_ms(config: &Config) -> u64 {
    config.memory.model.quiet_minutes.as_millis()
}

fn rest(config: &Config, now: Millis) -> Rest {
    let quiet = quiet_ms(config);
    let ago = |ms: u64| Millis(now.0.saturating_sub(ms));
    Rest { now, quiet_since: ago(quiet), silent_since: ago(quiet.max(SILENCE_MS)) }
}

/// Returns how long the loop waits after this many failures in a row.
pub(super) fn pause(failures: u32) -> Duration {
    PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE)
}

/// Returns when a prompt that has failed this many times is sent again.
pub(super) fn retry(now: Millis, attempts: u32, blame: Blame) -> Retry {
    let longest = match blame {
        Blame::Prompt if attempts + 1 >= ATTEMPTS => return Retry::Never,
        Blame::Prompt => LONGEST_PUT_OFF_MS,
        Blame::Way => LONGEST_PAUSE.as_millis() as u64,
    };
    let wait = PUT_OFF_MS.saturating_mul(4_u64.saturating_pow(attempts)).min(longest);
    Retry::At(Millis(now.0.saturating_add(wait)))
}

/// After a worker was killed once, the prompt is sent again at once; if that happens each time, it must not go on forever.
pub(super) fn after_a_kill(now: Millis, attempts: u32) -> Retry {
    match attempts {
        0 => Retry::At(now),
        more => retry(now, more - 1, Blame::Prompt),
    }
}
