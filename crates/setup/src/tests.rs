mod codex;
mod settings;
mod tmux_conf;
