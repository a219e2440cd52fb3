//! A plan that pauses at the account's rate limit, types a text again that did not arrive, or is resumed by hand. When
//! the limit is lifted is decided in `rate_limit.rs`.
//!
//! What a prompt of the user does to a plan is in `Plan::prompted`.

use longhaul_core::Millis;

use super::{ATTEMPTS, LIFTS, Plan, PlanAction, PlanRules};
use crate::continuation::plan_state::{Question, State};

impl Plan {
    /// Waits for the account's rate limit: no step is tried until it is lifted.
    pub(super) fn hold_up(&mut self, now: Millis) -> PlanAction {
        if self.state.is_open() && !self.paused {
            self.paused = true;
            self.since = now;
            "the account's rate limit is reached".clone_into(&mut self.reason);
        }
        PlanAction::Nothing
    }

    /// Continues after the rate limit was lifted, at most [`LIFTS`] times in a round.
    pub(super) fn lifted(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if !self.paused || self.lifts >= LIFTS {
            return PlanAction::Nothing;
        }
        self.lifts += 1;
        self.carry_on(self.state, rules, now, "the account's rate limit is lifted")
    }

    /// Types the text of the step again, at most [`ATTEMPTS`] times.
    pub(super) fn try_again(&mut self, why: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
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
    pub(super) fn resume(&mut self, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
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
