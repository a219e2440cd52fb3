//! Sync: the log of records that hosts exchange, and what a record does to the memory.
//!
//! An exchange uses it in this order: compare [`crate::SyncSelf::confirmed`] with the engine (`longhaul_sync::own_records`), and call
//! [`crate::Store::check_own_records`] if it says so; [`crate::Store::log_changes`]; `longhaul_sync::plan` with [`crate::Store::sync_heads`];
//! [`crate::Store::records_to_send`] and [`crate::Store::confirm_sent`] for each page; [`crate::Store::take_in_records`] for each fetched page;
//! [`crate::Store::records_that_wait`], [`crate::Store::damaged_ranges`] and [`crate::Store::take_in_waiting`];
//! [`crate::Store::records_to_erase`] and [`crate::Store::note_erased`]. It may end anywhere: every step is one transaction or several
//! small ones, and doing it again changes nothing.

mod apply;
pub(crate) mod circle;
mod content;
mod identity;
mod intake;
pub(crate) mod log;
mod scan;
pub(crate) mod send;
mod take_in;

pub use self::circle::{OwnCheck, SyncHost, SyncProject, SyncSelf};
pub use self::identity::from_host;
pub(crate) use self::identity::{HOST_NAME, HostFilter, name_of_host, row_is_forgotten};
pub use self::log::SyncCounts;
pub use self::scan::{Logged, Scan};
pub use self::take_in::TakenIn;
