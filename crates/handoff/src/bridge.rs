//! What the client's own module is told to do. It decides nothing itself.

use longhaul_core::budget::round_tokens;
use longhaul_core::config::Part;
use serde_json::{Value, json};

use crate::continuation::{Plan, PlanRules, State, WindowUse};

/// What the module does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeAction {
    /// Run `/clear`, and say when that is done.
    Clear,
    /// Compact the conversation.
    Compact,
    /// Submit a prompt.
    Submit(String),
    /// Show a line under the prompt; none where there is nothing to show.
    Status(Option<String>),
    /// Show the user a message for a moment.
    Toast(String),
}

impl BridgeAction {
    /// Returns it as the module reads it.
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

/// Returns the answer to the module, as it reads it.
pub fn answer(actions: &[BridgeAction]) -> Value {
    json!({ "actions": actions.iter().map(BridgeAction::to_json).collect::<Vec<_>>() })
}

/// Returns what the module is to do for a plan in `session`, if it waits for something.
pub fn step(plan: &Plan, rules: &PlanRules<'_>, session: &str) -> Option<BridgeAction> {
    if plan.paused || plan.session != session || !plan.waits_for_typing() {
        return None;
    }
    match plan.state {
        State::Clearing => Some(BridgeAction::Clear),
        _ => plan.text(rules).map(BridgeAction::Submit),
    }
}

/// Returns the name of the step that a plan is in: whoever is at it has taken that one, and not the next.
pub fn step_name(plan: &Plan) -> String {
    format!("{}:{}:{}", plan.state, plan.since.0, plan.attempt)
}

/// What there is to say under the prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatusFacts {
    /// How full the context is.
    pub fill: Option<WindowUse>,
    /// Bookmarks since the last prompt.
    pub bookmarks: u64,
    /// Turns of the session before that this one was shown.
    pub turns: u64,
    /// Records of memory that it was shown.
    pub records: u64,
    /// Records that its prompts have brought by themselves.
    pub recalled: u64,
    /// Whether a handoff waits for `/clear`.
    pub handoff_waits: bool,
}

impl StatusFacts {
    /// Returns the line, of the `parts` that are wanted; `None` where there is nothing to say.
    pub fn line(&self, parts: &[Part]) -> Option<String> {
        let said: Vec<String> = parts.iter().filter_map(|part| self.part(*part)).collect();
        (!said.is_empty()).then(|| said.join(" · "))
    }

    fn part(&self, part: Part) -> Option<String> {
        match part {
            Part::Context => self.fill.map(|fill| {
                let left = round_tokens(fill.window.saturating_sub(fill.tokens));
                format!("context {:.0} %, {left} left", fill.share() * 100.0)
            }),
            Part::Bookmarks => counted(self.bookmarks, "bookmark"),
            Part::Memory => {
                let began = match (counted(self.turns, "turn"), counted(self.records, "record")) {
                    (Some(turns), Some(records)) => Some(format!("began with {turns} and {records}")),
                    (turns, records) => turns.or(records).map(|shown| format!("began with {shown}")),
                };
                let recalled = counted(self.recalled, "passage").map(|passages| format!("recalled {passages}"));
                let said: Vec<String> = began.into_iter().chain(recalled).collect();
                (!said.is_empty()).then(|| said.join(", "))
            }
            Part::Handoff => self.handoff_waits.then(|| "a handoff waits for /clear".to_owned()),
        }
    }
}

fn counted(count: u64, what: &str) -> Option<String> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    (count > 0).then(|| longhaul_core::counted(count, what))
}
