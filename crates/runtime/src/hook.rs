//! The shell around a hook executable: payload in, jobs in their order, one JSON object out, exit 0 whatever happens.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use longhaul_activity_log::{LogLine, Metrics};
use longhaul_core::budget::CONTEXT_CHARS;
use longhaul_core::catalog::{self, Job};
use longhaul_core::config::WarningKind;
use longhaul_core::event::{self, EventName, HookEvent};
use longhaul_core::{Config, Env, Reply, SessionId, reply};
use longhaul_store::{ChainId, Store, StoreError};

use crate::memory::upkeep;
use crate::shared_store::SharedStore;
use crate::{ActivityLog, Deadline, Error, ErrorLog, Home, Sanitizer, clock_and_env, codex, home, stdin};

/// One call of one hook, as its jobs see it.
#[derive(Debug)]
pub struct Hook<E> {
    /// What happened.
    pub event: E,
    /// Clock and environment.
    pub env: Env,
    /// Where things are stored.
    pub home: Home,
    /// The configuration in force.
    pub config: Config,
    /// What in the config file could not be used.
    pub config_warnings: Vec<String>,
    /// What the activity log amounted to before this event.
    pub before: Metrics,
    /// What it amounts to with this event.
    pub after: Metrics,
    /// What will be answered. Jobs only add to it, by [`Hook::answer`], [`Hook::show`] and [`Hook::tell`].
    reply: Reply,
    /// The lines that this call has appended to the activity log.
    appended: RefCell<Vec<LogLine>>,
    /// The continuation that is to be carried on by typing.
    pub(crate) errand: Option<ChainId>,
    /// The session whose last words the model has been shown already.
    pub(crate) inherited: Option<String>,
    /// The handoff that the model has been shown already.
    pub(crate) handed_over: Option<String>,
    /// Whether the user has been told in this hook that nothing can be stored.
    pub(crate) has_told_of_storage: bool,
    /// Whether a job has waited for the database in vain: the others do not wait again.
    is_locked_out: bool,
    /// The jobs that this bundle serves, where it is not the whole.
    only: Vec<String>,
    /// The database. No job that does without it opens it.
    store: SharedStore,
    /// When it must have answered.
    pub deadline: Deadline,
    /// Where failures go.
    pub log: ErrorLog,
}

/// Whether the jobs after this one run too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They do.
    Next,
    /// They do not: this job has acted, and theirs would undo it.
    Done,
}

/// What is put back before a job is run again: reply, errand, who was inherited, what was handed over.
type Progress = (Reply, Option<ChainId>, Option<String>, Option<String>);

/// Whether a job that has failed is run again.
enum Retry {
    /// It is, after the user is told this.
    Yes(Option<String>),
    /// It would fail again.
    No,
}

/// A job's part in a hook.
pub type JobFn<E> = fn(&mut Hook<E>) -> Result<Flow, Error>;

/// Whose hook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Claude,
    Codex,
}

/// What is kept for telling tmux, after the database.
const FOR_TMUX: Duration = Duration::from_millis(800);

/// How long the database is waited for at least.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// How long before the client's own limit a hook must be done.
const MARGIN: Duration = Duration::from_millis(400);

/// What at most stands between the texts of two jobs.
const GAP: usize = "\n\n".len();

/// Whether the answer has been printed; a panic must not print a second one.
static REPLIED: AtomicBool = AtomicBool::new(false);

