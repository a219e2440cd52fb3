//! The stand-in for Claude Code: an example of package longhaul that runs in a pane and takes commands over a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ActivityLog, Tmux, check_interrupts, until};

const START: Duration = Duration::from_secs(10);

/// The stand-in's executable and folders.
pub(crate) struct Role<'a> {
    /// Its home; `longhaul/` in it is `LONGHAUL_HOME`.
    pub(crate) home: &'a Path,
    /// The session id that it starts with.
    pub(crate) session: &'a str,
    /// The stand-in's executable.
    pub(crate) program: &'a Path,
    /// A folder laid out like an installed plugin: `hooks/hooks.json` and `bin/`.
    pub(crate) plugin: &'a Path,
}

/// A running stand-in.
pub(crate) struct Standin {
    /// Its pane.
    pub(crate) pane: String,
    /// Its process id.
    pub(crate) pid: u64,
    /// The activity log of its session.
    pub(crate) log: ActivityLog,
    /// The part of its environment that hooks outside of it need, too.
    pub(crate) variables: Vec<(&'static str, String)>,
    connection: BufReader<UnixStream>,
}

impl Standin {
    /// Opens a pane for it and waits until it accepts connections.
    pub(crate) fn start(tmux: &Tmux, role: &Role<'_>) -> Result<Self> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let data = role.home.join("longhaul");
        let socket = role.home.join("standin.sock");
        let variables = vec![
            ("HOME", text(role.home.to_owned())),
            ("LONGHAUL_HOME", text(data.clone())),
            ("CLAUDE_CONFIG_DIR", text(role.home.join(".claude"))),
            ("CLAUDE_PLUGIN_ROOT", text(role.plugin.to_owned())),
        ];
        let mut own = variables.clone();
        own.extend([
            ("STANDIN_SOCKET", text(socket.clone())),
            ("STANDIN_HOOKS", text(role.plugin.join("hooks/hooks.json"))),
            ("STANDIN_SESSION", role.session.to_owned()),
            ("STANDIN_RECORD", "1".to_owned()),
        ]);
        let pane = tmux.open(&[&text(role.program.to_owned())], &own)?;
        let connection = until("the stand-in to start", START, || Ok(UnixStream::connect(&socket).ok()))?;
        connection.set_read_timeout(Some(Duration::from_secs(60)))?;
        let log = ActivityLog::new(&data, role.session);
        let mut standin = Self { pane, pid: 0, log, variables, connection: BufReader::new(connection) };
        standin.pid = standin.ask(&json!({ "do": "state" }))?["pid"].as_u64().context("the stand-in has no pid")?;
        Ok(standin)
    }

    /// Sends a command, and returns the answer, which arrives when the command is done.
    pub(crate) fn ask(&mut self, command: &Value) -> Result<Value> {
        check_interrupts()?;
        self.connection.get_mut().write_all(format!("{command}\n").as_bytes())?;
        let mut answer = String::new();
        self.connection.read_line(&mut answer).with_context(|| format!("the stand-in does not answer {command}"))?;
        let answer: Value =
            serde_json::from_str(&answer).with_context(|| format!("the stand-in answers {answer:?}"))?;
        ensure!(answer["ok"] == true, "the stand-in cannot do {command}: {}", answer["error"]);
        Ok(answer)
    }
}
