mod argv;
mod look;
mod policy;
mod quote;
mod robustness;
mod terminal;
