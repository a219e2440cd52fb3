//! Continuation: continuing in a new session when the context is nearly full, without user input.
//!
//! Near the limit the model is asked for a handoff ([`PlanAction::Ask`]). Its reply is a [`Document`]. Then the session is
//! cleared, and the next one is prompted. A [`Plan`] is the state of this process. It changes only when an [`Occasion`]
//! reports that something has happened ([`Plan::meet`]), not because some time has passed.

mod document;
mod occasion;
pub mod texts;

use std::fmt;

use longhaul_core::Millis;

use self::document::says_to_go_on;
use crate::baton::TTL_MS;

pub use self::document::{Document, MARKER_FILE, Malformed, WrittenFile, WrittenKind, find_handoff};
pub use self::occasion::{Occasion, TurnEnd, WindowUse, is_rate_limit, lifted_at};
pub use self::texts::{HANDOFF_CHARS, ask, ask_again, ask_once_more, page};

// The states of a plan, and how it asks for a handoff, as they are stored.

longhaul_core::named! {
    /// The state of a plan.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum State {
        /// No handoff has been asked for.
        #[default]
        Armed = "armed",
        /// The model was asked for a handoff.
        Asked = "asked",
        /// The handoff has arrived, and the session is being cleared.
        Clearing = "clearing",
        /// The new session has started and is being prompted.
        Prompting = "prompting",
        /// The new session works.
        Done = "done",
        /// The continuation failed.
        Failed = "failed",
        /// The user took over, or cancelled it.
        Cancelled = "cancelled",
    }
}

impl State {
    /// Returns whether a continuation is in progress.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Clearing | Self::Prompting)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The stored name of this state says nothing to a user.
        f.write_str(if *self == Self::Armed { "ready" } else { self.as_str() })
    }
}

/// How a handoff is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Question {
    /// At the end of a turn, which then goes on and answers it.
    #[default]
    AtTurnEnd,
    /// By a prompt that has not arrived yet.
    PromptToType,
    /// By a prompt that has arrived. The turn that it began answers it.
    Prompt,
    /// By a prompt that reminds the model of the question after a pause, and that has not arrived yet.
    ReminderToType,
    /// By such a reminder that has arrived.
    Reminder,
}

impl Question {
    const ALL: [Self; 5] = [Self::AtTurnEnd, Self::PromptToType, Self::Prompt, Self::ReminderToType, Self::Reminder];

    /// Returns the stored number.
    pub fn number(self) -> i64 {
        match self {
            Self::AtTurnEnd => 0,
            Self::Prompt => 1,
            Self::PromptToType => 2,
            Self::Reminder => 3,
            Self::ReminderToType => 4,
        }
    }

    /// Returns the question with the stored number `number`.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.number() == number)
    }

    /// Returns whether the question waits to be typed.
    pub fn is_to_type(self) -> bool {
        matches!(self, Self::PromptToType | Self::ReminderToType)
    }

    /// Returns whether a prompt has asked, so that a turn of its own answers.
    pub fn is_asked_by_prompt(self) -> bool {
        matches!(self, Self::Prompt | Self::Reminder)
    }
}

// The state of a continuation, how each occasion changes it, how often the text of a step is typed, and how often it
// resumes after the account's rate limit.

/// The number of times that a text is typed before the plan fails.
pub const ATTEMPTS: u32 = 2;

/// The time after which a plan fails in one step, in milliseconds, unless the step was given more time.
pub const EXPIRES_MS: u64 = 15 * 60 * 1000;

/// The time after which a plan fails that waits for the account's rate limit, in milliseconds. The longest limit is a week;
/// a day is added.
pub const HELD_UP_MS: u64 = 8 * 24 * 60 * 60 * 1000;

/// Why no handoff is asked for although the context is nearly full: `/clear` would end what runs.
const HELD_BACK: &str = "subagents still run in the background; a turn that ends after them asks for the handoff";

/// The number of times in one round that a chain resumes automatically after the account's rate limit was lifted.
pub const LIFTS: u32 = 3;

