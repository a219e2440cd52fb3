//! The frame of every hook executable: reads the payload, runs the jobs in order, prints one JSON object (PreCompact
//! prints nothing) and exits 0, whatever happens.

mod failed_job;
mod translated;

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use longhaul_activity_log::{LogLine, Metrics};
use longhaul_core::catalog::{self, Job};
use longhaul_core::event::{self, EventName, HookEvent};
use longhaul_core::text::CONTEXT_CHARS;
use longhaul_core::{Config, Env, Reply, SessionId, reply};
use longhaul_store::{ChainId, Store};

use self::failed_job::Retry;
use crate::jobs::privacy;
use crate::jobs::prompt_recall::SearchedPrompt;
use crate::shared_store::SharedStore;
use crate::{
    ActivityLog, Deadline, Error, ErrorLog, Home, Sanitizer, clock_and_env, codex, home, stdin, waiting_times,
};

/// One call of a hook, as its jobs see it.
#[derive(Debug)]
pub struct Hook<E> {
    /// The event.
    pub event: E,
    /// Clock and environment.
    pub env: Env,
    /// The data folder.
    pub home: Home,
    /// The effective configuration.
    pub config: Config,
    /// Problems of the configuration file.
    pub config_warnings: Vec<String>,
    /// The metrics of the activity log before this event.
    pub before: Metrics,
    /// The metrics with this event.
    pub after: Metrics,
    /// The answer. Jobs add to it by [`Hook::answer`], [`Hook::show`] and [`Hook::notify`].
    reply: Reply,
    /// The lines that this call has appended to the activity log.
    appended: RefCell<Vec<LogLine>>,
    /// The continuation whose next step is to be typed.
    pub(crate) errand: Option<ChainId>,
    /// Whether the bridge is about to ask for a handoff by a prompt, which nothing else may precede.
    pub(crate) asks_by_bridge: bool,
    /// The session whose last messages the model was already shown.
    pub(crate) inherited: Option<String>,
    /// Whether the window of the session is not known yet, so that its predecessor is not, either.
    pub(crate) awaits_window: bool,
    /// Whether the session began with `/clear`, in a window that was not known then.
    pub(crate) was_cleared: bool,
    /// The handoff that the model was already shown.
    pub(crate) handed_over: Option<String>,
    /// The prompt for which passages of other sessions are searched.
    pub(crate) searched_prompt: Option<SearchedPrompt>,
    /// Whether this process has searched for the prompt, without the search process.
    pub(crate) has_searched: bool,
    /// Whether tmux does not show the end of the turn yet.
    pub(crate) has_turn_end_to_show: bool,
    /// Whether the user was already notified in this hook that nothing can be stored.
    pub(crate) has_reported_storage: bool,
    /// Whether a job has waited for the database without success. The other jobs then do not wait.
    is_locked_out: bool,
    /// The jobs of this bundle; empty if it contains all jobs.
    only: Vec<String>,
    /// The database, opened when a job first needs it.
    store: SharedStore,
    /// The time by which the hook must have answered.
    pub deadline: Deadline,
    /// The error log.
    pub log: ErrorLog,
}

/// Whether the following jobs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They run.
    Next,
    /// They do not run: this job has acted, and they would undo its effect.
    Done,
}

/// The part of a job in a hook.
pub type JobFn<E> = fn(&mut Hook<E>) -> Result<Flow, Error>;

/// The client that started the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Claude,
    Codex,
    /// An agent whose payload was translated.
    Agent,
}

/// Time reserved for updating tmux after the database.
const FOR_TMUX: Duration = Duration::from_millis(800);

/// Minimum time to wait for the database.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// Time between the end of a hook and the timeout of the client.
pub(crate) const MARGIN: Duration = Duration::from_millis(400);

/// Maximum number of characters between the texts of two jobs.
const GAP: usize = "\n\n".len();

/// Whether the answer was printed, or none is. A panic must not print a second one.
static REPLIED: AtomicBool = AtomicBool::new(false);

