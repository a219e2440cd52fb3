//! The optional worker: what every session did, in a browser and over HTTP, on this machine only.
//!
//! It reads what hooks have stored and notices by itself when there is more. Nothing waits for it, nothing needs it.

mod api;
mod database;
mod embeddings;
mod ids;
mod model;
mod observed;
mod page;
mod params;
mod rate_limit;
mod request_checks;
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
