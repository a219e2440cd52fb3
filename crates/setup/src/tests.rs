mod agents;
mod codex;
mod codex_mcp;
mod keybindings;
mod notify_config;
mod settings;
mod tmux_conf;
