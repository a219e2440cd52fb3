mod argv;
mod look;
mod means;
mod policy;
mod quote;
mod robustness;
mod terminal;