/// A chain of sessions that continue one task, and the state of its continuation.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The id of the chain's newest session.
    pub session: String,
    /// The state.
    pub state: State,
    /// The number of rounds that have begun. A round is one handoff from a session to the next.
    pub round: u32,
    /// The nonce that the handoff must contain.
    pub nonce: String,
    /// The time at which the handoff was asked for.
    pub asked_at: Millis,
    /// The limits that have already asked for a handoff in this session.
    pub fired: Vec<f64>,
    /// Attempt number of this step, from 1.
    pub attempt: u32,
    /// The time at which this step began.
    pub since: Millis,
    /// The time at which this step should be complete.
    pub deadline: Millis,
    /// Whether the plan waits for the account's rate limit.
    pub paused: bool,
    /// The number of times in this round that it resumed automatically after the rate limit was lifted.
    pub lifts: u32,
    /// How the handoff was asked for last.
    pub question: Question,
    /// The state in which it failed, if it can be resumed there.
    pub stuck_in: Option<State>,
    /// The reason for the current state.
    pub reason: String,
}

/// The settings and facts that a plan depends on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlanRules<'a> {
    /// The limits: shares of the window up to 1, numbers of tokens above. Each asks once in a session.
    pub limits: &'a [f64],
    /// The maximum number of rounds of a chain.
    pub max_rounds: u32,
    /// The time after which a step is tried again, in milliseconds.
    pub step_ms: u64,
    /// The prompt for the new session.
    pub prompt: &'a str,
    /// Whether there is a terminal to type into.
    pub can_type: bool,
    /// The remaining work of each earlier round, as [`Document::remaining`] returns it.
    pub remaining: &'a [String],
}

impl<'a> PlanRules<'a> {
    /// Returns the rules with the default settings and with `prompt` for the new session, where text can be typed.
    pub fn new(prompt: &'a str) -> Self {
        Self { limits: &[0.75], max_rounds: 10, step_ms: 60_000, prompt, can_type: true, remaining: &[] }
    }
}

/// The action that an occasion requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAction {
    /// Nothing.
    Nothing,
    /// Ask the model for a handoff, with this text.
    Ask(String),
    /// Store this handoff, leave a baton, and clear the session.
    Clear(Document),
    /// Show the handoff to the new session, and prompt it.
    Show,
    /// Type the text of the current step again.
    TypeAgain,
    /// Show this message to the user.
    Notify(String),
}

/// The result of an occasion.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlanOutcome {
    /// The changed plan.
    pub plan: Plan,
    /// The action that is required.
    pub act: PlanAction,
}

impl PlanOutcome {
    /// Returns the outcome that `act` is required, and that the plan has become `plan`.
    pub fn new(plan: Plan, act: PlanAction) -> Self {
        Self { plan, act }
    }
}

impl Plan {
    /// Returns the plan of a new session.
    pub fn new(session: impl Into<String>, now: Millis) -> Self {
        Self { session: session.into(), since: now, ..Self::default() }
    }

    /// Returns whether the plan waits for the user to resume it.
    pub fn is_stuck(&self) -> bool {
        self.paused || (self.state == State::Failed && self.stuck_in.is_some())
    }

    /// Returns whether the plan waits for a text to be typed.
    pub fn waits_for_typing(&self) -> bool {
        match self.state {
            State::Clearing | State::Prompting => true,
            State::Asked => self.question.is_to_type(),
            State::Armed | State::Done | State::Failed | State::Cancelled => false,
        }
    }

    /// Returns the text to type in this step, if any.
    pub fn text(&self, rules: &PlanRules<'_>) -> Option<String> {
        match self.state {
            State::Asked => Some(match self.question {
                Question::PromptToType | Question::Prompt if self.is_second_question() => {
                    texts::ask_once_more(&self.nonce, &self.reason)
                }
                Question::PromptToType | Question::Prompt => texts::ask(&self.nonce),
                Question::AtTurnEnd | Question::ReminderToType | Question::Reminder => texts::ask_again(&self.nonce),
            }),
            State::Clearing => Some("/clear".to_owned()),
            State::Prompting => Some(rules.prompt.to_owned()),
            State::Armed | State::Done | State::Failed | State::Cancelled => None,
        }
    }

    /// Returns the plan as `occasion` changes it, and the action that is required.
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
            Occasion::Compacted => plan.compacted(),
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

