mod argv;
mod look;
mod panes;
mod policy;
mod quote;
mod robustness;
mod terminal;
