mod ledger;
mod limits;
mod price;
mod usage_line;
