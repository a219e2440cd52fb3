//! Continuation: continuing in a new session when the context is nearly full, without user input.
//!
//! Near the limit the model is asked for a handoff ([`PlanAction::Ask`]). Its reply is a [`Document`]. Then the session is
//! cleared, and the next one is prompted. A [`Plan`] is the state of this process. It changes only when an [`Occasion`]
//! reports that something has happened ([`Plan::meet`]), not because some time has passed.

mod document;
mod find_handoff;
mod occasion;
mod plan;
mod sections;
mod state;
mod words;

pub use self::document::{Document, Malformed};
pub use self::find_handoff::{MARKER_FILE, WrittenFile, WrittenKind, find_handoff};
pub use self::occasion::{Occasion, TurnEnd, WindowUse};
pub use self::plan::{ATTEMPTS, EXPIRES_MS, HELD_UP_MS, LIFTS, Plan, PlanAction, PlanOutcome, PlanRules};
pub use self::state::State;
pub use self::words::{ask, ask_again, ask_by_prompt, page};
