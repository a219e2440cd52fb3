#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod place;

mod lost;
mod refusal;

mod client_command;
mod layout;
mod memory_shortage;
mod window_command;

pub use crate::client_command::{Resume, model_name, own_id, resume};
pub use crate::layout::{TmuxSession, WindowPosition, opening_order, position};
pub use crate::lost::{LISTED_MS, RunningClient, Wanted, chosen, is_lost, last_server, newest_first};
pub use crate::memory_shortage::{MemoryState, Shortage, shortage};
pub use crate::place::{ServerId, SessionPlace, Window};
pub use crate::refusal::{Facts, FolderState, Refusal, refusal};
pub use crate::window_command::{escape_format, open_command};

#[cfg(test)]
mod tests;
