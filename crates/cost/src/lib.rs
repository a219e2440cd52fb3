#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod ledger;
mod price;
mod price_table;
mod report;
mod rollout_usage;
mod scan;
mod tokens;
mod usage_line;

pub use crate::ledger::{Ledger, ProjectIndex};
pub use crate::price::{Cost, Prices};
pub use crate::price_table::PRICES_DATE;
pub use crate::report::{By, Filter, Report, Row, Sum};
pub use crate::rollout_usage::RolloutUsage;
pub use crate::scan::UsageScanner;
pub use crate::tokens::Tokens;
pub use crate::usage_line::{Request, RequestKey, UsageLine};

#[cfg(test)]
mod tests;
