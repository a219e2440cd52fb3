//! `cargo xtask`: what cargo alone cannot do for this workspace.
//!
//! This package builds in seconds, because it is the first thing that an installation from a clone waits for. It depends
//! on the catalogue and the tables in code, never on the runtime or the store; tasks that do are in `xtask-workbench`,
//! which uses this library.

pub mod arguments;
pub mod codegen;
pub mod dist;
pub mod package;
pub mod release;
pub mod run;
pub mod test;
pub mod workspace;
