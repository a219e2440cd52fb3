//! Continuing a task beyond the context limit without a person: at which events, and what hooks, injector and
//! command line share.

mod deliver;

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use longhaul_core::catalog::Job;
use longhaul_core::event::predicates::{in_subagent, is_task_notification, stopped_at_context_limit, stopped_by_user};
use longhaul_core::event::{
    BackgroundTask, HookEvent, Notification, SessionEnd, SessionStart, StartSource, Stop, StopFailure, UserPromptSubmit,
};
use longhaul_core::{Config, Env, Millis, Reply, config};
use longhaul_handoff::BatonTrigger;
use longhaul_handoff::continuation::{
    Document, EXPIRES_MS, HANDOFF_CHARS, MARKER_FILE, Occasion, Plan, PlanAction, PlanOutcome, PlanRules, State,
    TurnEnd, WrittenFile, WrittenKind, is_rate_limit, page, texts,
};
use longhaul_store::{Chain, ChainId, ChainUpdate, NewChain, Store};

use crate::handoff::Project;
use crate::{
    Error, Flow, Home, Hook, Sanitizer, SessionRecord, bridge, client_records, clock_and_env, context, files, process,
    project_file, tracker,
};

pub(crate) use self::deliver::{KIND, deliver};

/// The folder in which the model may have written a handoff without being asked.
const PROJECT_DIR: &str = ".claude";
const HANDOFF_FILE: &str = "handoff.md";

/// Returns the settings of a session: the user's, with those that the project may change.
pub(crate) fn settings(own: &Config, home: &Home, project: Option<&Path>) -> config::Continuation {
    project_file::in_force(own, home, project).continuation
}

/// The settings, and whether text can be typed or submitted by the bridge: everything that a plan depends on except its
/// own history.
pub(crate) struct Course {
    pub(crate) settings: config::Continuation,
    pub(crate) step: Duration,
    pub(crate) can_type: bool,
}

impl Course {
    /// Returns the rules for a plan. `remaining` lists what was left to do after each round so far.
    pub(crate) fn rules<'a>(&'a self, remaining: &'a [String]) -> PlanRules<'a> {
        let mut rules = PlanRules::new(texts::PROMPT);
        rules.limits = &self.settings.at.limits;
        rules.max_rounds = u32::try_from(self.settings.max_rounds.0).unwrap_or(u32::MAX);
        rules.step_ms = self.step.as_millis() as u64;
        rules.can_type = self.can_type;
        rules.remaining = remaining;
        rules
    }

    pub(crate) fn meet(&self, plan: &Plan, occasion: &Occasion<'_>, remaining: &[String], now: Millis) -> PlanOutcome {
        plan.meet(occasion, &self.rules(remaining), now)
    }
}

/// Returns the handoffs in the project's files, without private text.
pub(crate) fn written(project: Option<&Path>, sanitizer: Sanitizer) -> Vec<WrittenFile> {
    let Some(dir) = project.map(|dir| dir.join(PROJECT_DIR)) else { return Vec::new() };
    [(HANDOFF_FILE, WrittenKind::Handoff), (MARKER_FILE, WrittenKind::Marker)]
        .into_iter()
        .filter_map(|(name, kind)| {
            let (text, modified) = files::read_foreign(&dir.join(name))?;
            Some(WrittenFile { kind, modified: files::since_epoch(modified)?, text: sanitizer.clean(&text) })
        })
        .collect()
}

/// Returns a random word that the answer to a question must contain.
pub(crate) fn nonce() -> Result<String, Error> {
    let bytes = files::random::<8>()?;
    // It begins with letters, so that YAML does not read it as a number.
    Ok(bytes.iter().fold("lh-".to_owned(), |nonce, byte| format!("{nonce}{byte:02x}")))
}

/// Starts the process that types the text that a chain waits for.
pub fn start_injector(chain: &Chain) -> Result<(), Error> {
    let args = [chain.plan.session.clone(), KIND.to_owned(), chain.id.to_string()];
    process::spawn_own("run-injector", &args).map(drop)
}

