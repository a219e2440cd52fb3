//! The optional worker: the viewer and an HTTP API, on this machine only.
//!
//! It reads what hooks have stored, and detects new records itself. Hooks and commands work without it.

mod api;
mod database;
mod embeddings;
mod model;
mod request_checks;
mod routes;
mod serve;
mod shapes;
mod stream;
mod watch;

pub use crate::serve::main;

#[cfg(test)]
mod tests;
