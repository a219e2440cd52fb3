//! The reports of the bridge, and the actions that it gets as the answer.
//!
//! The bridge is the module of the plugin inside Claude Code. It makes no decisions: it reports events and performs the
//! actions of the answer. Its parent process is Claude Code; hooks recognise the bridge by that process id.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use longhaul_core::catalog::Job;
use longhaul_core::{Config, Env, SessionId};
use longhaul_handoff::BatonTrigger;
use longhaul_handoff::bridge::{BridgeAction, StatusFacts, answer, step, step_name};
use longhaul_handoff::continuation::{Occasion, Plan, PlanAction, State, texts};
use longhaul_inject::Terminal;
use longhaul_store::{Chain, ChainUpdate, ContextUse, NewChain, StepTaker, Store};
use longhaul_tracker::turn_ended;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::continuation::{Course, nonce, settings, start_injector};
use crate::handoff::Project;
use crate::tracker::Logged;
use crate::{
    Error, ErrorLog, Home, SessionRecord, Tracker, client_records, context, home, hook, process, statusline, typing,
};

/// How long to wait for the SessionStart hook of a new session, for the bridge. The bridge itself waits a little
/// longer.
const SESSION_START_FOR_BRIDGE: Duration = Duration::from_secs(4);

/// How long to wait for the database, while the module inside Claude Code waits for an answer. The module gives up
/// after five seconds.
const DATABASE_FOR_BRIDGE: Duration = Duration::from_secs(2);

/// The errand for a compaction.
pub(crate) const COMPACT: &str = "compact";

/// Interval at which the database is checked for it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Maximum length of an error message of the bridge that is stored.
const TROUBLE_CHARS: usize = 300;

/// A report of the bridge. Every field is optional, because the interface of Claude Code changes between versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Report {
    plugin: Option<String>,
    session: Option<String>,
    interactive: Option<bool>,
    reason: Option<String>,
    draft_empty: Option<bool>,
    usage: Value,
    #[serde(rename = "do")]
    action: Option<String>,
    error: Option<String>,
}

/// Handles a report of the bridge. Returns the answer with the actions for it.
///
/// Never fails: an error is written to the log, and the answer then contains no action.
pub fn handle(env: &Env, event: BridgeEvent, input: &[u8]) -> Value {
    let log = ErrorLog::new(env, "bridge");
    let report: Report = match serde_json::from_slice(input) {
        Ok(report) => report,
        Err(error) => {
            log.write(&format!("{}: cannot parse the report of the bridge: {error}", event.as_str()));
            return answer(&[]);
        }
    };
    let client_pid = env.client_pid.unwrap_or_else(std::os::unix::process::parent_id);
    let mut env = env.clone();
    env.client_pid = Some(client_pid);
    let env = &env;
    let actions = Desk::open(env, &log, report, client_pid).and_then(|mut desk| desk.hear(event));
    answer(&actions.unwrap_or_else(|error| {
        log.write(&format!("{}: {}", event.as_str(), error.chain()));
        Vec::new()
    }))
}

/// Returns whether a client runs the bridge, so that it can be asked instead of typing into its terminal.
pub(crate) fn is_there(store: &Store, client_pid: Option<u32>) -> Result<bool, Error> {
    match client_pid {
        Some(pid) => Ok(store.bridge(pid)?.is_some()),
        None => Ok(false),
    }
}

/// Removes the rows of clients that were killed and therefore did not report their end.
fn drop_dead(store: &Store) -> Result<(), Error> {
    let mut dead = store.bridges()?.into_iter().filter(|bridge| !process::is_alive(bridge.client_pid));
    dead.try_for_each(|bridge| store.drop_bridge(bridge.client_pid)).map_err(Error::from)
}

struct Desk<'a> {
    env: &'a Env,
    log: &'a ErrorLog,
    home: Home,
    config: Config,
    /// The only job of the bundle that the bridge belongs to; empty if the bundle contains all jobs.
    only: Vec<String>,
    report: Report,
    session: Option<SessionId>,
    client_pid: u32,
}

impl<'a> Desk<'a> {
    fn open(env: &'a Env, log: &'a ErrorLog, report: Report, client_pid: u32) -> Result<Self, Error> {
        let (config, _) = home::config(env)?;
        // The bundle of a single job does only that job.
        let job = report.plugin.as_deref().and_then(|plugin| plugin.strip_prefix("longhaul-"));
        let only: Vec<String> = job.map(str::to_owned).into_iter().collect();
        let config = hook::only_jobs(config, &only);
        let session = report.session.as_deref().and_then(SessionId::new);
        Ok(Self { env, log, home: Home::of(env)?, config, only, report, session, client_pid })
    }

