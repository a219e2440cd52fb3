//! From a stranger's shell to a working plugin, and back: what would change, the changing, and whether all is well.

mod json_text;
pub mod settings;
pub mod tmux_conf;

#[cfg(test)]
mod tests;
