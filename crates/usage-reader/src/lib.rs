//! Reads the usage that transcripts report, for the sums of `longhaul_cost`.
//!
//! Linked by the command line and the worker, by no hook.

mod all_usage;
mod followed_file;
mod session_costs;
mod sum_json;
mod usage_files;

pub use crate::all_usage::AllUsage;
pub use crate::session_costs::SessionCosts;
pub use crate::sum_json::sum_json;
pub use crate::usage_files::{UsageFile, transcript_folders, usage_files};

#[cfg(test)]
mod tests;
