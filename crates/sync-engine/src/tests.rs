//! The engines, with real folders and a real PostgreSQL.

#[path = "../../../tests/shared/postgres_server.rs"]
mod postgres_server;

mod conformance;
mod exchange;
mod folder;
mod postgres;
mod records;
mod tls;
