#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod attention;
mod decision;
mod message;
mod request_bodies;
mod terminal_sequence;

pub use crate::attention::{Attention, Focus, TmuxClient, attention, attention_by_draft};
pub use crate::decision::{SessionNow, Suppression, Verdict, decide};
pub use crate::message::{Message, Subject, duration};
pub use crate::request_bodies::{ntfy_body, webhook_body};
pub use crate::terminal_sequence::{TerminalKind, terminal_sequence};

#[cfg(test)]
mod tests;