/// Resumes or cancels a chain at the user's request. Returns the chain after that.
pub fn decide_by_hand(env: &Env, resume: bool, id: ChainId) -> Result<Option<Chain>, Error> {
    let home = Home::of(env)?;
    let (config, _) = crate::config(env)?;
    let store = home.store(crate::waiting_times::DATABASE)?;
    let Some(chain) = store.chain(id)? else { return Ok(None) };
    let settings = settings(&config, &home, Some(Path::new(&chain.project_path)));
    // The bridge cannot be called: it reports at the end of a turn, and a turn would end the chain.
    let course = Course { settings, step: config.inject.step(), can_type: chain.terminal_lock.is_some() };
    let occasion = if resume { Occasion::Resumed } else { Occasion::Cancelled };
    let met = store.meet(id, env.now, |plan, remaining| course.meet(plan, &occasion, remaining, env.now))?;
    let Some(met) = met else { return Ok(None) };
    if met.act == PlanAction::TypeAgain {
        start_injector(&met.chain)?;
    }
    Ok(Some(met.chain))
}

/// Stores a handoff also as a file, for people to read.
fn keep_file(home: &Home, session: &str, handoff: &Document) -> Result<(), Error> {
    files::replace(&home.handoff_file(session), handoff.to_text().as_bytes())
}

/// Takes the lock of the process that types for a chain. Dropping the file releases it.
///
/// Returns `None` while another process holds the lock. The lock of a killed process is released.
pub(crate) fn lock(home: &Home, id: ChainId) -> Result<Option<File>, Error> {
    files::try_lock(&home.locks().join(format!("continuation-{id}")))
}

// At which events. The messages to the user are in `handoff/src/continuation/texts.rs`.

/// Maximum time between two hooks for the same Stop.
const SAME_STOP_MS: u64 = 5_000;

/// Asks for a handoff if the context is nearly full, and accepts it when it is written.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    let Some(course) = hook.course() else { return Ok(Flow::Next) };
    let stop = hook.event.clone();
    let sanitizer = hook.sanitizer();
    if in_subagent(&stop.common) || stopped_at_context_limit(&stop) || hook.is_private() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    hook.show_pending_message(&store)?;
    let session = &stop.common.session;
    let chain = store.chain_of(session.as_str())?;
    let is_asked = chain.as_ref().is_some_and(|chain| chain.plan.state == State::Asked);
    let files = if is_asked { written(hook.project_dir().as_deref(), sanitizer) } else { Vec::new() };
    // Private text is removed first, because the rest must still be a valid handoff.
    let reply = stop.last_assistant_message.as_deref().unwrap_or_default();
    let is_open = chain.as_ref().is_some_and(|chain| chain.plan.state.is_open());
    let reply = if is_open { sanitizer.clean(reply) } else { String::new() };
    let nonce = if is_asked { String::new() } else { nonce()? };
    let running = || tracker::any_subagent_runs(&hook.home, session);
    let mut turn = TurnEnd::new(&reply, &nonce);
    turn.again = stop.stop_hook_active;
    // `/clear` ends subagents, but not a shell: it runs on in the next session.
    let is_lost = |task: &BackgroundTask| task.kind != "shell";
    turn.others_run = stop.background_tasks.as_ref().map_or_else(running, |tasks| tasks.iter().any(is_lost));
    // Where the bridge runs, it asks by a prompt in a moment: Claude Code shows a question at Stop as the error of a hook.
    // An errand that the bridge has not fetched since the last turn means that it does not answer.
    let has_bridge = !is_open && !turn.others_run && bridge::is_there(&store, hook.env.client_pid)?;
    let is_left_to_bridge = has_bridge && !store.has_errand(hook.env.client_pid.unwrap_or_default())?;
    turn.fill =
        context::fill(&store, session.as_str(), stop.common.transcript.as_deref(), &hook.config.models.windows)?;
    turn.by_user = stopped_by_user(&stop);
    turn.files = &files;
    turn.decided_at = Some(clock_and_env::now(&hook.env));
    if is_left_to_bridge {
        let now = hook.env.now;
        let plan = chain.as_ref().map_or_else(|| Plan::new(session.as_str(), now), |chain| chain.plan.clone());
        let act = course.meet(&plan, &Occasion::TurnEnded(turn.clone()), &[], now).act;
        hook.done.asks_by_bridge = matches!(act, PlanAction::Ask(_));
        turn.fill = None;
    }
    let share = turn.fill.map_or(0.0, |fill| fill.share());
    let may_ask_later = !is_open && !turn.again && !turn.others_run && !turn.by_user;
    let Some(met) = hook.meet(&store, &course, chain.clone(), &Occasion::TurnEnded(turn))? else {
        if may_ask_later && let Some(client_pid) = hook.env.client_pid {
            // The context use of this turn is not known yet. The bridge reports it in a moment.
            store.leave_errand(client_pid, &bridge::measure(session.as_str()))?;
        }
        return hook.seen_already(&course, chain.as_ref());
    };
    if let PlanAction::Ask(question) = met.act {
        hook.answer(Reply::block(question));
        let notice = if is_open { texts::asked_once_more(&met.chain.plan.reason) } else { texts::asked(share) };
        hook.notify(&format!("longhaul: {notice}"));
        // The turn continues, so the following jobs must not treat it as ended.
        return Ok(Flow::Done);
    }
    if met.act == PlanAction::Nothing && met.chain.plan.state == State::Asked {
        // Another hook for the same Stop has asked since the chain was read.
        return hook.seen_already(&course, Some(&met.chain));
    }
    hook.act(&store, &course, &met)?;
    Ok(Flow::Next)
}

