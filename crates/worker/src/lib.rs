//! The optional worker: what every session did, in a browser and over HTTP, on this machine only.
//!
//! It reads what hooks have stored and notices by itself when there is more. Nothing waits for it, nothing needs it.

mod answer;
mod api;
mod bucket;
mod database;
mod embeddings;
mod guard;
mod ids;
mod model;
mod observed;
mod page;
mod params;
mod routes;
mod serve;
mod shapes;
mod stream;
mod watch;
mod worker;

pub use crate::serve::main;

#[cfg(test)]
mod tests;
