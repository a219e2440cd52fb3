//! Asking for a handoff by a prompt between two turns, and asking once more where the reply is none.
//!
//! At the Stop of a first turn without tool calls, it is unknown how full the context is. The module inside Claude Code
//! reports it a moment later, when the end of the turn can no longer be blocked.

use longhaul_core::Millis;

use super::{EXPIRES_MS, Plan, PlanAction, PlanRules};
use crate::continuation::occasion::{TurnEnd, WindowUse};
use crate::continuation::plan_state::State;
use crate::continuation::texts_for_model;

/// How the nonce of a second question ends.
const SECOND: &str = "-2";

impl Plan {
    /// Asks for a handoff by a prompt where the context has reached a limit. The turn has ended and cannot be blocked.
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

    /// Returns whether the question itself is a prompt, not only its repetition.
    pub(super) fn asks_by_prompt(&self) -> bool {
        self.since.0 == self.asked_at.0 + 1
    }

    /// Records that the question is a prompt: `since` is one millisecond after `asked_at`.
    fn mark_asked_by_prompt(&mut self) {
        self.asked_at = Millis(self.since.0.saturating_sub(1));
    }

    /// Asks once more, in the same way, where the reply was not the handoff that was asked for; then tells the user.
    pub(super) fn not_a_handoff(&mut self, why: &str, now: Millis) -> PlanAction {
        if self.is_second_question() {
            self.enter(State::Armed, now, why);
            return PlanAction::Notify(why.to_owned());
        }
        let was_prompt = self.by_prompt;
        self.begin(State::Asked, now, EXPIRES_MS, why);
        self.asked_at = now;
        self.by_prompt = false;
        self.nonce.push_str(SECOND);
        if was_prompt {
            self.mark_asked_by_prompt();
            return PlanAction::TypeAgain;
        }
        PlanAction::Ask(texts_for_model::ask_once_more(&self.nonce, why))
    }

    /// Returns whether this question repeats another one that was not answered with a handoff.
    pub(super) fn is_second_question(&self) -> bool {
        self.nonce.ends_with(SECOND)
    }

    /// Counts the limits of a session anew: its context has become small.
    pub(super) fn compacted(&mut self) -> PlanAction {
        if !self.state.is_open() {
            self.fired.clear();
        }
        PlanAction::Nothing
    }

    /// Gives up the text that was to be typed next, because something else has begun.
    pub(super) fn overtaken(&mut self, now: Millis) -> PlanAction {
        let why = "something else was begun meanwhile";
        if self.state == State::Asked && self.asks_by_prompt() && !self.by_prompt {
            // The question was not asked: the end of the next turn can ask it.
            self.enter(State::Armed, now, why);
            self.fired.clear();
            return PlanAction::Nothing;
        }
        self.cancel(why, now)
    }

    /// Records that the prompt with the question has arrived. The model then has the same time as after any question.
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