/// Shows the handoff to the session that continues.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let Some(course) = hook.course() else { return Ok(Flow::Next) };
    if !hook.wants_activity() {
        // No other job has recorded where the session runs.
        SessionRecord::of(hook).save(&hook.home, &hook.event.common.session)?;
    }
    let store = hook.store()?;
    hook.show_pending_message(&store)?;
    let Some(chain) = hook.chain(&store)? else { return Ok(Flow::Next) };
    let session = hook.event.common.session.clone();
    let shown = client_records::shown_session(&hook.env, hook.env.client_pid);
    let occasion = match &hook.event.source {
        // A SessionStart that is reported twice may belong to a session that is never used.
        StartSource::Clear if chain.plan.state == State::Prompting && shown.is_some_and(|shown| shown != session) => {
            Occasion::Passed
        }
        StartSource::Clear => Occasion::Cleared { session: session.as_str() },
        StartSource::Compact => Occasion::Compacted,
        // The same session continues.
        _ if chain.plan.session == session.as_str() => Occasion::Passed,
        StartSource::Startup => Occasion::Restarted { session: session.as_str() },
        _ => Occasion::Passed,
    };
    let id = chain.id;
    let Some(met) = hook.meet(&store, &course, Some(chain.clone()), &occasion)? else {
        // It may continue in another client and terminal.
        if chain.plan.session == session.as_str() {
            let client_pid = hook.env.client_pid.unwrap_or_default();
            store.move_chain(id, client_pid, hook.own_terminal_lock().as_deref())?;
            hook.take_over(&course, &Chain { client_pid, ..chain })?;
        }
        return Ok(Flow::Next);
    };
    if met.act == PlanAction::Show {
        let (terminal_lock, client) = (hook.own_terminal_lock(), hook.env.client_pid.unwrap_or_default());
        store.move_chain(id, client, terminal_lock.as_deref())?;
        // What was left to the module for the session before: it may report that one's last turn only now.
        store.take_errand(client)?;
        if let Some(handoff) = store.newest_handoff(id)? {
            let room = hook.room().min(HANDOFF_CHARS);
            let file = hook.home.handoff_file(&handoff.session);
            hook.show(&page(&handoff.body, &handoff.session, handoff.round, room, &file.to_string_lossy()));
            hook.notify(&format!("longhaul: {}", texts::goes_on(handoff.round)));
            hook.done.handed_over = Some(handoff.body);
        }
    }
    hook.act(&store, &course, &met)?;
    Ok(Flow::Next)
}

/// Records that the new session works, or that the user has intervened.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let (session, prompt) = (hook.event.common.session.clone(), hook.event.prompt.clone());
    if is_task_notification(&prompt) {
        return hook.pass();
    }
    hook.happened(&Occasion::Prompted { session: session.as_str(), prompt: &prompt })
}

/// Records that the user has ended the session.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    let (session, reason) = (hook.event.common.session.clone(), hook.event.reason.clone());
    hook.happened(&Occasion::Ended { session: session.as_str(), reason: reason.as_str() })
}

/// Pauses the plan if the account's rate limit is used up.
pub fn on_failure(hook: &mut Hook<StopFailure>) -> Result<Flow, Error> {
    if hook.event.error.as_deref().is_none_or(|error| !is_rate_limit(error)) {
        return Ok(Flow::Next);
    }
    hook.happened(&Occasion::RateLimited)?;
    let Some(course) = hook.course().filter(|course| course.settings.after_rate_limit) else { return Ok(Flow::Next) };
    if course.can_type {
        let chain = hook.store()?.chain_of(hook.event.common.session.as_str())?;
        hook.done.errand = chain.filter(|chain| chain.plan.paused).map(|chain| chain.id);
    }
    Ok(Flow::Next)
}

