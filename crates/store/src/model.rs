//! Records that a model rewords: which prompts it is asked about, what that costs, and storing the answers.
//!
//! A request is about one prompt of a session: its summary, its turns and its observations. If that is too much for one
//! request, others follow. The tokens that a request may cost are reserved before it, and what it did cost is counted in the
//! transaction that stores the answer. A worker that is killed has either stored an answer and counted it, or left a
//! reservation behind.

mod budget;
mod due;
mod jobs;
pub(crate) mod lines;
mod outcome;

pub use self::budget::{Spending, Tokens, Trouble};
pub use self::jobs::{JobTurn, ModelJob, Rest};
pub use self::outcome::{Cost, Retry, Reworded, Words};