    /// Begins a step that should be complete after `ms` milliseconds.
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
            true => (HELD_UP_MS, "the account's rate limit lasted too long"),
            false if given > EXPIRES_MS => (given, "nothing happened in the time allowed"),
            false => (EXPIRES_MS, "nothing happened for 15 minutes"),
        };
        if now.since(self.since) > most {
            self.fail(now, why);
        }
    }

    /// Returns the time for the step that ends with `/clear`. A user who types it has as long as the baton is valid.
    fn time_to_clear(rules: &PlanRules<'_>) -> u64 {
        if rules.can_type { rules.step_ms } else { TTL_MS }
    }

    fn turn_ended(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Asked if turn.again || self.question.is_asked_by_prompt() => self.take(turn, rules, now),
            // A second hook reports the turn that asked. The answer has not come yet.
            State::Asked => PlanAction::Nothing,
            // A second hook reports the turn that answered.
            State::Clearing if turn.again && says_to_go_on(turn.reply, &self.nonce) => PlanAction::Nothing,
            // The work of that turn is not in the handoff.
            State::Clearing | State::Prompting => self.cancel("a turn ran since the handoff", now),
            State::Armed | State::Done | State::Failed | State::Cancelled => {
                self.stuck_in = None;
                self.consider(turn, rules, now)
            }
        }
    }

    /// Asks for a handoff where the context has reached a limit and nothing else is running.
    fn consider(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let Some(fill) = turn.fill.filter(|_| !turn.again && !turn.by_user) else { return PlanAction::Nothing };
        let reached = rules.limits.iter().filter(|limit| fill.reaches(**limit) && !self.fired.contains(limit));
        let reached: Vec<f64> = reached.copied().collect();
        if reached.is_empty() {
            return PlanAction::Nothing;
        }
        if turn.others_run {
            return self.hold_back(now);
        }
        self.fired.extend(reached);
        if self.round >= rules.max_rounds {
            let why =
                format!("the maximum of {} rounds is reached: this session is not continued automatically", self.round);
            self.enter(State::Failed, now, &why);
            return PlanAction::Notify(why);
        }
        self.begin(State::Asked, now, EXPIRES_MS, "the context is nearly full");
        self.asked_at = now;
        self.question = Question::AtTurnEnd;
        turn.nonce.clone_into(&mut self.nonce);
        PlanAction::Ask(texts::ask(&self.nonce))
    }

    /// Records why no handoff is asked for. The user is told once.
    fn hold_back(&mut self, now: Millis) -> PlanAction {
        if self.reason == HELD_BACK {
            return PlanAction::Nothing;
        }
        self.enter(State::Armed, now, HELD_BACK);
        PlanAction::Notify(HELD_BACK.to_owned())
    }

    /// Reads the handoff that was asked for, and begins to clear.
    fn take(&mut self, turn: &TurnEnd<'_>, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let handoff = match find_handoff(turn.reply, turn.files, &self.nonce, self.asked_at, now) {
            _ if turn.by_user => {
                self.enter(State::Armed, now, "the user stopped the turn");
                return PlanAction::Nothing;
            }
            Err(why) => return self.not_a_handoff(&why, turn, now),
            Ok(handoff) if !handoff.goes_on => {
                self.enter(State::Armed, now, "the handoff says not to continue");
                return PlanAction::Nothing;
            }
            Ok(_) if turn.others_run => {
                self.fired.clear();
                return self.hold_back(now);
            }
            Ok(handoff) => handoff,
        };
        if let Some(round) = round_with_same_work(&handoff.remaining(), rules.remaining) {
            let why = format!("a loop: the same work remains as in round {round}");
            self.enter(State::Failed, now, &why);
            return PlanAction::Notify(why);
        }
        self.begin(State::Clearing, now, Self::time_to_clear(rules), "the handoff has arrived");
        self.round += 1;
        PlanAction::Clear(handoff)
    }

    fn cleared(&mut self, session: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Clearing => self.go_on_in(session, rules, now, "cleared"),
            // The same event, reported twice: a `/clear` by the user would have ended the session first.
            State::Prompting if session == self.session => PlanAction::Show,
            State::Prompting => self.go_on_in(session, rules, now, "cleared; the session before was never used"),
            State::Asked => self.cancel("the user cleared", now),
            State::Armed | State::Done | State::Failed | State::Cancelled => PlanAction::Nothing,
        }
    }

    /// Continues in the session of a client that was started again. The handoff exists already.
    fn restarted(&mut self, session: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        match self.state {
            State::Clearing | State::Prompting => self.go_on_in(session, rules, now, "the client was started again"),
            State::Asked => self.cancel("the client was started again", now),
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
                // The user continued the session: its handoff is no longer complete.
                self.stuck_in = None;
                // Rounds are counted while the user does nothing. The plan's own prompt may come twice.
                if !is_same_prompt(rules.prompt, prompt) {
                    self.round = 0;
                }
            }
        }
        PlanAction::Nothing
    }

    fn ended(&mut self, session: &str, reason: &str, now: Millis) -> PlanAction {
        // The typed `/clear` ends the session. This event may come after the start of the new session.
        let expected = self.state == State::Clearing && reason == "clear";
        if expected || session != self.session {
            return PlanAction::Nothing;
        }
        self.cancel(&format!("the session ended: {reason}"), now)
    }
}

