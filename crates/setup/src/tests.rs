mod codex;
mod settings;
mod shared_file;
mod tmux_conf;