    fn hear(&mut self, event: BridgeEvent) -> Result<Vec<BridgeAction>, Error> {
        let is_headless =
            self.report.interactive == Some(false) || client_records::is_headless(self.env, self.client_pid);
        if self.env.disabled || is_headless {
            // No process may wait for a bridge that gets no actions.
            if let Some(store) = self.home.existing_store()? {
                store.drop_bridge(self.client_pid)?;
            }
            return Ok(Vec::new());
        }
        let store = self.home.store(DATABASE_FOR_BRIDGE)?;
        let plugin = self.report.plugin.as_deref().unwrap_or("longhaul");
        match event {
            BridgeEvent::Start => {
                drop_dead(&store)?;
                store.begin_bridge(self.client_pid, plugin, self.env.now)?;
            }
            _ => store.hear_bridge(self.client_pid, plugin, self.env.now)?,
        }
        match event {
            BridgeEvent::Start => self.glance(&store),
            BridgeEvent::Turn => self.turn(&store),
            BridgeEvent::Cleared => {
                self.forget_errand(&store)?;
                self.await_start(&store)?;
                self.carry_on(&store)
            }
            BridgeEvent::End => self.end(&store),
            BridgeEvent::Failed => self.failed(&store),
            BridgeEvent::Overtaken => self.overtaken(&store),
            BridgeEvent::Trouble => {
                self.note_trouble(&store)?;
                Ok(Vec::new())
            }
        }
    }

    fn turn(&self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        if let Some(context) = self.context() {
            store.record_context(&context)?;
        }
        if let (Some(is_empty), Some(session)) = (self.report.draft_empty, &self.session) {
            typing::note_draft(&self.home, session, is_empty, self.env.now)?;
        }
        let reason = self.report.reason.as_deref().unwrap_or_default();
        if let (Some(trigger), Some(session)) = (turn_ended(reason), &self.session)
            && self.config.tracker.enabled
        {
            Tracker::open(self.env, &self.home)?.apply(session, trigger, None, Logged::NotYet)?;
        }
        match reason {
            // The user interrupted the turn, so nothing is started.
            "aborted" => self.glance(store),
            _ => self.carry_on(store),
        }
    }

    /// Returns the status line, and the step that the plan waits for, or otherwise the errand that was left.
    fn carry_on(&self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        let mut actions = self.glance(store)?;
        if let Some(message) = self.pending_message(store)? {
            actions.push(BridgeAction::Toast(message));
        }
        if let Some(course) = self.course()
            && let Some(chain) = self.chain(store)?
            && let Some(action) = self.step(store, &course, &chain)?
        {
            actions.push(action);
            return Ok(actions);
        }
        match store.take_errand(self.client_pid)? {
            Some(errand) if errand == COMPACT => actions.push(BridgeAction::Compact),
            Some(errand) if self.session.as_ref().is_some_and(|session| errand == measure(session.as_str())) => {
                actions.extend(self.ask_when_full(store)?);
            }
            Some(_) | None => {}
        }
        Ok(actions)
    }

