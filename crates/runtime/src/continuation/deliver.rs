//! Typing what a chain waits for, and waiting until the client's own events say that it has happened.

use std::path::Path;
use std::time::Duration;

use longhaul_core::{Env, Millis, SessionId};
use longhaul_handoff::continuation::{Act, Occasion, Plan};
use longhaul_inject::{Terminal, Want};
use longhaul_store::{Chain, Store};

use super::{Course, settings};
use crate::typing::{Submitted, Typist, shows_another_session, submit_patiently};
use crate::{Error, ErrorLog, Home, Keeper, Order, SessionRecord, home, process, surroundings};

/// How the injector is told what it is started for.
pub(crate) const KIND: &str = "continuation";

/// How often the plan is looked at: hooks write it down, and nobody can tell us.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often a plan is looked at that waits for the account's limit.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Types what the chain waits for, once more if nothing comes of it, until it has moved on.
pub(crate) fn deliver(env: &Env, log: &ErrorLog, id: i64) -> Result<(), Error> {
    let home = Home::of(env)?;
    let (config, _) = home::config(env)?;
    let mut store = home.store(home::PATIENCE)?;
    loop {
        let Some(chain) = store.chain(id)? else { return Ok(()) };
        let (settings, _) = settings(&config.continuation, Some(Path::new(&chain.project_path)));
        let course = Course { settings, can_type: true, keeper: Keeper::new(&config) };
        if chain.plan.paused {
            match wait_for_limit(env, &mut store, &course, &chain)? {
                true => continue,
                false => return Ok(()),
            }
        }
        let Some(text) = chain.plan.text(&course.rules(&[])) else { return Ok(()) };
        let why = match type_step(env, &home, &store, &chain, text)? {
            Delivered::MovedOn => return Ok(()),
            // Whoever starts in its place goes on, or finds it expired.
            Delivered::No(_) if chain.client_pid != 0 && !process::is_alive(chain.client_pid) => return Ok(()),
            Delivered::No(why) => why,
        };
        let now = clock(env);
        let occasion = Occasion::Undelivered { why: &why };
        let same = |plan: &Plan| is_same_step(plan, &chain.plan);
        let met = store.meet(id, now, |plan, remaining| match same(plan) {
            true => course.meet(plan, &occasion, remaining, now),
            // It has moved on at the last moment: whatever was wrong is no longer of interest.
            false => course.meet(plan, &Occasion::Passed, remaining, now),
        })?;
        match met.map(|met| met.act) {
            Some(Act::TypeAgain) => {}
            Some(Act::Tell(message)) => {
                log.write(&format!("session {}: continuation failed: {message}", chain.plan.session));
                store.leave_word(id, &message)?;
                return Ok(());
            }
            _ => return Ok(()),
        }
    }
}

enum Delivered {
    /// The client's events have moved the plan on.
    MovedOn,
    /// It could not be typed, or nothing happened.
    No(String),
}

fn type_step(env: &Env, home: &Home, store: &Store, chain: &Chain, text: String) -> Result<Delivered, Error> {
    let Some(session) = SessionId::new(&chain.plan.session) else {
        return Ok(Delivered::No("the session has no id".to_owned()));
    };
    let record = SessionRecord::load(home, &session);
    let client_pid = env.client_pid.or(record.as_ref().and_then(|record| record.client_pid));
    let terminal = record.and_then(|record| record.terminal).or_else(|| Terminal::detect(env).ok());
    let Some(terminal) = terminal else { return Ok(Delivered::No("no terminal to type into".to_owned())) };
    let left = || Duration::from_millis(chain.plan.deadline.since(clock(env)));
    let order = Order {
        session,
        terminal,
        client_pid,
        text,
        want: Want::Idle,
        agents_may_ask: false,
        patience: left(),
        deadline: None,
    };
    let moved_on = || -> Result<bool, Error> {
        Ok(!store.chain(chain.id)?.is_some_and(|now| is_same_step(&now.plan, &chain.plan)))
    };
    // The client writes down which session it shows a moment after it has started it.
    while shows_another_session(env, home, &order) && !left().is_zero() && !moved_on()? {
        std::thread::sleep(LOOK_EVERY);
    }
    let unwanted = || Ok(moved_on()? || shows_another_session(env, home, &order));
    match submit_patiently(&Typist::new(env, home, &order), unwanted)? {
        Submitted::Yes => {}
        Submitted::Superseded if moved_on()? => return Ok(Delivered::MovedOn),
        Submitted::Superseded => return Ok(Delivered::No("the pane shows another session".to_owned())),
        Submitted::No(why) => return Ok(Delivered::No(why)),
    }
    while !left().is_zero() {
        if moved_on()? {
            return Ok(Delivered::MovedOn);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Delivered::No(format!("{:?} was typed, and the client did nothing", order.text)))
}

fn is_same_step(one: &Plan, other: &Plan) -> bool {
    (one.state, one.attempt, one.paused, &one.session, one.since)
        == (other.state, other.attempt, other.paused, &other.session, other.since)
}

/// Waits until the account's limit is lifted, and resumes the plan; returns whether that is so.
///
/// No event tells of it: the client's status line has said when it will be.
fn wait_for_limit(env: &Env, store: &mut Store, course: &Course, chain: &Chain) -> Result<bool, Error> {
    let limits = store.context(&chain.plan.session)?.and_then(|context| context.rate_limits);
    let Some(lifted) = limits.as_deref().and_then(lifted_at).filter(|_| course.settings.after_rate_limit) else {
        return Ok(false);
    };
    loop {
        if !store.chain(chain.id)?.is_some_and(|now| now.plan.paused) {
            return Ok(false);
        }
        let now = clock(env);
        if now >= lifted {
            let resumed = |plan: &Plan, remaining: &[String]| course.meet(plan, &Occasion::Resumed, remaining, now);
            return Ok(store.meet(chain.id, now, resumed)?.is_some_and(|met| met.act == Act::TypeAgain));
        }
        std::thread::sleep(LOOK_AGAIN.min(Duration::from_millis(lifted.since(now))));
    }
}

/// Returns when the limit is lifted that holds everything up: the last of those that are used up.
fn lifted_at(limits: &str) -> Option<Millis> {
    let limits: serde_json::Map<String, serde_json::Value> = serde_json::from_str(limits).ok()?;
    let resets = |limit: &serde_json::Value| limit.get("resets_at")?.as_u64();
    let used = |limit: &&serde_json::Value| limit.get("used_percentage").and_then(serde_json::Value::as_f64);
    let used_up = limits.values().filter(|limit| used(limit).is_some_and(|used| used >= 99.0)).filter_map(resets).max();
    let next = || limits.values().filter_map(resets).min();
    used_up.or_else(next).map(|seconds| Millis(seconds * 1000))
}

/// Returns the time now; never before the event that it all belongs to.
fn clock(env: &Env) -> Millis {
    env.now.max(surroundings::clock())
}
