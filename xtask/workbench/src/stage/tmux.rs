//! A private tmux server, which ends when it is dropped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use xtask::run;

/// A private tmux server: its own socket, no configuration, a clean environment.
pub(crate) struct Tmux {
    socket: String,
    home: PathBuf,
    cwd: PathBuf,
    /// The value of `$TMUX` in its panes.
    pub(crate) variable: String,
}

impl Tmux {
    /// Starts a server of `columns` × `rows`, whose socket is called `name` and the process id, with `home` as the home
    /// of its programs.
    ///
    /// Programs start in the folder `cwd`.
    pub(crate) fn start(name: &str, home: &Path, cwd: &Path, columns: u16, rows: u16) -> Result<Self> {
        let socket = format!("{name}-{}", std::process::id());
        let mut tmux = Self { socket, home: home.to_owned(), cwd: cwd.to_owned(), variable: String::new() };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        // The first pane only keeps the server running.
        let mut start = tmux.command();
        start.args(["new-session", "-d", "-x", &columns, "-y", &rows, "sleep 86400"]);
        run::output(&mut start).context("cannot start a tmux server")?;
        tmux.meet()?;
        Ok(tmux)
    }

    /// Reads which server runs at the socket now.
    pub(crate) fn meet(&mut self) -> Result<()> {
        self.variable = self.run(&["display-message", "-p", "#{socket_path},#{pid},0"])?;
        Ok(())
    }

    /// Runs a command, and returns its output without the last line end.
    pub(crate) fn run(&self, words: &[&str]) -> Result<String> {
        Ok(run::output(self.command().args(words))?.trim_end().to_owned())
    }

    /// Opens a pane that runs `words`, with `variables` in its environment, and returns the pane's id.
    pub(crate) fn open(&self, words: &[&str], variables: &[(&str, String)]) -> Result<String> {
        let mut open = self.command();
        open.args(["new-window", "-P", "-F", "#{pane_id}"]);
        for (name, value) in variables {
            open.arg("-e").arg(format!("{name}={value}"));
        }
        // With env, because tmux would pass a single word to a shell.
        open.args(["env", "--"]).args(words);
        let pane = run::output(&mut open).with_context(|| format!("cannot open a pane for {}", words.join(" ")))?;
        Ok(pane.trim().to_owned())
    }

    /// Returns the lines that `pane` shows.
    pub(crate) fn capture(&self, pane: &str) -> Result<Vec<String>> {
        let screen = run::output(self.command().args(["capture-pane", "-p", "-t", pane]))?;
        Ok(screen.lines().map(str::to_owned).collect())
    }

    /// Types `text` and Enter into `pane`.
    pub(crate) fn type_line(&self, pane: &str, text: &str) -> Result<()> {
        self.type_text(pane, text)?;
        self.press(pane, &["Enter"])
    }

    /// Types `text` into `pane`.
    pub(crate) fn type_text(&self, pane: &str, text: &str) -> Result<()> {
        run::output(self.command().args(["send-keys", "-t", pane, "-l", "--", text])).map(drop)
    }

    /// Presses keys in `pane`, by tmux's key names.
    pub(crate) fn press(&self, pane: &str, keys: &[&str]) -> Result<()> {
        run::output(self.command().args(["send-keys", "-t", pane]).args(keys)).map(drop)
    }

    /// Puts `pane` into copy-mode.
    pub(crate) fn copy_mode(&self, pane: &str) -> Result<()> {
        run::output(self.command().args(["copy-mode", "-t", pane])).map(drop)
    }

    /// Returns the process id of `pane`.
    pub(crate) fn pid(&self, pane: &str) -> Result<String> {
        let pid = run::output(self.command().args(["display-message", "-p", "-t", pane, "#{pane_pid}"]))?;
        Ok(pid.trim().to_owned())
    }

    /// Returns the process ids of all panes.
    pub(crate) fn pids(&self) -> Vec<String> {
        let pids = run::output(self.command().args(["list-panes", "-a", "-F", "#{pane_pid}"])).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    }

    /// Ends the server, which sends a hang-up signal to everything in it.
    pub(crate) fn end(&self) {
        let _ = self.command().arg("kill-server").stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// Returns the text of all panes, for an error message.
    pub(crate) fn capture_all(&self) -> String {
        let panes = run::output(self.command().args(["list-panes", "-a", "-F", "#{pane_id}"])).unwrap_or_default();
        let screens = panes.lines().filter_map(|pane| self.capture(pane).ok());
        screens.map(|screen| screen.join("\n").trim().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn command(&self) -> Command {
        let mut tmux = run::program("tmux");
        tmux.args(["-L", &self.socket, "-f", "/dev/null", "-u"]).current_dir(&self.cwd).env_clear();
        tmux.env("PATH", run::var("PATH").unwrap_or_default()).env("HOME", &self.home);
        // tmux leaves its socket behind, so it is put into the home, which is removed.
        tmux.env("TMUX_TMPDIR", &self.home);
        tmux.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("SHELL", "/bin/sh");
        tmux
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.end();
    }
}
