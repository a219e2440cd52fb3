mod agents;
mod codex;
mod keybindings;
mod notify_config;
mod settings;
mod tmux_conf;
