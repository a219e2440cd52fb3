//! Types the text that a chain waits for, and waits until the events of Claude Code confirm it. How often it is typed
//! is decided in `handoff/src/continuation.rs`. Also waits for the end of the account's rate limit (`continuation/occasion.rs` there).

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_activity_log::LogLine;
use longhaul_core::{Env, Millis, SessionId};
use longhaul_handoff::bridge::step_name;
use longhaul_handoff::continuation::{Occasion, Plan, PlanAction, lifted_at};
use longhaul_inject::{Terminal, TypeWhen};
use longhaul_store::{Chain, ChainId, StepTaker, Store};

use super::{Course, lock, settings};
use crate::typing::{Submitted, Typist, shows_another_session, submit_patiently};
use crate::{
    ActivityLog, Error, ErrorLog, Home, Order, SessionRecord, Ticket, bridge, client_records, clock_and_env, home,
    process, waiting_times,
};

/// Interval at which a plan is read that waits for the account's rate limit.
const RATE_LIMIT_CHECKED: Duration = Duration::from_secs(5);

/// How long to wait for the lock of a continuation. A hook may hold it for a moment in order to test it.
const CONTINUATION_LOCK: Duration = Duration::from_millis(500);

/// How long to wait for the bridge, until it takes a step that could also be typed, at most a quarter of the step's
/// time. The bridge reports when the turn has ended, which the hooks of other programs may delay.
const BRIDGE_TAKES_STEP: Duration = Duration::from_secs(8);

/// The argument of the injector that selects this job.
pub(crate) const KIND: &str = "continuation";

/// Interval at which the plan is read. Hooks write it to the database, and there is no notification.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Types the text that the chain waits for, and retries, until the chain has moved on.
///
/// Does nothing while another process types for the chain.
pub(crate) fn deliver(env: &Env, log: &ErrorLog, id: ChainId) -> Result<(), Error> {
    let home = Home::of(env)?;
    let Some(_lock) = lock_patiently(&home, id)? else { return Ok(()) };
    let store = home.store(waiting_times::DATABASE)?;
    let mut since = None;
    loop {
        let Some(chain) = store.chain(id)? else { return Ok(()) };
        let (config, _) = home::config(env)?;
        let settings = settings(&config, &home, Some(Path::new(&chain.project_path)));
        let course = Course { settings, step: config.inject.step(), can_type: true };
        let update = |occasion: &Occasion<'_>| {
            let now = clock_and_env::now(env);
            store.meet(id, now, |plan, remaining| course.meet(plan, occasion, remaining, now))
        };
        if env.disabled || !course.settings.at.is_on {
            return update(&Occasion::SwitchedOff).map(drop).map_err(Error::from);
        }
        if chain.plan.paused {
            match wait_for_limit(env, &store, &course, &chain)? {
                true => continue,
                false => return Ok(()),
            }
        }
        let Some(text) = chain.plan.text(&course.rules(&[])) else { return Ok(()) };
        let activity = Activity::of(&home, &chain, &mut since)?;
        let scene = Scene { env, home: &home, store: &store, chain: &chain };
        let why = match scene.deliver(&activity, text)? {
            Delivered::MovedOn => return Ok(()),
            Delivered::Overtaken => {
                let reason = update(&Occasion::Overtaken)?.map(|update| update.chain.plan.reason).unwrap_or_default();
                log.write(&format!("session {}: not continued: {reason}", chain.plan.session));
                return Ok(());
            }
            // The next client in its place continues the chain, or finds it expired.
            Delivered::No(_) if chain.client_pid != 0 && !process::is_alive(chain.client_pid) => return Ok(()),
            Delivered::No(why) => why,
        };
        if !scene.tries_again(log, &course, &why)? {
            return Ok(());
        }
    }
}

enum Delivered {
    /// Events of Claude Code have moved the plan on.
    MovedOn,
    /// The user started something else before the text could be typed.
    Overtaken,
    /// The text could not be typed, or had no effect. With the reason.
    No(String),
}

/// The lines that the hooks of the session have appended since the injector was started.
///
/// They append them before they open the database, which may be locked at that moment.
struct Activity {
    log: ActivityLog,
    since: Ticket,
}

