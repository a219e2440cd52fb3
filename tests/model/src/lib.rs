//! A model that does as the prompt says: the streaming Messages API on loopback, for the real client in tests; and the APIs of
//! Gemini and OpenAI, for other agents, with the Responses API for Codex.
//!
//! What it answers is written in the newest text of a person: `RUN:cargo test` makes it call Bash, `SAY:done` makes it say
//! "done"; see [`Script`]. A text that the tests do not write themselves is answered by a [`Rule`].

mod dialect;
mod http;
mod reply;
mod responses;
mod script;
mod server;
mod shown;
mod words;

pub use crate::reply::Reply;
pub use crate::script::{Rule, Script};
pub use crate::server::Model;
pub use crate::shown::Shown;

#[cfg(test)]
mod tests;
