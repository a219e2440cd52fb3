#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent;
mod payload;
mod table;

pub use crate::agent::{
    Agent, Aliases, Condition, ConfigFile, ConfigShape, Dialog, EventRule, Feature, Folder, FolderVariable,
    ReportedUse, Support, UsageSource, newest_use, resume_command,
};
pub use crate::payload::{Payload, PayloadError};
pub use crate::table::{ALL, find};

#[cfg(test)]
mod tests;
