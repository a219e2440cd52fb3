#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod ledger;
mod price;
mod reader;
mod report;
mod usage_line;

pub use crate::ledger::{Ledger, ProjectIndex};
pub use crate::price::{Cost, PRICES_DATE, Prices, Tokens};
pub use crate::reader::{AllUsage, SessionCosts, UsageFile, sum_json, transcript_folders, usage_files};
pub use crate::report::{By, Filter, Report, Row, Sum};
pub use crate::usage_line::{Request, RequestKey, RolloutUsage, UsageLine, UsageScanner};

#[cfg(test)]
mod tests;