impl Activity {
    fn of(home: &Home, chain: &Chain, since: &mut Option<Ticket>) -> Result<Option<Self>, Error> {
        let Some(session) = SessionId::new(&chain.plan.session) else { return Ok(None) };
        let log = ActivityLog::open(home, &session)?;
        let since = match since {
            Some(ticket) => *ticket,
            None => *since.insert(log.ticket()?),
        };
        Ok(Some(Self { log, since }))
    }

    fn has_begun(&self) -> Result<bool, Error> {
        let begins =
            |line: &LogLine| matches!(line, LogLine::Prompt { .. } | LogLine::Tool { .. } | LogLine::Compaction { .. });
        Ok(self.log.since(self.since)?.iter().any(begins))
    }
}

/// A step to perform, and everything that it needs.
struct Scene<'a> {
    env: &'a Env,
    home: &'a Home,
    store: &'a Store,
    chain: &'a Chain,
}

impl Scene<'_> {
    fn deliver(&self, activity: &Option<Activity>, text: String) -> Result<Delivered, Error> {
        let Self { env, home, chain, .. } = *self;
        let (Some(session), Some(activity)) = (SessionId::new(&chain.plan.session), activity) else {
            return Ok(Delivered::No("the session has no id".to_owned()));
        };
        let record = SessionRecord::load(home, &session);
        // The client of the chain takes precedence: `resume` may be run inside another one.
        let own = Some(chain.client_pid).filter(|pid| *pid != 0);
        let client_pid = own.or(record.as_ref().and_then(|record| record.client_pid)).or(env.client_pid);
        if client_pid.is_some_and(|pid| client_records::is_headless(env, pid)) {
            return Ok(Delivered::No("Claude Code runs headless".to_owned()));
        }
        // `resume` may be run in another terminal.
        let is_of_chain =
            |terminal: &Terminal| chain.terminal_lock.as_ref().is_none_or(|lock| *lock == terminal.lock_name());
        let here = || Terminal::detect(env).ok().filter(is_of_chain);
        let is_nested = client_pid.is_some_and(|pid| client_records::is_nested(env, pid));
        let terminal = record.and_then(|record| record.terminal).or_else(here).filter(|_| !is_nested);
        // An `Instant`, because the wall clock may be set back while this waits.
        let until = Instant::now() + Duration::from_millis(chain.plan.deadline.since(clock_and_env::now(env)));
        let has_bridge = bridge::is_there(self.store, client_pid)?;
        if has_bridge {
            let instead = terminal.as_ref().map(|_| BRIDGE_TAKES_STEP.min(left(until) / 4));
            if let Some(delivered) = self.leave_to_bridge(instead.unwrap_or_else(|| left(until)), until)? {
                return Ok(delivered);
            }
        } else {
            self.store.take_step(chain.id, &step_name(&chain.plan), StepTaker::Typist)?;
        }
        let why = match (is_nested, has_bridge) {
            (true, _) => "the terminal belongs to another session, inside which this one was started",
            (false, true) => "the bridge did not answer, and there is no terminal to type into",
            (false, false) => "no terminal to type into",
        };
        let Some(terminal) = terminal else { return Ok(Delivered::No(why.to_owned())) };
        let order = Order {
            session,
            terminal,
            client_pid,
            text,
            want: TypeWhen::Idle,
            want_by_chord: None,
            agents_may_ask: false,
            agents_run: false,
            patience: left(until),
            deadline: None,
        };
        self.type_it(&order, activity, until)
    }

    fn type_it(&self, order: &Order, activity: &Activity, until: Instant) -> Result<Delivered, Error> {
        let Self { env, home, .. } = *self;
        // Claude Code writes the session that it shows to its record a moment after it has started the session.
        while shows_another_session(env, home, order) && !left(until).is_zero() && !self.has_moved_on()? {
            std::thread::sleep(LOOK_EVERY);
        }
        let unwanted = || Ok(self.has_moved_on()? || activity.has_begun()? || shows_another_session(env, home, order));
        let typist = Typist::new(env, home, order);
        match submit_patiently(&typist, &unwanted)? {
            Submitted::Yes => {}
            Submitted::Superseded if self.has_moved_on()? => {
                if typist.has_pressed_chord() {
                    typist.note_received();
                }
                return Ok(Delivered::MovedOn);
            }
            Submitted::Superseded if activity.has_begun()? => return Ok(Delivered::Overtaken),
            Submitted::Superseded => return Ok(Delivered::No("the pane shows another session".to_owned())),
            Submitted::No(why) => return Ok(Delivered::No(why)),
        }
        match self.moves_on_before(until)? {
            true => {
                typist.note_received();
                Ok(Delivered::MovedOn)
            }
            false => Ok(Delivered::No(format!("{:?} was typed, but Claude Code did not react", order.text))),
        }
    }

    /// Records that the step could not be delivered. Returns whether it is retried.
    ///
    /// When the plan gives up, a message is stored for the user.
    fn tries_again(&self, log: &ErrorLog, course: &Course, why: &str) -> Result<bool, Error> {
        let Self { env, store, chain, .. } = *self;
        let now = clock_and_env::now(env);
        let occasion = Occasion::Undelivered { why };
        let update = store.meet(chain.id, now, |plan, remaining| match is_same_step(plan, &chain.plan) {
            true => course.meet(plan, &occasion, remaining, now),
            // The chain has moved on at the last moment, so the failure no longer matters.
            false => course.meet(plan, &Occasion::Passed, remaining, now),
        })?;
        match update.map(|update| update.act) {
            Some(PlanAction::TypeAgain) => Ok(true),
            Some(PlanAction::Notify(message)) => {
                log.write(&format!("session {}: continuation failed: {message}", chain.plan.session));
                store.leave_message(chain.id, &message)?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Leaves the step to the bridge. Returns `None` if the bridge has not taken it in time; the bridge can then no
    /// longer take it.
    fn leave_to_bridge(&self, patience: Duration, until: Instant) -> Result<Option<Delivered>, Error> {
        let step = step_name(&self.chain.plan);
        let given_up = Instant::now() + patience;
        loop {
            if self.has_moved_on()? {
                return Ok(Some(Delivered::MovedOn));
            }
            if self.store.is_with_bridge(self.chain.id, &step)? {
                return Ok(Some(match self.moves_on_before(until)? {
                    true => Delivered::MovedOn,
                    false => Delivered::No("the bridge took the step, but Claude Code did not react".to_owned()),
                }));
            }
            if Instant::now() >= given_up && self.store.take_step(self.chain.id, &step, StepTaker::Typist)? {
                return Ok(None);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn moves_on_before(&self, until: Instant) -> Result<bool, Error> {
        while !left(until).is_zero() {
            if self.has_moved_on()? {
                return Ok(true);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.has_moved_on()
    }

    fn has_moved_on(&self) -> Result<bool, Error> {
        let now = self.store.chain(self.chain.id)?;
        Ok(!now.is_some_and(|now| is_same_step(&now.plan, &self.chain.plan)))
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

fn lock_patiently(home: &Home, id: ChainId) -> Result<Option<File>, Error> {
    let started = Instant::now();
    loop {
        let locked = lock(home, id)?;
        if locked.is_some() || started.elapsed() > CONTINUATION_LOCK {
            return Ok(locked);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn is_same_step(plan: &Plan, other: &Plan) -> bool {
    (plan.state, plan.attempt, plan.paused, &plan.session, plan.since)
        == (other.state, other.attempt, other.paused, &other.session, other.since)
}

/// Waits until the account's rate limit is lifted, then resumes the plan. Returns whether it was resumed.
///
/// No event reports that the limit is lifted. The time comes from the input of Claude Code's status line.
fn wait_for_limit(env: &Env, store: &Store, course: &Course, chain: &Chain) -> Result<bool, Error> {
    let limits = store.context(&chain.plan.session)?.and_then(|context| context.rate_limits);
    // A time before the limit was reached belongs to an earlier limit: then the end of this one is not known.
    let is_meant = |lifted: &Millis| course.settings.after_rate_limit && *lifted > chain.plan.since;
    let Some(lifted) = limits.as_deref().and_then(lifted_at).filter(is_meant) else { return Ok(false) };
    loop {
        if !store.chain(chain.id)?.is_some_and(|now| now.plan.paused) {
            return Ok(false);
        }
        let now = clock_and_env::now(env);
        if now >= lifted {
            let resumed = |plan: &Plan, remaining: &[String]| course.meet(plan, &Occasion::Lifted, remaining, now);
            return Ok(store.meet(chain.id, now, resumed)?.is_some_and(|met| met.act == PlanAction::TypeAgain));
        }
        std::thread::sleep(RATE_LIMIT_CHECKED.min(Duration::from_millis(lifted.since(now))));
    }
}
