//! Asking for a handoff by a prompt between two turns, and asking once more where the reply is none.
//!
//! At the Stop of a first turn without tool calls, it is unknown how full the context is. The module inside Claude Code
//! reports it a moment later, when the end of the turn can no longer be blocked.

use longhaul_core::Millis;

use super::{EXPIRES_MS, Plan, PlanAction, PlanRules};
use crate::continuation::occasion::{TurnEnd, WindowUse};
use crate::continuation::plan_state::{Question, State};
use crate::continuation::texts_for_model;

/// How the nonce of a second question ends.
const SECOND: &str = "-2";

/// Maximum time between the beginning of a hook and what another one for the same event decides, in milliseconds.
const SAME_EVENT_MS: u64 = 5_000;

impl Plan {
    /// Asks for a handoff by a prompt where the context has reached a limit. The turn has ended and cannot be blocked.
    pub(super) fn measured(&mut self, fill: WindowUse, nonce: &str, rules: &PlanRules<'_>, now: Millis) -> PlanAction {
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
    pub(super) fn not_a_handoff(&mut self, why: &str, turn: &TurnEnd<'_>, now: Millis) -> PlanAction {
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
        if self.state == State::Asked && self.question == Question::PromptToType {
            // The question was not asked: the end of the next turn can ask it.
            self.enter(State::Armed, now, why);
            self.fired.clear();
            return PlanAction::Nothing;
        }
        self.cancel(why, now)
    }

    /// Records that the prompt with the question has arrived. The model then has the same time as after any question.
    pub(super) fn question_arrived(&mut self, now: Millis) {
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
