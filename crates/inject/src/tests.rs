mod argv;
mod look;
mod means;
mod panes;
mod policy;
mod quote;
mod robustness;
mod terminal;
