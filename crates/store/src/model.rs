//! Better words from a model: what is worth asking for, what it has cost, and what came of it.
//!
//! A request is about one prompt of a session: its summary, its turns, and what was observed for it. Where that is too much
//! for one request, others follow. What a request may cost is set aside before, and what it did cost is counted after, in
//! the transaction that stores the answer: a worker that is killed at any moment has either stored an answer and counted
//! it, or left behind what it had set aside.

mod budget;
mod due;
mod jobs;
pub(crate) mod lines;
mod outcome;

pub use self::budget::{Spending, Tokens, Trouble};
pub use self::jobs::{JobTurn, ModelJob, Rest};
pub use self::outcome::{Cost, Retry, Reworded, Words};
