//! The frame of every hook executable: reads the payload, runs the jobs in order, prints one JSON object (PreCompact
//! prints nothing) and exits 0, whatever happens.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, Metrics};
use longhaul_core::catalog::{self, Job};
use longhaul_core::config::{BookmarksOn, Guard, Limits, Loops};
use longhaul_core::event::{self, EventName, HookEvent};
use longhaul_core::text::CONTEXT_CHARS;
use longhaul_core::{Config, Env, Reply, SessionId, reply};
use longhaul_store::{ChainId, Store, StoreError};

use crate::agents::AgentCall;
use crate::clock_and_env::{self, patient};
use crate::memory::prompt_recall::SearchedPrompt;
use crate::memory::upkeep;
use crate::storage::SharedStore;
use crate::{ActivityLog, Error, ErrorLog, Home, Sanitizer, codex, files, home, private_turns, stdin};

/// What `/longhaul:restore` and `/longhaul:bookmarks` leave for the answer, after the command line has done its work.
pub(crate) const ANSWER_AFTER_COMMAND: Duration = Duration::from_millis(300);

/// All waits of the end of a turn for the database together: nobody types yet, and the state of the session depends on
/// it.
const DATABASE_FOR_TURN_END: Duration = Duration::from_millis(1_500);

/// How long to wait for the database, all waits of a hook together, while the user waits for a prompt to be sent or for
/// a turn to end.
const DATABASE_FOR_PROMPT: Duration = Duration::from_millis(600);

/// One call of a hook, as its jobs see it.
#[derive(Debug)]
pub struct Hook<E> {
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
    pub after: Metrics,
    /// What the jobs so far have answered and found out.
    pub(crate) done: Done,
    /// The lines that this call has appended to the activity log.
    appended: RefCell<Vec<LogLine>>,
    /// The prompt for which passages of other sessions are searched. That cannot be begun twice.
    pub(crate) searched_prompt: Option<SearchedPrompt>,
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
    pub log: ErrorLog,
}

