//! The question for a handoff, put as a prompt between two turns.
//!
//! At the Stop of a first turn without tool calls nothing tells how full the context is. The client's module reports it a
//! moment later, when the end of the turn can no longer be held up.

use longhaul_core::Millis;

use super::{EXPIRES_MS, Plan, PlanAction, PlanRules};
use crate::continuation::occasion::{TurnEnd, WindowUse};
use crate::continuation::state::State;

impl Plan {
    /// Asks for a handoff with a prompt: the turn is over, so that its end cannot be held up any more.
    pub(super) fn measured(&mut self, fill: WindowUse, nonce: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
        if self.state.is_open() {
            return PlanAction::Nothing;
        }
        let turn = TurnEnd { fill: Some(fill), nonce, ..TurnEnd::default() };
        let act = self.consider(&turn, rules, now);
        if matches!(act, PlanAction::Ask(_)) {
            self.mark_asked_by_prompt();
        }
        act
    }

    /// Returns whether the question itself is put as a prompt, and not only repeated by one.
    pub(super) fn asks_by_prompt(&self) -> bool {
        self.since.0 == self.asked_at.0 + 1
    }

    /// Notes that the question is put as a prompt: the step begins a millisecond after it.
    fn mark_asked_by_prompt(&mut self) {
        self.asked_at = Millis(self.since.0.saturating_sub(1));
    }

    /// Gives up what was to be typed or submitted next, because the user has begun something else.
    pub(super) fn overtaken(&mut self, now: Millis) -> PlanAction {
        let why = "something else was begun meanwhile";
        if self.state == State::Asked && self.asks_by_prompt() && !self.by_prompt {
            // The question was never put: the next turn's end may ask it.
            self.enter(State::Armed, now, why);
            self.fired.clear();
            return PlanAction::Nothing;
        }
        self.cancel(why, now)
    }

    /// Notes that the prompt with the question has arrived: from here on the model has as long as for one at a turn's end.
    pub(super) fn question_arrived(&mut self, now: Millis) {
        let is_first = self.asks_by_prompt();
        let reason = if is_first { "asked by a prompt" } else { "asked once more" };
        self.begin(State::Asked, now, EXPIRES_MS, reason);
        self.by_prompt = true;
        if is_first {
            self.mark_asked_by_prompt();
        }
    }
}
