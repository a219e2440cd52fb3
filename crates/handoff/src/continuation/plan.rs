//! How far a continuation has come, and what each occasion does to it.

use std::fmt;

use longhaul_core::Millis;

use super::document::{Document, find_handoff};
use super::occasion::{Occasion, TurnEnd};
use super::words;

/// How often a text is typed before the plan fails.
pub const ATTEMPTS: u32 = 2;

/// After this long in one step a plan is dead, whoever was to carry it on.
pub const EXPIRES_MS: u64 = 15 * 60 * 1000;

/// How long after a step's deadline a hook takes it that whoever waited for it is gone.
pub const GRACE_MS: u64 = 30 * 1000;

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// Nothing has been asked yet.
    #[default]
    Armed,
    /// The model was asked for a handoff.
    Asked,
    /// There is a handoff; the session is being cleared.
    Clearing,
    /// The new session is there and is being prompted.
    Prompting,
    /// The new session works.
    Done,
    /// It could not go on.
    Failed,
    /// A person stepped in.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::Armed, Self::Asked, Self::Clearing, Self::Prompting, Self::Done, Self::Failed, Self::Cancelled];

    /// Returns the state as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Armed => "armed",
            Self::Asked => "asked",
            Self::Clearing => "clearing",
            Self::Prompting => "prompting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads a stored state.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns whether something is under way.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Clearing | Self::Prompting)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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
    /// The how-manieth try of this step it is.
    pub attempt: u32,
    /// When this step began.
    pub since: Millis,
    /// When it should be over.
    pub deadline: Millis,
    /// Whether the account's limit holds it up.
    pub paused: bool,
    /// Where it failed, if it can go on from there.
    pub stuck_in: Option<State>,
    /// Why it stands where it stands.
    pub reason: String,
}

/// What holds for a plan, apart from itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules<'a> {
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
pub enum Act {
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
pub struct Outcome {
    /// The plan as it is now.
    pub plan: Plan,
    /// What is to be done.
    pub act: Act,
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
    pub fn is_typed(&self) -> bool {
        matches!(self.state, State::Clearing | State::Prompting)
    }

    /// Returns what is to be typed in this step, if anything.
    pub fn text(&self, rules: &Rules<'_>) -> Option<String> {
        match self.state {
            State::Asked => Some(words::ask_again(&self.nonce)),
            State::Clearing => Some("/clear".to_owned()),
            State::Prompting => Some(rules.prompt.to_owned()),
            State::Armed | State::Done | State::Failed | State::Cancelled => None,
        }
    }

