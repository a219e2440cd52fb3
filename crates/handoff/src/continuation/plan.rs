//! How far a continuation has come, and what each occasion does to it.

mod ask_by_prompt;

use longhaul_core::Millis;

use crate::baton::TTL_MS;

use super::document::Document;
use super::find_handoff::{find_handoff, says_to_go_on};
use super::occasion::{Occasion, TurnEnd};
use super::state::State;
use super::words;

/// How often a text is typed before the plan fails.
pub const ATTEMPTS: u32 = 2;

/// After this long in one step a plan is dead, whoever was to carry it on, unless the step was given longer.
pub const EXPIRES_MS: u64 = 15 * 60 * 1000;

/// After this long a plan is dead that the account's limit holds up: a week, which is the longest limit, and a day.
pub const HELD_UP_MS: u64 = 8 * 24 * 60 * 60 * 1000;

/// How often a chain goes on by itself, in one round, after the account's limit was lifted.
pub const LIFTS: u32 = 3;

/// A chain of sessions that carry one task on, and where it stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The session that the chain has come to.
    pub session: String,
    /// Where it stands.
    pub state: State,
    /// How many rounds have begun.
    pub round: u32,
    /// What the handoff that was asked for must carry.
    pub nonce: String,
    /// When it was asked for.
    pub asked_at: Millis,
    /// The limits that have fired in this session.
    pub fired: Vec<f64>,
    /// Attempt number of this step, from 1.
    pub attempt: u32,
    /// When this step began.
    pub since: Millis,
    /// When it should be over.
    pub deadline: Millis,
    /// Whether the account's limit holds it up.
    pub paused: bool,
    /// How often it has gone on by itself, in this round, after that.
    pub lifts: u32,
    /// Whether the question was put as a prompt: then the turn that answers it is one of its own.
    pub by_prompt: bool,
    /// Where it failed, if it can go on from there.
    pub stuck_in: Option<State>,
    /// Why it stands where it stands.
    pub reason: String,
}

/// What holds for a plan, apart from itself.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRules<'a> {
    /// How full the context may get: shares of the window up to 1, tokens above; each asks once in a session.
    pub limits: &'a [f64],
    /// How many rounds a chain may have.
    pub max_rounds: u32,
    /// How long a step may take before it is tried again.
    pub step_ms: u64,
    /// What the new session is prompted with.
    pub prompt: &'a str,
    /// Whether there is a terminal to type into.
    pub can_type: bool,
    /// What was left to do in the rounds before, as [`Document::remaining`] gives it.
    pub remaining: &'a [String],
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAction {
    /// Nothing.
    Nothing,
    /// Keep the model going with this question.
    Ask(String),
    /// Keep this handoff, pass the baton, and clear.
    Clear(Document),
    /// Show the new session the handoff, and prompt it.
    Show,
    /// Type the step's text once more.
    TypeAgain,
    /// Tell the user.
    Tell(String),
}

/// What came of an occasion.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOutcome {
    /// The plan as it is now.
    pub plan: Plan,
    /// What is to be done.
    pub act: PlanAction,
}

impl Plan {
    /// Returns the plan of a session in which nothing has happened yet.
    pub fn new(session: impl Into<String>, now: Millis) -> Self {
        Self { session: session.into(), since: now, ..Self::default() }
    }

    /// Returns whether it waits for a person to carry it on.
    pub fn is_stuck(&self) -> bool {
        self.paused || (self.state == State::Failed && self.stuck_in.is_some())
    }

    /// Returns whether it waits for something to be typed.
    pub fn waits_for_typing(&self) -> bool {
        match self.state {
            State::Clearing | State::Prompting => true,
            // Once it was carried on, and until its prompt is there.
            State::Asked => !self.by_prompt && self.since > self.asked_at,
            State::Armed | State::Done | State::Failed | State::Cancelled => false,
        }
    }

    /// Returns what is to be typed in this step, if anything.
    pub fn text(&self, rules: &PlanRules<'_>) -> Option<String> {
        match self.state {
            State::Asked if self.asks_by_prompt() => Some(words::ask_by_prompt(&self.nonce)),
            State::Asked => Some(words::ask_again(&self.nonce)),
            State::Clearing => Some("/clear".to_owned()),
            State::Prompting => Some(rules.prompt.to_owned()),
            State::Armed | State::Done | State::Failed | State::Cancelled => None,
        }
    }

