//! The optional worker: the viewer and an HTTP API, on this machine only.
//!
//! It reads what hooks have stored, and detects new records itself. Hooks and commands work without it.

mod api;
mod connections;
mod database;
mod embeddings;
mod ids;
mod model;
mod observed;
mod page;
mod params;
mod request_checks;
mod request_rate;
mod response;
mod routes;
mod serve;
mod shapes;
mod stream;
mod watch;
mod worker;

pub use crate::serve::main;

#[cfg(test)]
mod tests;
