//! Continuation: over the context limit without a person.
//!
//! Near the limit the model is asked for a handoff ([`Act::Ask`]); its reply is a [`Document`]. Then the session is
//! cleared and the next one prompted. A [`Plan`] says how far that has come. It moves only when an [`Occasion`] says
//! that something has happened ([`Plan::meet`]), never because some time has passed in the hope that it has.

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
