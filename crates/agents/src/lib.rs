#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent;
mod members;
mod payload;
mod resume;
mod table;
mod tool_call;
mod usage;

pub use crate::agent::{
    Agent, Alias, Condition, ConfigFile, ConfigShape, Dialog, EventRule, Feature, Folder, FolderVariable, PromptIds,
    SessionsAtOnce, Support, TimeoutUnit, UsageSource,
};
pub use crate::payload::{Payload, PayloadError};
pub use crate::resume::resume_command;
pub use crate::table::{ALL, find};
pub use crate::usage::{ReportedUse, newest_use};

#[cfg(test)]
mod tests;
