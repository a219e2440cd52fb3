//! The actions of the plugin's module inside Claude Code, and the text of the line under the prompt. The module itself
//! makes no decisions.

use longhaul_core::text::round_tokens;
use serde_json::{Value, json};

use crate::continuation::{Plan, PlanRules, State, WindowUse};

/// An action of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeAction {
    /// Run `/clear`, and report when it is done.
    Clear,
    /// Compact the conversation.
    Compact,
    /// Submit a prompt.
    Submit(String),
    /// Show a line under the prompt; `None` removes the line.
    Status(Option<String>),
    /// Show the user a message for a short time.
    Toast(String),
}

impl BridgeAction {
    /// Returns the action in the JSON format of the module.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Clear => json!({ "do": "clear" }),
            Self::Compact => json!({ "do": "compact" }),
            Self::Submit(text) => json!({ "do": "submit", "text": text }),
            Self::Status(text) => json!({ "do": "status", "text": text }),
            Self::Toast(text) => json!({ "do": "toast", "text": text }),
        }
    }
}

/// Returns the answer to the module, in its JSON format.
pub fn answer(actions: &[BridgeAction]) -> Value {
    json!({ "actions": actions.iter().map(BridgeAction::to_json).collect::<Vec<_>>() })
}

/// Returns the action that the plan waits for in `session`, if any.
pub fn step(plan: &Plan, rules: &PlanRules<'_>, session: &str) -> Option<BridgeAction> {
    if plan.paused || plan.session != session || !plan.waits_for_typing() {
        return None;
    }
    match plan.state {
        State::Clearing => Some(BridgeAction::Clear),
        _ => plan.text(rules).map(BridgeAction::Submit),
    }
}

/// Returns the name of the plan's current step and attempt. A process that takes a step records this name, so that it does
/// not take the next one as well.
pub fn step_name(plan: &Plan) -> String {
    format!("{}:{}:{}", plan.state, plan.since.0, plan.attempt)
}

/// The share of the context from which on its use is shown under the prompt.
const NEARLY_FULL: f64 = 0.9;

/// The facts for the line under the prompt. Claude Code shows it with a warning sign, so it names problems only.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct StatusFacts {
    /// How full the context is; `None` where that is unknown, or shown already.
    pub fill: Option<WindowUse>,
    /// Whether a handoff waits for the user's `/clear`.
    pub handoff_waits: bool,
    /// What cannot be done in this session.
    pub problems: Vec<String>,
}

impl StatusFacts {
    /// Returns the line; `None` where there is no problem.
    pub fn line(&self) -> Option<String> {
        let context = self.fill.filter(|fill| fill.share() >= NEARLY_FULL).map(|fill| {
            let left = round_tokens(fill.window.saturating_sub(fill.tokens));
            format!("context {:.0} %, {left} left", fill.share() * 100.0)
        });
        let handoff = self.handoff_waits.then(|| "a handoff waits for /clear".to_owned());
        let said: Vec<String> = context.into_iter().chain(handoff).chain(self.problems.iter().cloned()).collect();
        (!said.is_empty()).then(|| said.join(" · "))
    }
}