impl<E: HookEvent<'static>> Hook<E> {
    /// Runs `jobs` in order and answers.
    ///
    /// Every job is tried even when one before it failed; failures go to the error log.
    pub fn run(jobs: &[JobFn<E>]) {
        Self::run_then(jobs, &[]);
    }

    /// Runs `jobs`, answers, and then does what can wait until the answer is out.
    pub fn run_then(jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        Self::run_for(Client::Claude, jobs, afterwards);
    }

    /// Does the same for an event of Codex, which sends what the first client sends, of sessions of its own.
    pub fn run_codex(jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        Self::run_for(Client::Codex, jobs, afterwards);
    }

    fn run_for(client: Client, jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        let deadline = Deadline::after(catalog::time_allowed(E::NAME).saturating_sub(MARGIN));
        let env = match client {
            Client::Claude => clock_and_env::env(),
            Client::Codex => codex::env(clock_and_env::env()),
        };
        let log = ErrorLog::new(&env, E::NAME.as_str());
        answer_even_after_a_panic(log.clone());
        let Some(mut hook) = Self::receive(client, env, &log, deadline) else { return answer(reply::PLAIN) };
        hook.work(jobs);
        answer(&hook.reply.to_json());
        hook.work(afterwards);
        // The process ends here, and the system frees and unlocks at once what taking everything apart would free piece by
        // piece: the database's schema alone is a thousand pieces.
        std::mem::forget(hook);
    }

    fn receive(client: Client, env: Env, log: &ErrorLog, deadline: Deadline) -> Option<Self> {
        let payload = stdin::read(catalog::stdin_deadline(E::NAME));
        if env.disabled {
            return None;
        }
        let result = payload.map_err(|error| error.to_string()).and_then(|bytes| {
            // The process lives for one event: the payload may live as long.
            let text: &'static str = event::utf8(bytes).leak();
            let mut wire = event::parse(text).map_err(|error| error.to_string())?;
            if client == Client::Codex {
                let own = wire.session_id.as_deref().and_then(SessionId::codex);
                wire.session_id = own.map(|session| session.to_string());
            }
            let name = wire.hook_event_name.as_deref().map(EventName::from_wire);
            if name.is_some_and(|name| name != E::NAME) {
                let name = wire.hook_event_name.unwrap_or_default();
                return Err(format!("payload is that of another event: {name}"));
            }
            let event = E::from_wire(wire).map_err(|error| error.to_string())?;
            let home = Home::of(&env).map_err(|error| error.to_string())?;
            Ok((event, home))
        });
        let (event, home) = result.map_err(|problem| log.write(&problem)).ok()?;
        let (config, warnings) = home::config(&env).unwrap_or_else(|error| {
            log.write(&error.chain());
            (Config::default(), Vec::new())
        });
        // An old spelling works: `config check` and the doctor name it, not every session.
        let unusable = warnings.iter().filter(|warning| warning.kind == WarningKind::Unusable);
        let config_warnings = unusable.map(ToString::to_string).collect();
        let only: Vec<String> = match client {
            Client::Claude => std::env::args().skip(1).collect(),
            // Its argument is the event.
            Client::Codex => Vec::new(),
        };
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
            inherited: None,
            handed_over: None,
            has_told_of_storage: false,
            is_locked_out: false,
            only,
            store: SharedStore::default(),
            deadline,
            log: log.clone(),
        })
    }

    /// Returns the database; it waits for another process's write no longer than there is time.
    pub(crate) fn store(&self) -> Result<Rc<Store>, Error> {
        let left = self.deadline.left();
        if self.is_locked_out {
            return Err(Error::Busy);
        }
        let patience = left.saturating_sub(FOR_TMUX.min(left / 4)).max(SHORTEST_WAIT);
        let store = self.store.get_or_open(|| self.home.store(patience))?;
        // An earlier job may have spent most of the time.
        store.set_patience(patience);
        Ok(store)
    }

    /// Returns whether this bundle does the job at all.
    pub(crate) fn serves(&self, job: Job) -> bool {
        serves(&self.only, job)
    }

    /// Returns what decides what of a text may be kept.
    pub(crate) fn sanitizer(&self) -> Sanitizer {
        Sanitizer::new(&self.config)
    }

    /// Returns the folder of the project.
    pub(crate) fn project_dir(&self) -> Option<PathBuf> {
        self.env.project_dir.clone().or_else(|| self.event.common().cwd.clone())
    }

    /// Returns how many characters the model can still be shown.
    pub(crate) fn room(&self) -> usize {
        let shown = self.reply.context_text().map_or(0, |text| text.chars().count() + GAP);
        CONTEXT_CHARS.saturating_sub(shown)
    }

    /// Returns what the model is shown by the jobs so far.
    pub(crate) fn shown_so_far(&self) -> &str {
        self.reply.context_text().unwrap_or_default()
    }

    /// Shows the model a text, below what earlier jobs show it.
    pub(crate) fn show(&mut self, text: &str) {
        self.reply.add_context(E::NAME, text);
    }

    /// Answers something, beside what earlier jobs answer; see [`Reply::merge`].
    pub(crate) fn answer(&mut self, reply: Reply) {
        self.reply.merge(reply);
    }

    /// Appends lines to the activity log, unless this call has done so: a job that is run again tells nothing twice.
    pub(crate) fn append_once(&self, log: &ActivityLog, lines: &[LogLine]) -> Result<(), Error> {
        let mut appended = self.appended.borrow_mut();
        let new: Vec<LogLine> = lines.iter().filter(|line| !appended.contains(line)).copied().collect();
        if !new.is_empty() {
            log.append(&new)?;
            appended.extend(new);
        }
        Ok(())
    }

    /// Tells the user something, beside what earlier jobs tell.
    pub(crate) fn tell(&mut self, message: &str) {
        self.reply.add_message(message);
    }

    fn work(&mut self, jobs: &[JobFn<E>]) {
        for job in jobs {
            let before = self.progress();
            let mut done = job(self);
            if let Err(error) = done {
                done = match self.judge(error) {
                    // What it has shown and planned comes from the database that is gone.
                    Retry::Yes(damage) => {
                        self.go_back_to(before);
                        if let Some(message) = damage {
                            self.tell(&message);
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

    /// Returns what a job changes in this value and a second run of it would change again.
    fn progress(&self) -> Progress {
        let Self { reply, errand, inherited, handed_over, .. } = self;
        (reply.clone(), *errand, inherited.clone(), handed_over.clone())
    }

    fn go_back_to(&mut self, before: Progress) {
        (self.reply, self.errand, self.inherited, self.handed_over) = before;
    }

    /// Writes an error down; returns whether the job is worth running again, with a database in place of a damaged one.
    fn judge(&mut self, error: Error) -> Retry {
        let error = match error {
            Error::Store(error) if error.is_index_damage() => return self.leave_index_to_upkeep(error),
            Error::Store(error) => {
                // The file may be damaged, and is then renamed: no connection to it may stay open.
                self.store.close();
                self.home.judge(error)
            }
            error => error,
        };
        if !matches!(error, Error::Busy) {
            self.write_error(&error);
        }
        self.is_locked_out |= error.is_busy();
        self.tell_of_storage(&error);
        if let Error::Store(StoreError::TooNew { .. }) = error
            && E::NAME == EventName::SessionStart
            && self.reply.system_message.as_ref().is_none_or(|told| !told.contains("newer version"))
        {
            self.tell(&format!("longhaul: {error}"));
        }
        match error {
            Error::Damaged { .. } => Retry::Yes(Some(format!("longhaul: {error}"))),
            // It was repaired where it is, or another process has just replaced it.
            error if error.is_damage() => Retry::Yes(None),
            _ => Retry::No,
        }
    }

    /// Marks a damaged search index, so that the job can be run again without it. Building it again may take minutes, and is
    /// left to upkeep.
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

    fn write_error(&self, error: &Error) {
        self.log.write(&format!("session {}: {}", self.event.common().session, error.chain()));
    }
}

/// Switches off what is not named: the bundle of a single job starts its executables with that job's name.
pub(crate) fn only_jobs(mut config: Config, names: &[String]) -> Config {
    let named = |job: Job| serves(names, job);
    config.bookmarks.enabled &= named(Job::Bookmarks);
    config.guard.enabled &= named(Job::Bookmarks);
    config.tracker.enabled &= named(Job::Tracker);
    config.handoff.enabled &= named(Job::Handoff);
    config.continuation.enabled &= named(Job::Continuation);
    config.memory.enabled &= named(Job::Memory);
    config
}

pub(crate) fn serves(names: &[String], job: Job) -> bool {
    names.is_empty() || names.iter().any(|name| name == job.name())
}

fn answer(json: &str) {
    if !REPLIED.swap(true, Ordering::SeqCst) {
        let mut stdout = std::io::stdout().lock();
        // A client that no longer listens needs no answer.
        let _ = writeln!(stdout, "{json}").and_then(|()| stdout.flush());
    }
}

/// Answers and exits with 0 where the program would otherwise abort.
fn answer_even_after_a_panic(log: ErrorLog) {
    std::panic::set_hook(Box::new(move |panic| {
        // Where, and not what: the message may quote what may not be kept.
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        log.write(&format!("panicked at {place}"));
        answer(reply::PLAIN);
        std::process::exit(0);
    }));
}
