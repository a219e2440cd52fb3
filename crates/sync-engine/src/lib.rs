//! Exchanges the records of the memory with other machines: the engines, and the exchange itself.
//!
//! No hook links this crate: hooks start `longhaul run-sync`.

mod commands;
mod engine;
mod engine_address;
mod exchange;
mod folder;
mod postgres;

pub use crate::commands::run;
pub use crate::engine::{Engine, EngineError, EngineHost, Overview, PageLimit, RecordPlace};
pub use crate::engine_address::{EngineAddress, without_password};
pub use crate::exchange::{ExchangeError, Exchanged, Participant, Progress, exchange, unlock};
pub use crate::folder::Folder;
pub use crate::postgres::{Postgres, PostgresAddress, TlsMode};

#[cfg(test)]
mod tests;