impl<E: HookEvent<'static>> Hook<E> {
    /// Runs `jobs` in order and prints the answer.
    ///
    /// A job runs even if an earlier one failed. Failures are written to the error log.
    pub fn run(jobs: &[JobFn<E>]) {
        Self::run_then(jobs, &[]);
    }

    /// Runs `jobs`, prints the answer, and then runs `afterwards`.
    pub fn run_then(jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        Self::run_for(Client::Claude, jobs, afterwards);
    }

    /// As [`Hook::run_then`], for an event of Codex, which sends the same payloads as Claude Code.
    pub fn run_codex(jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        Self::run_for(Client::Codex, jobs, afterwards);
    }

    fn run_for(client: Client, jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        let deadline = Deadline::after(catalog::time_allowed(E::NAME).saturating_sub(MARGIN));
        let env = match client {
            Client::Claude | Client::Agent => clock_and_env::env(),
            Client::Codex => codex::env(clock_and_env::env()),
        };
        let log = ErrorLog::new(&env, E::NAME.as_str());
        if client == Client::Claude && !catalog::answers(E::NAME) {
            REPLIED.store(true, Ordering::SeqCst);
        }
        answer_even_after_a_panic(log.clone());
        let Some(mut hook) = Self::receive(client, env, &log, deadline) else { return answer(reply::PLAIN) };
        hook.work(jobs);
        answer(&hook.reply.to_json());
        hook.work(afterwards);
        // The process ends here, and the system frees its memory and locks at once. Dropping the value would free the
        // database schema in about a thousand pieces.
        std::mem::forget(hook);
    }

    fn receive(client: Client, env: Env, log: &ErrorLog, deadline: Deadline) -> Option<Self> {
        let payload = stdin::read(catalog::stdin_deadline(E::NAME));
        if env.disabled {
            return None;
        }
        let text = payload.map(event::utf8).map_err(|error| error.to_string());
        let event = match text.and_then(|text| Self::event_of(text, client)) {
            Ok(None) => return None,
            Ok(Some(event)) => Ok(event),
            Err(problem) => Err(problem),
        };
        let only: Vec<String> = match client {
            Client::Claude => std::env::args().skip(1).collect(),
            // The arguments are the agent and the event.
            Client::Codex | Client::Agent => Vec::new(),
        };
        Self::assemble(event, env, log, deadline, only)
    }

    /// Reads the event from a payload; `None` for that of another agent, which runs the hooks of Claude Code as its own.
    fn event_of(text: String, client: Client) -> Result<Option<E>, String> {
        // The process handles one event, so the payload may be leaked.
        let text: &'static str = text.leak();
        let mut wire = event::parse(text).map_err(|error| error.to_string())?;
        if client == Client::Claude && wire.is_of_another_agent() {
            return Ok(None);
        }
        if client == Client::Codex {
            let own = wire.session_id.as_deref().and_then(SessionId::codex);
            wire.session_id = own.map(|session| session.to_string());
        }
        let name = wire.hook_event_name.as_deref().map(EventName::from_wire);
        if name.is_some_and(|name| name != E::NAME) {
            let name = wire.hook_event_name.unwrap_or_default();
            return Err(format!("payload is that of another event: {name}"));
        }
        E::from_wire(wire).map(Some).map_err(|error| error.to_string())
    }

    fn assemble(
        event: Result<E, String>,
        env: Env,
        log: &ErrorLog,
        deadline: Deadline,
        only: Vec<String>,
    ) -> Option<Self> {
        let result = event.and_then(|event| Ok((event, Home::of(&env).map_err(|error| error.to_string())?)));
        let (event, home) = result.map_err(|problem| log.write(&problem)).ok()?;
        let (config, warnings) = match home::config(&env) {
            Ok(read) => read,
            Err(error) => {
                // The transcript is read when the configuration can be.
                if let Err(error) = privacy::note(&home, &event) {
                    log.write(&error.chain());
                }
                refuse(E::NAME, &error, log);
                return None;
            }
        };
        let config_warnings = warnings.iter().map(ToString::to_string).collect();
        Some(Self {
            event,
            env,
            home,
            config: only_jobs(config, &only),
            config_warnings,
            before: Metrics::default(),
            after: Metrics::default(),
            reply: Reply::default(),
            appended: RefCell::default(),
            errand: None,
            asks_by_bridge: false,
            inherited: None,
            awaits_window: false,
            was_cleared: false,
            handed_over: None,
            searched_prompt: None,
            has_searched: false,
            has_turn_end_to_show: false,
            has_reported_storage: false,
            is_locked_out: false,
            only,
            store: SharedStore::default(),
            deadline,
            log: log.clone(),
        })
    }

    /// Returns the database. It waits for writes of other processes only as long as there is time.
    pub(crate) fn store(&self) -> Result<Rc<Store>, Error> {
        let left = self.deadline.left();
        if self.is_locked_out {
            return Err(Error::Busy);
        }
        let mut patience = left.saturating_sub(FOR_TMUX.min(left / 4)).max(SHORTEST_WAIT);
        // The user waits for these. What cannot be stored is in the spool, or is read from the transcript later.
        let most = match E::NAME {
            EventName::UserPromptSubmit => Some(waiting_times::DATABASE_FOR_PROMPT),
            EventName::Stop => Some(waiting_times::DATABASE_FOR_TURN_END),
            _ => None,
        };
        patience = most.map_or(patience, |most| patience.min(most));
        let store = self.store.get_or_open(|| self.home.store(patience))?;
        if let Some(most) = most {
            store.limit_all_waits(most);
        }
        // An earlier job may have used most of the time.
        store.set_patience(patience);
        Ok(store)
    }

    /// Returns whether this bundle contains the job.
    pub(crate) fn serves(&self, job: Job) -> bool {
        serves(&self.only, job)
    }

    /// Returns the sanitizer, which removes what must not be stored from a text.
    pub(crate) fn sanitizer(&self) -> Sanitizer {
        Sanitizer::new(&self.config)
    }

    /// Returns the folder of the project.
    pub(crate) fn project_dir(&self) -> Option<PathBuf> {
        self.env.project_dir.clone().or_else(|| self.event.common().cwd.clone())
    }

    /// Returns how many more characters the model can be shown.
    pub(crate) fn room(&self) -> usize {
        let shown = self.reply.context_text().map_or(0, |text| text.chars().count() + GAP);
        CONTEXT_CHARS.saturating_sub(shown)
    }

    /// Returns the text that the jobs so far show to the model.
    pub(crate) fn shown_so_far(&self) -> &str {
        self.reply.context_text().unwrap_or_default()
    }

    /// Shows a text to the model, below the texts of earlier jobs.
    pub(crate) fn show(&mut self, text: &str) {
        self.reply.add_context(E::NAME, text);
    }

    /// Adds to the answer; see [`Reply::merge`].
    pub(crate) fn answer(&mut self, reply: Reply) {
        self.reply.merge(reply);
    }

    /// Appends lines to the activity log, except those that this call has appended already, because a job may run
    /// twice.
    pub(crate) fn append_once(&self, log: &ActivityLog, lines: &[LogLine]) -> Result<(), Error> {
        let mut appended = self.appended.borrow_mut();
        let new: Vec<LogLine> = lines.iter().filter(|line| !appended.contains(line)).copied().collect();
        if !new.is_empty() {
            log.append(&new)?;
            appended.extend(new);
        }
        Ok(())
    }

    /// Shows a message to the user, below the messages of earlier jobs.
    pub(crate) fn notify(&mut self, message: &str) {
        self.reply.add_message(message);
    }

    fn work(&mut self, jobs: &[JobFn<E>]) {
        for job in jobs {
            let before = self.progress();
            let mut done = job(self);
            if let Err(error) = done {
                done = match self.judge(error) {
                    // What it has shown and planned came from the database that was replaced.
                    Retry::Yes(damage) => {
                        self.go_back_to(before);
                        if let Some(message) = damage {
                            self.notify(&message);
                        }
                        job(self)
                    }
                    Retry::No => Ok(Flow::Next),
                };
            }
            match done {
                Ok(Flow::Next) => {}
                Ok(Flow::Done) => return,
                Err(error) => self.write_error(&error),
            }
        }
    }

    fn write_error(&self, error: &Error) {
        self.log.write(&format!("session {}: {}", self.event.common().session, error.chain()));
    }
}