    /// Returns what the occasion makes of the plan, and what is to be done about it.
    pub fn meet(&self, occasion: &Occasion<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanOutcome {
        let mut plan = self.clone();
        plan.expire(now);
        let act = match occasion {
            Occasion::TurnEnded(turn) => plan.turn_ended(turn, rules, now),
            Occasion::Measured { fill, nonce } => plan.measured(*fill, nonce, rules, now),
            Occasion::Cleared { session } => plan.cleared(session, rules, now),
            Occasion::Restarted { session } => plan.restarted(session, rules, now),
            Occasion::Prompted { session, prompt } => plan.prompted(session, prompt, rules, now),
            Occasion::Ended { session, reason } => plan.ended(session, reason, now),
            Occasion::RateLimited => plan.hold_up(now),
            Occasion::Lifted => plan.lifted(rules, now),
            Occasion::Undelivered { why } => plan.try_again(why, rules, now),
            Occasion::Overtaken => plan.overtaken(now),
            Occasion::SwitchedOff => plan.cancel("continuation was switched off", now),
            Occasion::Passed => PlanAction::Nothing,
            Occasion::Resumed => plan.resume(rules, now),
            Occasion::Cancelled => plan.cancel("cancelled by hand", now),
        };
        PlanOutcome { plan, act }
    }

    fn enter(&mut self, state: State, now: Millis, reason: impl Into<String>) {
        self.state = state;
        self.since = now;
        self.deadline = now;
        self.attempt = 0;
        self.paused = false;
        self.stuck_in = None;
        self.reason = reason.into();
    }

    /// Begins a step that is to be over after `ms`.
    fn begin(&mut self, state: State, now: Millis, ms: u64, reason: &str) {
        self.enter(state, now, reason);
        self.attempt = 1;
        self.deadline = Millis(now.0 + ms);
    }

    fn fail(&mut self, now: Millis, why: &str) {
        let stuck = self.state;
        self.enter(State::Failed, now, format!("{stuck}: {why}"));
        self.stuck_in = Some(stuck);
    }

    fn cancel(&mut self, why: &str, now: Millis) -> PlanAction {
        if self.state.is_open() {
            self.enter(State::Cancelled, now, why);
        }
        self.stuck_in = None;
        PlanAction::Nothing
    }

    fn expire(&mut self, now: Millis) {
        if !self.state.is_open() {
            return;
        }
        let given = self.deadline.since(self.since);
        let (most, why) = match self.paused {
            true => (HELD_UP_MS, "the account's limit held it up for too long"),
            false if given > EXPIRES_MS => (given, "nothing happened in the time it had"),
            false => (EXPIRES_MS, "nothing happened for 15 minutes"),
        };
        if now.since(self.since) > most {
            self.fail(now, why);
        }
    }

    /// Returns how long the step that `/clear` ends may take: who is to type it by hand has as long as the baton lasts.
    fn time_to_clear(rules: &PlanRules<'_>) -> u64 {
        if rules.can_type { rules.step_ms } else { TTL_MS }
    }

    fn turn_ended(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Asked if turn.again || self.by_prompt => self.take(turn, rules, now),
            // The turn that asked, seen by a second hook: the answer is yet to come.
            State::Asked => PlanAction::Nothing,
            // The turn that answered, seen by a second hook.
            State::Clearing if turn.again && says_to_go_on(turn.reply, &self.nonce) => PlanAction::Nothing,
            // What was done in that turn is not in the handoff.
            State::Clearing | State::Prompting => self.cancel("a turn ran since the handoff", now),
            State::Armed | State::Done | State::Failed | State::Cancelled => {
                self.stuck_in = None;
                self.consider(turn, rules, now)
            }
        }
    }

    /// Asks for a handoff when the context is full enough, and nothing else runs.
    fn consider(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let Some(fill) = turn.fill.filter(|_| !turn.again && !turn.others_run && !turn.by_user) else {
            return PlanAction::Nothing;
        };
        let reached = rules.limits.iter().filter(|limit| fill.reaches(**limit) && !self.fired.contains(limit));
        let reached: Vec<f64> = reached.copied().collect();
        if reached.is_empty() {
            return PlanAction::Nothing;
        }
        self.fired.extend(reached);
        if self.round >= rules.max_rounds {
            let why = format!("{} rounds are enough: this session is not continued by itself", self.round);
            self.enter(State::Failed, now, &why);
            return PlanAction::Tell(why);
        }
        self.begin(State::Asked, now, EXPIRES_MS, "the context is nearly full");
        self.asked_at = now;
        self.by_prompt = false;
        turn.nonce.clone_into(&mut self.nonce);
        PlanAction::Ask(words::ask(fill, &self.nonce))
    }

    /// Takes the handoff that was asked for.
    fn take(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let handoff = match find_handoff(turn.reply, turn.files, &self.nonce, self.asked_at, now) {
            _ if turn.by_user => Err("the user stopped the turn".to_owned()),
            Ok(handoff) if !handoff.goes_on => Err("the handoff says that nothing is to go on".to_owned()),
            Ok(_) if turn.others_run => Err("something still runs in the background".to_owned()),
            handoff => handoff,
        };
        let handoff = match handoff {
            Ok(handoff) => handoff,
            Err(why) => {
                self.enter(State::Armed, now, why);
                return PlanAction::Nothing;
            }
        };
        let remaining = handoff.remaining();
        if let Some(round) = rules.remaining.iter().position(|earlier| *earlier == remaining) {
            let why = format!("a loop: as much is left to do as in round {}", round + 1);
            self.enter(State::Failed, now, &why);
            return PlanAction::Tell(why);
        }
        self.begin(State::Clearing, now, Self::time_to_clear(rules), "the handoff is there");
        self.round += 1;
        PlanAction::Clear(handoff)
    }

