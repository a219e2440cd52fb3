#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod budget;
pub mod catalog;
pub mod clock;
pub mod config;
mod count;
pub mod cut_text;
mod env;
pub mod event;
pub mod hash;
pub mod invisible;
pub mod json_text;
mod one_line;
pub mod private_tags;
pub mod record;
pub mod reply;
mod secret_address;
mod session_id;
mod status;
mod time;
mod timestamp;

pub use crate::config::Config;
pub use crate::count::{counted, grouped};
pub use crate::env::{Env, Platform};
pub use crate::one_line::one_line;
pub use crate::reply::Reply;
pub use crate::secret_address::may_receive_secret;
pub use crate::session_id::{AGENTS_WITH_SEVERAL_SESSIONS, OTHER_AGENTS, SessionId, short_session};
pub use crate::status::Status;
pub use crate::time::Millis;
pub use crate::timestamp::parse_timestamp;

#[cfg(test)]
mod tests;