/// Continues a chain that is stuck. Claude Code sends a notification when it is idle.
pub fn on_notification(hook: &mut Hook<Notification>) -> Result<Flow, Error> {
    hook.pass()
}

/// Starts typing the text that the plan waits for. Nothing else is typed then.
pub fn carry_on<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    let Some(id) = hook.done.errand.take() else {
        return Ok(if hook.done.asks_by_bridge { Flow::Done } else { Flow::Next });
    };
    if let Some(chain) = hook.store()?.chain(id)? {
        start_injector(&chain)?;
    }
    Ok(Flow::Done)
}

impl Hook<Stop> {
    /// Handles a second hook for the same Stop, as when the plugin is installed twice, so that it does not undo the
    /// first.
    fn seen_already(&mut self, course: &Course, chain: Option<&Chain>) -> Result<Flow, Error> {
        let Some(chain) = chain else { return Ok(Flow::Next) };
        if chain.plan.state == State::Asked && self.env.now.since(chain.plan.asked_at) < SAME_STOP_MS {
            return Ok(Flow::Done);
        }
        // The text is not typed twice. A bookmark would interfere with it.
        if course.can_type && chain.plan.waits_for_typing() && !chain.plan.paused {
            self.done.errand = Some(chain.id);
        }
        Ok(Flow::Next)
    }
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether continuation is enabled here.
    pub(crate) fn continues_by_itself(&mut self) -> bool {
        self.serves(Job::Continuation) && settings(&self.config, &self.home, self.project_dir().as_deref()).at.is_on
    }

    /// Returns the settings of the continuation; `None` if it is switched off.
    fn course(&mut self) -> Option<Course> {
        if !self.serves(Job::Continuation) {
            return None;
        }
        let client = self.env.client_pid.unwrap_or_default();
        let settings = settings(&self.config, &self.home, self.project_dir().as_deref());
        // A program that runs Claude Code headless needs its answer, not a handoff.
        if !settings.at.is_on || (client != 0 && client_records::is_headless(&self.env, client)) {
            return None;
        }
        // Each client has its own bridge, but the terminal may belong to another client.
        let can_type = self.own_terminal_lock().is_some();
        let can_ask = || self.store().and_then(|store| bridge::is_there(&store, Some(client)));
        Some(Course { settings, step: self.config.inject.step(), can_type: can_type || can_ask().unwrap_or_default() })
    }

    /// Returns the lock name of the terminal; `None` inside another client, to which the terminal belongs.
    fn own_terminal_lock(&self) -> Option<String> {
        let is_nested = || self.env.client_pid.is_some_and(|client| client_records::is_nested(&self.env, client));
        self.terminal_lock().filter(|_| !is_nested())
    }

    fn terminal_lock(&self) -> Option<String> {
        self.place().0.map(|terminal| terminal.lock_name())
    }

    /// Returns the chain of this session, or otherwise the open chain in this client or terminal.
    fn chain(&self, store: &Store) -> Result<Option<Chain>, Error> {
        if let Some(chain) = store.chain_of(self.event.common().session.as_str())? {
            return Ok(Some(chain));
        }
        let own = self.env.client_pid.unwrap_or_default();
        let (project, terminal_lock) =
            (Project::of(&self.env, self.event.common().cwd.as_deref()), self.terminal_lock());
        let here = NewChain { project_path: &project.path, client_pid: own, terminal_lock: terminal_lock.as_deref() };
        let found = store.open_chain_at(&here)?;
        let is_over = |chain: &Chain| self.env.now.since(chain.plan.since) > EXPIRES_MS;
        // The same terminal may be used for another project, which may only end an expired chain.
        let fits = |chain: &Chain| chain.project_path == project.path || is_over(chain);
        Ok(found.filter(|chain| self.is_left_to(chain.client_pid) && (chain.client_pid == own || fits(chain))))
    }

    /// Shows the user a message that no hook could show before.
    fn show_pending_message(&mut self, store: &Store) -> Result<(), Error> {
        let (session, client) = (self.event.common().session.clone(), self.env.client_pid.unwrap_or_default());
        let pending = store.pending_message(session.as_str(), client, self.terminal_lock().as_deref())?;
        let Some(pending) = pending else { return Ok(()) };
        if self.is_left_to(pending.client_pid) && store.take_message(pending.chain)? {
            self.notify(&format!("longhaul: {}", texts::not_continued_yet(&pending.message)));
        }
        Ok(())
    }