    /// Returns what the occasion makes of the plan, and what is to be done about it.
    pub fn meet(&self, occasion: &Occasion<'_>, rules: &Rules<'_>, now: Millis) -> Outcome {
        let mut plan = self.clone();
        if plan.state.is_open() && !plan.paused && now.since(plan.since) > EXPIRES_MS {
            plan.fail(now, "nothing happened for 15 minutes");
        }
        let act = match occasion {
            Occasion::TurnEnded(turn) if plan.state == State::Asked => plan.take(turn, rules, now),
            Occasion::TurnEnded(turn) if !plan.state.is_open() => plan.consider(turn, rules, now),
            Occasion::TurnEnded(_) | Occasion::Passed => plan.look_at_the_clock(rules, now),
            Occasion::Cleared { session } => plan.cleared(session, rules, now),
            Occasion::Restarted { session } => plan.restarted(session, rules, now),
            Occasion::Prompted { session, prompt } => plan.prompted(session, prompt, rules, now),
            Occasion::Ended { reason } => plan.ended(reason, now),
            Occasion::RateLimited => {
                plan.paused |= plan.state.is_open();
                Act::Nothing
            }
            Occasion::Undelivered { why } => plan.try_again(why, rules, now),
            Occasion::Resumed => plan.resume(rules, now),
            Occasion::Cancelled => {
                if plan.state.is_open() {
                    plan.enter(State::Cancelled, now, "cancelled by hand");
                }
                Act::Nothing
            }
        };
        Outcome { plan, act }
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

    /// Asks for a handoff when the context is full enough, and nothing else runs.
    fn consider(&mut self, turn: &TurnEnd<'_>, rules: &Rules<'_>, now: Millis) -> Act {
        let Some(fill) = turn.fill.filter(|_| !turn.again && !turn.others_run && !turn.by_user) else {
            return Act::Nothing;
        };
        let reached = rules.limits.iter().filter(|limit| fill.reaches(**limit) && !self.fired.contains(limit));
        let reached: Vec<f64> = reached.copied().collect();
        if reached.is_empty() {
            return Act::Nothing;
        }
        self.fired.extend(reached);
        if self.round >= rules.max_rounds {
            let why = format!("{} rounds are enough: this session is not continued by itself", self.round);
            self.enter(State::Failed, now, &why);
            return Act::Tell(why);
        }
        self.begin(State::Asked, now, EXPIRES_MS, "the context is nearly full");
        self.asked_at = now;
        turn.nonce.clone_into(&mut self.nonce);
        Act::Ask(words::ask(fill, &self.nonce))
    }

    /// Takes the handoff that was asked for.
    fn take(&mut self, turn: &TurnEnd<'_>, rules: &Rules<'_>, now: Millis) -> Act {
        let handoff = match find_handoff(turn.reply, turn.files, &self.nonce, self.asked_at) {
            _ if turn.by_user => Err("the user stopped the turn".to_owned()),
            Ok(handoff) if !handoff.goes_on => Err("the handoff says that nothing is to go on".to_owned()),
            Ok(_) if turn.others_run => Err("something still runs in the background".to_owned()),
            handoff => handoff,
        };
        let handoff = match handoff {
            Ok(handoff) => handoff,
            Err(why) => {
                self.enter(State::Armed, now, why);
                return Act::Nothing;
            }
        };
        let remaining = handoff.remaining();
        if let Some(round) = rules.remaining.iter().position(|earlier| *earlier == remaining) {
            let why = format!("a loop: as much is left to do as in round {}", round + 1);
            self.enter(State::Failed, now, &why);
            return Act::Tell(why);
        }
        self.begin(State::Clearing, now, rules.step_ms, "the handoff is there");
        self.round += 1;
        Act::Clear(handoff)
    }

    fn cleared(&mut self, session: &str, rules: &Rules<'_>, now: Millis) -> Act {
        match self.state {
            State::Clearing => self.go_on_in(session, rules, now, "cleared"),
            State::Asked | State::Prompting => {
                self.enter(State::Cancelled, now, "the user cleared");
                Act::Nothing
            }
            State::Armed | State::Done | State::Failed | State::Cancelled => Act::Nothing,
        }
    }

    /// The client went down in between; the handoff is there, and whoever is in the pane now can go on.
    fn restarted(&mut self, session: &str, rules: &Rules<'_>, now: Millis) -> Act {
        match self.state {
            State::Clearing | State::Prompting => self.go_on_in(session, rules, now, "the client was started anew"),
            State::Asked => {
                self.enter(State::Cancelled, now, "the client was started anew");
                Act::Nothing
            }
            State::Armed | State::Done | State::Failed | State::Cancelled => Act::Nothing,
        }
    }

    fn go_on_in(&mut self, session: &str, rules: &Rules<'_>, now: Millis, reason: &str) -> Act {
        if rules.can_type {
            self.begin(State::Prompting, now, rules.step_ms, reason);
        } else {
            self.enter(State::Done, now, "cleared; there is no terminal to type the prompt into");
        }
        session.clone_into(&mut self.session);
        self.fired.clear();
        Act::Show
    }

    fn prompted(&mut self, session: &str, prompt: &str, rules: &Rules<'_>, now: Millis) -> Act {
        let is_ours = session == self.session && self.text(rules).is_some_and(|text| is_same_prompt(&text, prompt));
        match self.state {
            State::Prompting if is_ours => self.enter(State::Done, now, "the new session works"),
            // The question, asked once more after a pause.
            State::Asked if is_ours => self.paused = false,
            state if state.is_open() => self.enter(State::Cancelled, now, "the user typed something else"),
            // The session has gone on by other means: what its handoff says is no longer all.
            _ => self.stuck_in = None,
        }
        Act::Nothing
    }

    fn ended(&mut self, reason: &str, now: Millis) -> Act {
        // That is what was typed for.
        let expected = self.state == State::Clearing && reason == "clear";
        if self.state.is_open() && !expected {
            self.enter(State::Cancelled, now, format!("the session ended: {reason}"));
        }
        Act::Nothing
    }

    fn look_at_the_clock(&mut self, rules: &Rules<'_>, now: Millis) -> Act {
        let is_waited_for = rules.can_type && self.is_typed() && !self.paused;
        if is_waited_for && now.since(self.deadline) > GRACE_MS {
            return self.try_again("nobody carried it on", rules, now);
        }
        Act::Nothing
    }

    fn try_again(&mut self, why: &str, rules: &Rules<'_>, now: Millis) -> Act {
        if !self.state.is_open() || self.paused {
            return Act::Nothing;
        }
        if self.attempt >= ATTEMPTS {
            self.fail(now, why);
            return Act::Tell(self.reason.clone());
        }
        self.attempt += 1;
        self.deadline = Millis(now.0 + rules.step_ms);
        why.clone_into(&mut self.reason);
        Act::TypeAgain
    }

    fn resume(&mut self, rules: &Rules<'_>, now: Millis) -> Act {
        let step = match (self.state, self.stuck_in) {
            (State::Failed, Some(stuck)) => stuck,
            // While the model writes the handoff there is nothing to carry on.
            (State::Asked, _) if !self.paused => return Act::Nothing,
            (state, _) if state.is_open() => state,
            _ => return Act::Nothing,
        };
        match step {
            // What was asked is long forgotten: the end of the next turn asks anew.
            State::Asked if self.state == State::Failed => {
                self.enter(State::Armed, now, "resumed by hand");
                self.fired.clear();
                Act::Nothing
            }
            step => {
                self.begin(step, now, rules.step_ms, "resumed by hand");
                Act::TypeAgain
            }
        }
    }
}

/// Terminals fold spaces and break lines.
fn is_same_prompt(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}
