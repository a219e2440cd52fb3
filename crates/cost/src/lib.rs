#![doc = include_str!("../README.md")]

mod ledger;
pub mod limits;
mod price;
mod report;
mod usage_line;

pub use crate::ledger::{Ledger, ProjectIndex};
pub use crate::price::{Cost, PRICES_DATE, Prices, Tokens};
pub use crate::report::{By, Filter, Report, Row, Sum, sum_json};
pub use crate::usage_line::{Request, RequestKey, RolloutUsage, UsageLine, UsageScanner};

#[cfg(test)]
mod tests;
