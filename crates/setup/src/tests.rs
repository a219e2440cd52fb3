mod settings;
mod tmux_conf;
