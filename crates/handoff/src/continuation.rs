//! Continuation: over the context limit without a person.
//!
//! Near the limit the model is asked for a handoff ([`Act::Ask`]); its reply is a [`Document`]. Then the session is
//! cleared and the next one prompted. A [`Plan`] says how far that has come. It moves only when an [`Occasion`] says
//! that something has happened ([`Plan::meet`]), never because some time has passed in the hope that it has.

mod document;
mod occasion;
mod plan;
mod words;

pub use self::document::{Document, MARKER_FILE, Malformed, Written, WrittenAs, find_handoff};
pub use self::occasion::{Fill, Occasion, TurnEnd};
pub use self::plan::{ATTEMPTS, Act, EXPIRES_MS, GRACE_MS, Outcome, Plan, Rules, State};
pub use self::words::{ask, ask_again, page};
