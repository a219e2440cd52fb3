//! Continuation: continuing in a new session when the context is nearly full, without user input.
//!
//! Near the limit the model is asked for a handoff ([`PlanAction::Ask`]). Its reply is a [`Document`]. Then the session is
//! cleared, and the next one is prompted. A [`Plan`] is the state of this process. It changes only when an [`Occasion`]
//! reports that something has happened ([`Plan::meet`]), not because some time has passed.

mod document_sections;
mod find_handoff;
mod handoff_document;
mod loop_check;
pub mod notices;
mod occasion;
mod plan;
mod plan_state;
mod rate_limit;
mod texts_for_model;

pub use self::find_handoff::{MARKER_FILE, WrittenFile, WrittenKind, find_handoff};
pub use self::handoff_document::{Document, Malformed};
pub use self::occasion::{Occasion, TurnEnd, WindowUse};
pub use self::plan::{ATTEMPTS, EXPIRES_MS, HELD_UP_MS, LIFTS, Plan, PlanAction, PlanOutcome, PlanRules};
pub use self::plan_state::{Question, State};
pub use self::rate_limit::{is_rate_limit, lifted_at};
pub use self::texts_for_model::{HANDOFF_CHARS, ask, ask_again, ask_once_more, page};