/// Returns whether two prompts differ in white space only. Terminals change spaces and line breaks.
fn is_same_prompt(first: &str, other: &str) -> bool {
    first.split_whitespace().eq(other.split_whitespace())
}

// Asking for a handoff by a prompt between two turns, and asking once more where the reply is none.
//
// At the Stop of a first turn without tool calls, it is unknown how full the context is. The module inside Claude Code
// reports it a moment later, when the end of the turn can no longer be blocked.

/// How the nonce of a second question ends.
const SECOND: &str = "-2";

/// Maximum time between the beginning of a hook and what another one for the same event decides, in milliseconds.
const SAME_EVENT_MS: u64 = 5_000;

impl Plan {
    /// Asks for a handoff by a prompt where the context has reached a limit. The turn has ended and cannot be blocked.
    pub(crate) fn measured(&mut self, fill: WindowUse, nonce: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if self.state.is_open() {
            return PlanAction::Nothing;
        }
        let turn = TurnEnd { fill: Some(fill), nonce, ..TurnEnd::default() };
        let act = self.consider(&turn, rules, now);
        if matches!(act, PlanAction::Ask(_)) {
            self.question = Question::PromptToType;
        }
        act
    }

    /// Asks once more, in the same way, where the reply was not the handoff that was asked for; then tells the user.
    fn not_a_handoff(&mut self, why: &str, turn: &TurnEnd<'_>, now: Millis) -> PlanAction {
        if self.is_second_question() {
            if now < self.asked_at && self.asked_at.since(now) < SAME_EVENT_MS {
                // A second hook reports the turn that has led to this question. It began before the question was asked.
                return PlanAction::Nothing;
            }
            self.enter(State::Armed, now, why);
            return PlanAction::Notify(why.to_owned());
        }
        self.begin(State::Asked, now, EXPIRES_MS, why);
        self.asked_at = turn.decided_at.unwrap_or(now);
        self.nonce.push_str(SECOND);
        if self.question.is_asked_by_prompt() {
            self.question = Question::PromptToType;
            return PlanAction::TypeAgain;
        }
        PlanAction::Ask(texts::ask_once_more(&self.nonce, why))
    }

    /// Returns whether this question repeats another one that was not answered with a handoff.
    fn is_second_question(&self) -> bool {
        self.nonce.ends_with(SECOND)
    }

    /// Counts the limits of a session anew: its context has become small.
    pub(crate) fn compacted(&mut self) -> PlanAction {
        if !self.state.is_open() {
            self.fired.clear();
        }
        PlanAction::Nothing
    }

    /// Gives up the text that was to be typed next, because something else has begun.
    fn overtaken(&mut self, now: Millis) -> PlanAction {
        let why = "something else was begun meanwhile";
        if self.state == State::Asked && self.question == Question::PromptToType {
            // The question was not asked: the end of the next turn can ask it.
            self.enter(State::Armed, now, why);
            self.fired.clear();
            return PlanAction::Nothing;
        }
        self.cancel(why, now)
    }

