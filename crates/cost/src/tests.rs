mod ledger;
mod price;
mod report;
mod scan;
mod usage_line;