/// Answers in place of the jobs, none of which runs while the configuration cannot be read: it may forbid what they do.
fn refuse(event: EventName, error: &Error, log: &ErrorLog) {
    log.write(&error.chain());
    // At every prompt, because a file that breaks during a session is noticed nowhere else.
    if matches!(event, EventName::SessionStart | EventName::UserPromptSubmit) {
        let mut reply = Reply::default();
        let advice = "run `longhaul doctor`";
        reply.add_message(&format!("longhaul records nothing and types nothing: {}; {advice}", error.chain()));
        answer(&reply.to_json());
    }
}

/// Switches off the jobs that are not named. The bundle of a single job starts its executables with the name of that
/// job.
pub(crate) fn only_jobs(mut config: Config, names: &[String]) -> Config {
    let named = |job: Job| serves(names, job);
    config.bookmarks.enabled &= named(Job::Bookmarks);
    config.guard.enabled &= named(Job::Bookmarks);
    config.snapshots.enabled &= named(Job::Bookmarks);
    config.tracker.enabled &= named(Job::Tracker);
    config.handoff.enabled &= named(Job::Handoff);
    config.continuation.enabled &= named(Job::Continuation);
    config.memory.enabled &= named(Job::Memory);
    config
}

pub(crate) fn serves(names: &[String], job: Job) -> bool {
    names.is_empty() || names.iter().any(|name| name == job.name())
}

pub(crate) fn answer(json: &str) {
    if !REPLIED.swap(true, Ordering::SeqCst) {
        let mut stdout = std::io::stdout().lock();
        // If the client no longer reads, it needs no answer.
        let _ = writeln!(stdout, "{json}").and_then(|()| stdout.flush());
    }
}

/// Makes a panic answer and exit 0.
pub(crate) fn answer_even_after_a_panic(log: ErrorLog) {
    std::panic::set_hook(Box::new(move |panic| {
        // Only the place is logged: the message may quote private text.
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        log.write(&format!("panicked at {place}"));
        answer(reply::PLAIN);
        std::process::exit(0);
    }));
}
