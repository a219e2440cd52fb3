//! The environment of a process, read once and passed down as a value; and which addresses may get a secret from it.

use std::path::PathBuf;

use crate::Millis;

/// The kinds of operating systems that the program distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Platform {
    /// macOS, where osascript can type into a terminal.
    MacOs,
    /// Linux and every other Unix.
    #[default]
    Unix,
}

/// The start time and the environment variables of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Env {
    /// The time at which the process started, or `LONGHAUL_NOW_MS`.
    pub now: Millis,
    /// The operating system.
    pub platform: Platform,
    /// `$HOME`.
    pub home_dir: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is an absolute path: git's configuration may be there.
    pub config_home: Option<PathBuf>,
    /// `$LONGHAUL_HOME`, else `$XDG_DATA_HOME/longhaul`, else `~/.local/share/longhaul`.
    pub data_dir: Option<PathBuf>,
    /// `$LONGHAUL_CONFIG`, else `config.json` in the data directory.
    pub config_path: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, where it is set.
    pub client_config_dir: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, else `~/.claude`: where Claude Code keeps its files.
    pub client_dir: Option<PathBuf>,
    /// `~/.claude.json`, or `.claude.json` in `$CLAUDE_CONFIG_DIR`: Claude Code's settings.
    pub client_settings: Option<PathBuf>,
    /// `$CODEX_HOME`, else `~/.codex`: where Codex keeps its settings and rollouts.
    pub codex_dir: Option<PathBuf>,
    /// `$PGPASSFILE`, else `~/.pgpass`: the passwords of PostgreSQL's clients.
    pub password_file: Option<PathBuf>,
    /// `LONGHAUL_DISABLE=1`: every hook answers, and does nothing else.
    pub disabled: bool,
    /// `LONGHAUL_NO_REAP=1`: the rows of dead sessions are kept.
    pub no_reap: bool,
    /// `LONGHAUL_DISABLE_AUTO_HANDOFF=1`: a session inherits only by a baton that the user asked for.
    pub no_auto_handoff: bool,
    /// Whether `$CLAUDE_PLUGIN_ROOT` is set: Claude Code runs the hook of an installed plugin.
    pub in_plugin: bool,
    /// `$CLAUDE_PROJECT_DIR`: the folder in which the session was started.
    pub project_dir: Option<PathBuf>,
    /// `$TMUX`: socket, server pid and session, joined by commas.
    pub tmux: Option<String>,
    /// `$TMUX_PANE`: the tmux pane.
    pub tmux_pane: Option<String>,
    /// `$STY`: the GNU screen session.
    pub screen_session: Option<String>,
    /// `$WINDOW`: the GNU screen window.
    pub screen_window: Option<String>,
    /// `$ZELLIJ_SESSION_NAME`: the zellij session.
    pub zellij_session: Option<String>,
    /// `$ZELLIJ_PANE_ID`: the zellij pane.
    pub zellij_pane: Option<String>,
    /// `$WEZTERM_PANE`: the WezTerm pane.
    pub wezterm_pane: Option<String>,
    /// `$KITTY_LISTEN_ON`: the socket on which kitty accepts commands.
    pub kitty_socket: Option<String>,
    /// `$KITTY_WINDOW_ID`: the kitty window.
    pub kitty_window: Option<String>,
    /// `$TERM_PROGRAM`: the name of the terminal program.
    pub term_program: Option<String>,
    /// `$CLAUDE_PID`: the process id of Claude Code.
    pub client_pid: Option<u32>,
    /// `$CLAUDE_CODE_SESSION_ID`: the session that runs this program.
    pub client_session: Option<String>,
    /// The sessions that started the client, separated by commas: `CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS`, as of Claude Code
    /// 2.1.326.
    pub launched_by: Option<String>,
    /// Whether `$CLAUDECODE` is set: Claude Code runs this program, and a model may read its output.
    pub run_by_client: bool,
    /// Whether `$NO_COLOR` is set: output has no colours.
    pub no_color: bool,
    /// `$COLUMNS`: the width of the terminal, for when it cannot be queried.
    pub columns: Option<usize>,
}

impl Env {
    /// Builds the environment from `var`, which returns the value of a variable.
    ///
    /// An empty variable counts as unset, as the XDG base directory specification requires.
    pub fn new(now: Millis, platform: Platform, var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let path = |name: &str| var(name).map(PathBuf::from);
        let home = path("HOME");
        let data_dir = path("LONGHAUL_HOME")
            .or_else(|| Some(path("XDG_DATA_HOME").filter(|dir| dir.is_absolute())?.join("longhaul")))
            .or_else(|| Some(home.as_ref()?.join(".local/share/longhaul")));
        let client_dir = path("CLAUDE_CONFIG_DIR");
        Self {
            now: var("LONGHAUL_NOW_MS").and_then(|ms| ms.parse().ok()).map_or(now, Millis),
            platform,
            config_path: path("LONGHAUL_CONFIG").or_else(|| Some(data_dir.as_ref()?.join("config.json"))),
            data_dir,
            client_settings: client_dir.as_ref().or(home.as_ref()).map(|dir| dir.join(".claude.json")),
            client_config_dir: client_dir.clone(),
            client_dir: client_dir.or_else(|| Some(home.as_ref()?.join(".claude"))),
            codex_dir: path("CODEX_HOME").or_else(|| Some(home.as_ref()?.join(".codex"))),
            password_file: path("PGPASSFILE").or_else(|| Some(home.as_ref()?.join(".pgpass"))),
            home_dir: home,
            config_home: path("XDG_CONFIG_HOME").filter(|dir| dir.is_absolute()),
            disabled: var("LONGHAUL_DISABLE").as_deref() == Some("1"),
            no_reap: var("LONGHAUL_NO_REAP").as_deref() == Some("1"),
            no_auto_handoff: var("LONGHAUL_DISABLE_AUTO_HANDOFF").as_deref() == Some("1"),
            in_plugin: var("CLAUDE_PLUGIN_ROOT").is_some(),
            project_dir: path("CLAUDE_PROJECT_DIR"),
            tmux: var("TMUX"),
            tmux_pane: var("TMUX_PANE"),
            screen_session: var("STY"),
            screen_window: var("WINDOW"),
            zellij_session: var("ZELLIJ_SESSION_NAME"),
            zellij_pane: var("ZELLIJ_PANE_ID"),
            wezterm_pane: var("WEZTERM_PANE"),
            kitty_socket: var("KITTY_LISTEN_ON"),
            kitty_window: var("KITTY_WINDOW_ID"),
            term_program: var("TERM_PROGRAM"),
            client_pid: var("CLAUDE_PID").and_then(|pid| pid.parse().ok()),
            client_session: var("CLAUDE_CODE_SESSION_ID"),
            launched_by: var("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS"),
            run_by_client: var("CLAUDECODE").is_some(),
            no_color: var("NO_COLOR").is_some(),
            columns: var("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0),
        }
    }
}

// Whether a key or a token may be sent to an address.

/// Returns whether a secret may be sent to `url`: over TLS, or to this machine.
pub fn may_receive_secret(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(ip6) => ip6.split(']').next(),
        None => authority.split(':').next(),
    };
    !authority.contains('@') && matches!(host, Some("127.0.0.1" | "::1" | "localhost"))
}
