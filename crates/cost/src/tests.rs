mod ledger;
mod price;
mod report;
mod rollout_usage;
mod scan;
mod usage_line;