/// What the jobs of a hook have answered, and what they have found out for the jobs after them. If a job has to run again, all of it is
/// as it was before that job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done {
    /// The answer. Jobs add to it by [`Hook::answer`], [`Hook::show`] and [`Hook::notify`].
    reply: Reply,
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
    /// Whether this process has searched for the prompt, without the search process.
    pub(crate) has_searched: bool,
    /// What the turn repeats, if it is to be stopped for that.
    pub(crate) circle: Option<String>,
    /// Whether tmux does not show the end of the turn yet.
    pub(crate) has_turn_end_to_show: bool,
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
const MARGIN: Duration = Duration::from_millis(400);

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
        let deadline = Deadline::of_hook(E::NAME, Instant::now());
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
        answer(&hook.done.reply.to_json());
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
            Client::Claude => std::env::args().skip(1 + catalog::arguments(E::NAME).len()).collect(),
            // The arguments are the agent and the event.
            Client::Codex | Client::Agent => Vec::new(),
        };
        Self::assemble(event, env, log, deadline, only)
    }

    /// Reads the event from a payload; `None` for that of another agent, which runs the hooks of Claude Code as its own.
    fn event_of(text: String, client: Client) -> Result<Option<E>, String> {
        // The process handles one event, so the payload may be leaked.
        let text: &'static str = text.leak();
        let has_response = E::NAME == EventName::PostToolUse;
        let wire = match has_response.then(|| event::split_response(text)).flatten() {
            Some((rest, response)) => event::parse_with_response(rest.leak(), response),
            None => event::parse(text),
        };
        let mut wire = wire.map_err(|error| error.to_string())?;
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
                if let Err(error) = private_turns::note(&home, &event) {
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
            done: Done::default(),
            appended: RefCell::default(),
            searched_prompt: None,
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
            EventName::UserPromptSubmit => Some(patient(DATABASE_FOR_PROMPT)),
            EventName::Stop => Some(patient(DATABASE_FOR_TURN_END)),
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

    pub(crate) fn serves(&self, job: Job) -> bool {
        serves(&self.only, job)
    }

    /// Returns the sanitizer, which removes what must not be stored from a text.
    pub(crate) fn sanitizer(&self) -> Sanitizer {
        Sanitizer::new(&self.config)
    }

    pub(crate) fn project_dir(&self) -> Option<PathBuf> {
        self.env.project_dir.clone().or_else(|| self.event.common().cwd.clone())
    }

    /// Returns how many more characters the model can be shown.
    pub(crate) fn room(&self) -> usize {
        let shown = self.done.reply.context_text().map_or(0, |text| text.chars().count() + GAP);
        CONTEXT_CHARS.saturating_sub(shown)
    }

    /// Returns the text that the jobs so far show to the model.
    pub(crate) fn shown_so_far(&self) -> &str {
        self.done.reply.context_text().unwrap_or_default()
    }

    /// Shows a text to the model, below the texts of earlier jobs.
    pub(crate) fn show(&mut self, text: &str) {
        self.done.reply.add_context(E::NAME, text);
    }

    /// Adds to the answer; see [`Reply::merge`].
    pub(crate) fn answer(&mut self, reply: Reply) {
        self.done.reply.merge(reply);
    }

    pub(crate) fn ends_turn(&self) -> bool {
        !self.done.reply.goes_on
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
        self.done.reply.add_message(message);
    }

    fn work(&mut self, jobs: &[JobFn<E>]) {
        for job in jobs {
            let before = self.done.clone();
            let mut flow = job(self);
            if let Err(error) = flow {
                flow = match self.judge(error) {
                    // What it has shown and planned came from the database that was replaced.
                    Retry::Yes(damage) => {
                        self.done = before;
                        if let Some(message) = damage {
                            self.notify(&message);
                        }
                        job(self)
                    }
                    Retry::No => Ok(Flow::Next),
                };
            }
            match flow {
                Ok(Flow::Next) => {}
                Ok(Flow::Done) => return,
                Err(error) => self.write_error(&error),
            }
        }
    }

    pub(crate) fn write_error(&self, error: &Error) {
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
    if !named(Job::Bookmarks) {
        config.bookmarks.enabled = BookmarksOn::Never;
        config.guard = Guard::default();
    }
    config.snapshots.enabled &= named(Job::Bookmarks);
    config.tracker.enabled &= named(Job::Tracker);
    config.handoff.enabled &= named(Job::Handoff);
    config.continuation.at.is_on &= named(Job::Continuation);
    config.memory.enabled &= named(Job::Memory);
    if !named(Job::Tracker) {
        config.limits = Limits::default();
        config.limits.loops = Loops::Off;
    }
    config
}

pub(crate) fn serves(names: &[String], job: Job) -> bool {
    names.is_empty() || names.iter().any(|name| name == job.as_str())
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

// What happens after a job has failed: whether it runs again, and from where.

/// Whether a failed job runs again.
enum Retry {
    /// It runs again, after this message to the user.
    Yes(Option<String>),
    /// It would fail again.
    No,
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Logs an error. Returns whether the job should run again because a damaged database was repaired or replaced.
    fn judge(&mut self, error: Error) -> Retry {
        let error = match error {
            Error::Store(error) if error.is_index_damage() => return self.leave_index_to_upkeep(error),
            Error::Store(error) => {
                // A damaged file is renamed, and then no connection to it may be open.
                self.store.close();
                self.home.judge(error)
            }
            error => error,
        };
        if !matches!(error, Error::Busy) {
            self.write_error(&error);
        }
        self.is_locked_out |= error.is_busy();
        self.report_storage(&error);
        if let Error::Store(StoreError::TooNew { .. }) = error
            && E::NAME == EventName::SessionStart
            && self.done.reply.system_message.as_ref().is_none_or(|message| !message.contains("newer version"))
        {
            self.notify(&format!("longhaul: {error}"));
        }
        match error {
            Error::Damaged { .. } => Retry::Yes(Some(format!("longhaul: {error}"))),
            // It was repaired in place, or another process has just replaced it.
            error if error.is_damage() => Retry::Yes(None),
            _ => Retry::No,
        }
    }

    /// Marks a damaged search index, so that the job can run again without it. Upkeep builds it again, because that may
    /// take minutes.
    fn leave_index_to_upkeep(&self, error: StoreError) -> Retry {
        let (session, error) = (&self.event.common().session, Error::from(error).chain());
        self.log.write(&format!("session {session}: the search index is damaged, upkeep builds it again: {error}"));
        let marked = self.store().and_then(|store| Ok(store.mark_index_damaged()?));
        match marked.and_then(|is_new| if is_new { upkeep::start() } else { Ok(()) }) {
            Ok(()) => Retry::Yes(None),
            Err(error) => {
                self.write_error(&error);
                Retry::No
            }
        }
    }
}

// A hook for an agent whose payload was translated to Claude Code's.

impl<E: HookEvent<'static>> Hook<E> {
    /// Runs `jobs` for a payload that was read and translated already, prints the answer, and then runs `afterwards`.
    pub(crate) fn run_translated(call: AgentCall, jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        let held_back = call.take_held_back();
        let event = Self::event_of(call.payload.to_claude(), Client::Agent).transpose();
        let hook = event.and_then(|event| Self::assemble(event, call.env, &call.log, call.deadline, Vec::new()));
        let Some(mut hook) = hook else { return answer(reply::PLAIN) };
        if let Some(text) = held_back {
            hook.show(&text);
        }
        hook.work(jobs);
        let output = hook.done.reply.hook_specific_output.take();
        if let Some(mut output) = output {
            if call.payload.is_not_shown() {
                let text = output.additional_context.unwrap_or_default();
                if let Err(error) = files::replace(&call.held_back, text.as_bytes()) {
                    hook.write_error(&error);
                }
            } else {
                // The agent expects its own name of the event.
                output.hook_event_name = call.payload.theirs;
                hook.done.reply.hook_specific_output = Some(output);
            }
        }
        answer(&hook.done.reply.to_json());
        hook.work(afterwards);
        // As for Claude Code: the process ends here.
        std::mem::forget(hook);
    }
}

/// The time by which a process must have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline that is `after` from now.
    pub fn after(after: Duration) -> Self {
        Self(Instant::now() + after)
    }

    /// Returns when a hook of `event` must have answered.
    pub(crate) fn of_hook(event: EventName, started: Instant) -> Self {
        Self(started + patient(catalog::time_allowed(event).saturating_sub(MARGIN)))
    }

    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
