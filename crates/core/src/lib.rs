#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod catalog;
pub mod clock;
pub mod config;
mod env;
pub mod event;
pub mod hash;
pub mod json_text;
mod names;
pub mod private_tags;
pub mod record;
pub mod reply;
mod session;
pub mod text;

pub use crate::clock::{Millis, parse_timestamp};
pub use crate::config::Config;
pub use crate::env::{Env, Platform, may_receive_secret};
pub use crate::reply::Reply;
pub use crate::session::{AGENTS_WITH_SEVERAL_SESSIONS, OTHER_AGENTS, SessionId, Status, short_session};
pub use crate::text::{counted, grouped, one_line};

#[cfg(test)]
mod tests;
