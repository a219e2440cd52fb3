mod ledger;
mod price;
mod usage_line;