    /// Records that the prompt with the question has arrived. The model then has the same time as after any question.
    fn question_arrived(&mut self, now: Millis) {
        let (question, reason) = match self.question {
            Question::PromptToType | Question::Prompt => (Question::Prompt, "asked by a prompt"),
            Question::AtTurnEnd | Question::ReminderToType | Question::Reminder => {
                (Question::Reminder, "asked once more")
            }
        };
        self.begin(State::Asked, now, EXPIRES_MS, reason);
        self.question = question;
    }
}

// A plan that pauses at the account's rate limit, types a text again that did not arrive, or is resumed by hand. When
// the limit is lifted is decided in `occasion.rs`.

impl Plan {
    /// Waits for the account's rate limit: no step is tried until it is lifted.
    fn hold_up(&mut self, now: Millis) -> PlanAction {
        if self.state.is_open() && !self.paused {
            self.paused = true;
            self.since = now;
            "the account's rate limit is reached".clone_into(&mut self.reason);
        }
        PlanAction::Nothing
    }

    /// Continues after the rate limit was lifted, at most [`LIFTS`] times in a round.
    pub(crate) fn lifted(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if !self.paused || self.lifts >= LIFTS {
            return PlanAction::Nothing;
        }
        self.lifts += 1;
        self.carry_on(self.state, rules, now, "the account's rate limit is lifted")
    }

    /// Types the text of the step again, at most [`ATTEMPTS`] times.
    fn try_again(&mut self, why: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if !self.state.is_open() || self.paused {
            return PlanAction::Nothing;
        }
        if self.attempt >= ATTEMPTS {
            self.fail(now, why);
            return PlanAction::Notify(self.reason.clone());
        }
        self.attempt += 1;
        self.deadline = Millis(now.0 + rules.step_ms);
        // The text of a second question contains its reason.
        if !self.is_second_question() || self.state != State::Asked {
            why.clone_into(&mut self.reason);
        }
        PlanAction::TypeAgain
    }

    /// Continues where the plan is stuck, because the user asked for it.
    pub(crate) fn resume(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        let step = match (self.state, self.stuck_in) {
            (State::Failed, Some(stuck)) => stuck,
            // While the model writes the handoff, there is nothing to resume.
            (State::Asked, _) if !self.paused => return PlanAction::Nothing,
            (state, _) if state.is_open() => state,
            _ => return PlanAction::Nothing,
        };
        match step {
            // The question is too old: the end of the next turn asks again.
            State::Asked if self.state == State::Failed => {
                self.enter(State::Armed, now, "resumed by hand");
                self.fired.clear();
                PlanAction::Nothing
            }
            step => self.carry_on(step, rules, now, "resumed by hand"),
        }
    }

    /// Begins a step again. Without a terminal, the user has to type its text.
    fn carry_on(&mut self, step: State, rules: &PlanRules<'_>, now: Millis, reason: &str) -> PlanAction {
        self.begin(step, now, Self::time_to_clear(rules), reason);
        self.question = Question::ReminderToType;
        if rules.can_type { PlanAction::TypeAgain } else { PlanAction::Nothing }
    }
}

// The check that a chain does not go in circles: whether the same work remains as after an earlier round.

impl Document {
    /// Returns the remaining work in a normalized form, by which two handoffs can be compared.
    ///
    /// It is the section "Remaining", or the whole body where that section is missing or empty.
    pub fn remaining(&self) -> String {
        let remaining = normalize(self.section("Remaining").unwrap_or_default());
        if remaining.is_empty() { normalize(&self.body) } else { remaining }
    }
}

/// Returns the number of the round, from 1, after which the same work remained; `earlier` has that of every round so far.
fn round_with_same_work(remaining: &str, earlier: &[String]) -> Option<usize> {
    earlier.iter().position(|task| task == remaining).map(|index| index + 1)
}

/// Returns `text` without list markers, extra white space and differences in case.
fn normalize(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '•']).trim_start();
        let line = line.strip_prefix("[ ]").or_else(|| line.strip_prefix("[x]")).unwrap_or(line);
        line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
