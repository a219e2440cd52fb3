mod codex;
mod keybindings;
mod settings;
mod tmux_conf;