    /// Waits until the SessionStart hook of the new session has updated the chain. Claude Code does not wait for that
    /// hook.
    fn await_start(&self, store: &Store) -> Result<(), Error> {
        let started = Instant::now();
        let is_clearing = |chain: Chain| chain.plan.state == State::Clearing;
        while started.elapsed() < SESSION_START_FOR_BRIDGE && self.open_chain(store)?.is_some_and(is_clearing) {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Returns the open chain of this client, whichever session is its newest.
    fn open_chain(&self, store: &Store) -> Result<Option<Chain>, Error> {
        let here = NewChain { project_path: &self.project().path, client_pid: self.client_pid, terminal_lock: None };
        store.open_chain_at(&here).map_err(Error::from)
    }

    /// Drops an errand that was left for the previous session: the new one is empty.
    fn forget_errand(&self, store: &Store) -> Result<(), Error> {
        store.take_errand(self.client_pid).map(drop).map_err(Error::from)
    }

    fn end(&mut self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        self.forget_errand(store)?;
        match self.report.reason.as_deref() {
            // The chain continues after a `/clear` by the user as well as by the bridge.
            Some("clear") if self.open_chain(store)?.is_some() => {
                self.await_start(store)?;
                self.session = self.open_chain(store)?.and_then(|chain| SessionId::new(&chain.plan.session));
                self.carry_on(store)
            }
            // Claude Code continues with another session, of which nothing is known yet.
            Some("clear" | "resume") => Ok(vec![BridgeAction::Status(None)]),
            _ => {
                store.drop_bridge(self.client_pid)?;
                Ok(Vec::new())
            }
        }
    }

    /// Retries a step that Claude Code refused, or gives up.
    fn failed(&self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        let why = self.note_trouble(store)?;
        let Some(course) = self.course() else { return Ok(Vec::new()) };
        let Some(met) = self.meet(store, &course, &Occasion::Undelivered { why: &why })? else { return Ok(Vec::new()) };
        match met.act {
            PlanAction::TypeAgain => {
                start_injector(&met.chain)?;
                Ok(self.step(store, &course, &met.chain)?.into_iter().collect())
            }
            PlanAction::Notify(message) => Ok(vec![BridgeAction::Toast(texts::not_continued(&message))]),
            _ => Ok(Vec::new()),
        }
    }

    /// Gives up a step because the user started something else first.
    fn overtaken(&self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        if let Some(course) = self.course()
            && let Some(met) = self.meet(store, &course, &Occasion::Overtaken)?
        {
            let Plan { session, reason, .. } = met.chain.plan;
            self.log.write(&format!("session {session}: not continued: {reason}"));
        }
        Ok(Vec::new())
    }

    /// Applies an occasion to the chain if the reported action was one of its steps.
    fn meet(&self, store: &Store, course: &Course, occasion: &Occasion<'_>) -> Result<Option<ChainUpdate>, Error> {
        let is_step = matches!(self.report.action.as_deref(), Some("clear" | "submit"));
        let Some(chain) = self.chain(store)?.filter(|chain| is_step && chain.plan.state.is_open()) else {
            return Ok(None);
        };
        let now = self.env.now;
        let decide = |plan: &Plan, remaining: &[String]| course.meet(plan, occasion, remaining, now);
        store.meet(chain.id, now, decide).map_err(Error::from)
    }

    fn note_trouble(&self, store: &Store) -> Result<String, Error> {
        let error: String =
            self.report.error.as_deref().unwrap_or("no reason was given").chars().take(TROUBLE_CHARS).collect();
        let why = match self.report.action.as_deref() {
            Some(action) => format!("Claude Code refused to {action}: {error}"),
            None => error,
        };
        self.log.write(&why);
        store.note_bridge_trouble(self.client_pid, &why)?;
        Ok(why)
    }

    fn course(&self) -> Option<Course> {
        let settings = settings(&self.config, &self.home, Some(Path::new(&self.project().path)));
        let is_wanted = settings.at.is_on && hook::serves(&self.only, Job::Continuation);
        is_wanted.then_some(Course { settings, step: self.config.inject.step(), can_type: true })
    }

    fn project(&self) -> Project {
        let cwd = std::env::current_dir().ok();
        Project::of(self.env, cwd.as_deref())
    }

    fn chain(&self, store: &Store) -> Result<Option<Chain>, Error> {
        match &self.session {
            Some(session) => Ok(store.chain_of(session.as_str())?),
            None => Ok(None),
        }
    }

    /// Takes the current step of a chain, unless another process has taken it.
    fn step(&self, store: &Store, course: &Course, chain: &Chain) -> Result<Option<BridgeAction>, Error> {
        let session = self.session.as_ref().map_or("", SessionId::as_str);
        let Some(action) = step(&chain.plan, &course.rules(&[]), session) else { return Ok(None) };
        let is_ours = store.take_step(chain.id, &step_name(&chain.plan), StepTaker::Bridge)?;
        Ok(is_ours.then_some(action))
    }

    /// Takes the message for the user that no hook could show yet.
    fn pending_message(&self, store: &Store) -> Result<Option<String>, Error> {
        let Some(session) = &self.session else { return Ok(None) };
        let Some(pending) = store.pending_message(session.as_str(), self.client_pid, None)? else { return Ok(None) };
        let is_ours = pending.client_pid == self.client_pid && store.take_message(pending.chain)?;
        Ok(is_ours.then(|| texts::not_continued(&pending.message)))
    }

    /// Returns the line under the prompt, which Claude Code shows with a warning sign.
    fn glance(&self, store: &Store) -> Result<Vec<BridgeAction>, Error> {
        let Some(session) = &self.session else { return Ok(Vec::new()) };
        let batons = store.batons(&self.project().path)?;
        let context = store.context(session.as_str())?;
        let mut facts = StatusFacts::default();
        // Longhaul's own status line shows it already.
        if !statusline::is_shown(self.env, self.project().path.as_ref()) {
            facts.fill = context.as_ref().and_then(context::reported_fill);
        }
        facts.handoff_waits = batons
            .iter()
            .any(|baton| baton.session == session.as_str() && baton.trigger == BatonTrigger::Continuation.as_str());
        let failed = self.chain(store)?.filter(|chain| chain.plan.state == State::Failed);
        facts.problems = failed.map(|chain| texts::not_continued(&chain.plan.reason)).into_iter().collect();
        Ok(vec![BridgeAction::Status(facts.line())])
    }

    /// Returns the context use as Claude Code reports it.
    fn context(&self) -> Option<ContextUse> {
        let session = self.session.as_ref()?;
        let context = self.report.usage.get("context")?;
        let number = |key: &str| context.get(key).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        Some(ContextUse {
            session: session.to_string(),
            model: None,
            window_tokens: number("window").map(|window| window as u64).filter(|window| *window > 0),
            used_tokens: number("tokens").map(|tokens| tokens as u64),
            used_percent: number("percent"),
            rate_limits: limits(self.report.usage.get("rateLimits")),
            recorded_at: self.env.now,
        })
    }
}

/// Returns the account's rate limits in the format of Claude Code's status line input.
fn limits(reported: Option<&Value>) -> Option<String> {
    let limit = |limit: &Value| {
        let kind = limit.get("kind")?.as_str()?.to_owned();
        let resets = limit.get("resetsAt").and_then(Value::as_str).and_then(|at| at.parse::<Timestamp>().ok());
        Some((
            kind,
            json!({ "used_percentage": limit.get("percentUsed"), "resets_at": resets.map(|at| at.as_second()) }),
        ))
    };
    let limits: Map<String, Value> = reported?.as_array()?.iter().filter_map(limit).collect();
    (!limits.is_empty()).then(|| Value::Object(limits).to_string())
}

// Asks for a handoff when the context use becomes known only after the Stop event of the turn.

/// Returns the name of the errand that asks `session` for a handoff if its context turns out to be nearly full.
pub(crate) fn measure(session: &str) -> String {
    format!("measure {session}")
}

impl Desk<'_> {
    /// Asks for a handoff if the context is nearly full, which was not known yet at the Stop event of the turn.
    fn ask_when_full(&self, store: &Store) -> Result<Option<BridgeAction>, Error> {
        let fill = self.context().and_then(|context| context::reported_fill(&context));
        let (Some(course), Some(session), Some(fill)) = (self.course(), &self.session, fill) else { return Ok(None) };
        let nonce = nonce()?;
        let occasion = Occasion::Measured { fill, nonce: &nonce };
        let now = self.env.now;
        let chain = self.chain(store)?;
        let plan = chain.as_ref().map_or_else(|| Plan::new(session.as_str(), now), |chain| chain.plan.clone());
        if course.meet(&plan, &occasion, &[], now).act == PlanAction::Nothing {
            return Ok(None);
        }
        let decide = |plan: &Plan, remaining: &[String]| course.meet(plan, &occasion, remaining, now);
        let met = match chain {
            Some(chain) => store.meet(chain.id, now, decide)?,
            None => {
                let (project, terminal_lock) = (self.project(), self.terminal_lock());
                let new = NewChain {
                    project_path: &project.path,
                    client_pid: self.client_pid,
                    terminal_lock: terminal_lock.as_deref(),
                };
                store.begin_chain(&new, &plan, now, decide)?
            }
        };
        match met {
            Some(ChainUpdate { act: PlanAction::Ask(_), chain, .. }) => self.step(store, &course, &chain),
            Some(ChainUpdate { act: PlanAction::Notify(message), .. }) => {
                Ok(Some(BridgeAction::Toast(texts::not_continued(&message))))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the lock name of the terminal; `None` inside another client, to which the terminal belongs.
    fn terminal_lock(&self) -> Option<String> {
        let record = self.session.as_ref().and_then(|session| SessionRecord::load(&self.home, session));
        let terminal = record.and_then(|record| record.terminal).or_else(|| Terminal::detect(self.env).ok());
        terminal.filter(|_| !client_records::is_nested(self.env, self.client_pid)).map(|terminal| terminal.lock_name())
    }
}

// The events that the bridge reports, with their names.

longhaul_core::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum BridgeEvent {
        /// The bridge was loaded.
        Start = "start",
        /// A turn of the main loop ended.
        Turn = "turn",
        /// The requested `/clear` is done.
        Cleared = "cleared",
        End = "end",
        /// A requested action failed.
        Failed = "failed",
        /// The user submitted a prompt, or a turn began, before a requested action could be performed.
        Overtaken = "overtaken",
        /// The bridge got no answer, or one that it could not parse.
        Trouble = "trouble",
    }
}
