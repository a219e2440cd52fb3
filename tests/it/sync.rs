//! Sync with the real executables: several homes over a real PostgreSQL, and over a folder.

mod copies;
mod engine_trouble;
mod folder_trouble;
mod found_elsewhere;
mod hooks;
mod machine;
#[path = "../shared/postgres_server.rs"]
pub(crate) mod postgres_server;
mod proxy;
mod secrets;
mod sharing;
mod three_machines;