    /// Returns whether this client takes over from another: from itself, or from one that has ended.
    ///
    /// A client inside another one has the same terminal, but its chains do not concern the outer one.
    fn is_left_to(&self, client_pid: u32) -> bool {
        client_pid == 0 || self.env.client_pid == Some(client_pid) || !process::is_alive(client_pid)
    }

    /// Applies an occasion to the chain of this session or terminal, if there is one.
    fn happened(&mut self, occasion: &Occasion<'_>) -> Result<Flow, Error> {
        let Some(course) = self.course() else { return Ok(Flow::Next) };
        let store = self.store()?;
        self.show_pending_message(&store)?;
        let Some(chain) = self.chain(&store)? else { return Ok(Flow::Next) };
        match self.meet(&store, &course, Some(chain.clone()), occasion)? {
            Some(met) => self.act(&store, &course, &met)?,
            None => self.take_over(&course, &chain)?,
        }
        Ok(Flow::Next)
    }

    /// Continues a chain that waits for typing if the process that should type is gone.
    fn take_over(&mut self, course: &Course, chain: &Chain) -> Result<(), Error> {
        let waits = match chain.plan.paused {
            true => course.settings.after_rate_limit,
            false => chain.plan.waits_for_typing(),
        };
        if waits && course.can_type && lock(&self.home, chain.id)?.is_some() {
            self.done.errand = Some(chain.id);
        }
        Ok(())
    }

    fn pass(&mut self) -> Result<Flow, Error> {
        self.happened(&Occasion::Passed)
    }

    /// Applies an occasion to a chain. Returns `None`, without a write, if it changes nothing.
    fn meet(
        &mut self,
        store: &Store,
        course: &Course,
        chain: Option<Chain>,
        occasion: &Occasion<'_>,
    ) -> Result<Option<ChainUpdate>, Error> {
        let now = self.env.now;
        let session = self.event.common().session.as_str();
        let plan = chain.as_ref().map_or_else(|| Plan::new(session, now), |chain| chain.plan.clone());
        let expected = course.meet(&plan, occasion, &[], now);
        if expected.plan == plan && expected.act == PlanAction::Nothing {
            return Ok(None);
        }
        let decide = |plan: &Plan, remaining: &[String]| course.meet(plan, occasion, remaining, now);
        let met = match chain {
            Some(chain) => store.meet(chain.id, now, decide)?,
            None => {
                let project = Project::of(&self.env, self.event.common().cwd.as_deref());
                // The terminal of another client must not lead to this chain.
                let terminal_lock = self.own_terminal_lock();
                let client_pid = self.env.client_pid.unwrap_or_default();
                let new = NewChain { project_path: &project.path, client_pid, terminal_lock: terminal_lock.as_deref() };
                store.begin_chain(&new, &plan, now, decide)?
            }
        };
        if let Some(met) = &met {
            let after = &met.chain.plan;
            let ended = plan.state.is_open() && matches!(after.state, State::Armed | State::Failed | State::Cancelled);
            if ended {
                self.log.write(&format!("session {}: not continued: {}", plan.session, after.reason));
            }
        }
        Ok(met)
    }

    /// Performs the action of a plan.
    fn act(&mut self, store: &Store, course: &Course, met: &ChainUpdate) -> Result<(), Error> {
        // First, so that the chain continues even if something below fails.
        if course.can_type && met.chain.plan.waits_for_typing() && met.act != PlanAction::Nothing {
            self.done.errand = Some(met.chain.id);
        }
        match &met.act {
            PlanAction::Nothing | PlanAction::Ask(_) | PlanAction::Show | PlanAction::TypeAgain => {}
            PlanAction::Notify(message) => self.notify(&format!("longhaul: {}", texts::not_continued(message))),
            PlanAction::Clear(handoff) => {
                keep_file(&self.home, self.event.common().session.as_str(), handoff)?;
                if self.config.handoff.enabled {
                    self.write_baton(store, BatonTrigger::Continuation)?;
                }
                if !course.can_type {
                    self.notify(&format!("longhaul: {}", texts::CLEAR_BY_HAND));
                }
            }
        }
        Ok(())
    }
}