    fn cleared(&mut self, session: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Clearing => self.go_on_in(session, rules, now, "cleared"),
            // A user's own `/clear` would have ended the session first: this is the same one, told twice.
            State::Prompting if session == self.session => PlanAction::Show,
            State::Prompting => self.go_on_in(session, rules, now, "cleared; the session before never lived"),
            State::Asked => self.cancel("the user cleared", now),
            State::Armed | State::Done | State::Failed | State::Cancelled => PlanAction::Nothing,
        }
    }

    /// The client went down in between; the handoff is there, and whoever is in the pane now can go on.
    fn restarted(&mut self, session: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Clearing | State::Prompting => self.go_on_in(session, rules, now, "the client was started anew"),
            State::Asked => self.cancel("the client was started anew", now),
            State::Armed | State::Done | State::Failed | State::Cancelled => PlanAction::Nothing,
        }
    }

    fn go_on_in(&mut self, session: &str, rules: &PlanRules<'_>, now: Millis, reason: &str) -> PlanAction {
        if rules.can_type {
            self.begin(State::Prompting, now, rules.step_ms, reason);
        } else {
            self.enter(State::Done, now, "cleared; there is no terminal to type the prompt into");
        }
        session.clone_into(&mut self.session);
        self.fired.clear();
        PlanAction::Show
    }

    fn prompted(&mut self, session: &str, prompt: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let is_ours = session == self.session && self.text(rules).is_some_and(|text| is_same_prompt(&text, prompt));
        match self.state {
            State::Prompting if is_ours => {
                self.enter(State::Done, now, "the new session works");
                self.lifts = 0;
            }
            State::Asked if is_ours => self.question_arrived(now),
            State::Asked | State::Clearing | State::Prompting => {
                return self.cancel("the user typed something else", now);
            }
            State::Armed | State::Done | State::Failed | State::Cancelled => {
                // The session has gone on by other means: what its handoff says is no longer all.
                self.stuck_in = None;
                // Rounds are counted without a person, and here is one; our own prompt may come twice.
                if !is_same_prompt(rules.prompt, prompt) {
                    self.round = 0;
                }
            }
        }
        PlanAction::Nothing
    }

    fn ended(&mut self, session: &str, reason: &str, now: Millis) -> PlanAction {
        // That is what was typed for; the word of it may come after the new session's start.
        let expected = self.state == State::Clearing && reason == "clear";
        if expected || session != self.session {
            return PlanAction::Nothing;
        }
        self.cancel(&format!("the session ended: {reason}"), now)
    }

    fn hold_up(&mut self, now: Millis) -> PlanAction {
        if self.state.is_open() && !self.paused {
            self.paused = true;
            self.since = now;
            "the account's limit is used up".clone_into(&mut self.reason);
        }
        PlanAction::Nothing
    }

    fn lifted(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if !self.paused || self.lifts >= LIFTS {
            return PlanAction::Nothing;
        }
        self.lifts += 1;
        self.carry_on(self.state, rules, now, "the account's limit is lifted")
    }

    fn try_again(&mut self, why: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if !self.state.is_open() || self.paused {
            return PlanAction::Nothing;
        }
        if self.attempt >= ATTEMPTS {
            self.fail(now, why);
            return PlanAction::Tell(self.reason.clone());
        }
        self.attempt += 1;
        self.deadline = Millis(now.0 + rules.step_ms);
        why.clone_into(&mut self.reason);
        PlanAction::TypeAgain
    }

    fn resume(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let step = match (self.state, self.stuck_in) {
            (State::Failed, Some(stuck)) => stuck,
            // While the model writes the handoff there is nothing to carry on.
            (State::Asked, _) if !self.paused => return PlanAction::Nothing,
            (state, _) if state.is_open() => state,
            _ => return PlanAction::Nothing,
        };
        match step {
            // What was asked is long forgotten: the end of the next turn asks anew.
            State::Asked if self.state == State::Failed => {
                self.enter(State::Armed, now, "resumed by hand");
                self.fired.clear();
                PlanAction::Nothing
            }
            step => self.carry_on(step, rules, now, "resumed by hand"),
        }
    }

    /// Begins a step afresh; without a terminal it is for the user to type.
    fn carry_on(&mut self, step: State, rules: &PlanRules<'_>, now: Millis, reason: &str) -> PlanAction {
        self.begin(step, now, Self::time_to_clear(rules), reason);
        self.by_prompt = false;
        if rules.can_type { PlanAction::TypeAgain } else { PlanAction::Nothing }
    }
}

/// Terminals fold spaces and break lines.
fn is_same_prompt(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}
