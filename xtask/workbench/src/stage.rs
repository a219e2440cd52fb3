//! A private tmux server with the stand-in for Claude Code, for the demo, the benchmark and the scenarios.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use longhaul_activity_log::{LogLine, Metrics, TailStart, measure};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use xtask::{codegen, run};

/// The shortest and the longest pause between two checks.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Calls `look` until it returns something, and returns that; fails after `patience` or when the user interrupts.
///
/// The longer it has waited, the less often it looks: most checks start a program, which takes time from what they wait for.
pub(crate) fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        check_interrupts()?;
        if let Some(found) = look()? {
            return Ok(found);
        }
        let waited = begun.elapsed();
        if waited > patience {
            bail!("waited {} s for {what}", patience.as_secs());
        }
        thread::sleep((waited / 20).clamp(PAUSES[0], PAUSES[1]));
    }
}

/// Creates a folder laid out like an installed plugin below `home`, with the executables of `bin`, and returns it.
pub(crate) fn plugin_folder(home: &Path, bin: &Path) -> Result<PathBuf> {
    let plugin = home.join("plugin");
    fs::create_dir_all(plugin.join("hooks")).with_context(|| format!("cannot create {}", plugin.display()))?;
    fs::write(plugin.join("hooks/hooks.json"), codegen::hooks_json(None)?).context("cannot write hooks.json")?;
    symlink(bin, plugin.join("bin")).context("cannot link to the executables")?;
    Ok(plugin)
}

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Records signals from now on; the second one ends the program at once.
pub(crate) fn watch_interrupts() -> Result<()> {
    let interrupted = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(interrupted))
            .context("cannot watch for signals")?;
        flag::register(signal, Arc::clone(interrupted)).context("cannot watch for signals")?;
    }
    Ok(())
}

/// Fails after a signal was received.
pub(crate) fn check_interrupts() -> Result<()> {
    let interrupted = INTERRUPTED.get().is_some_and(|interrupted| interrupted.load(Ordering::Relaxed));
    ensure!(!interrupted, "interrupted");
    Ok(())
}

pub(crate) struct ActivityLog(PathBuf);

impl ActivityLog {
    /// Returns the log of `session` below the data folder, whether it exists or not.
    pub(crate) fn new(data: &Path, session: &str) -> Self {
        Self(data.join("sessions").join(format!("{session}.log")))
    }

    /// Returns its lines; none if there is no log yet.
    pub(crate) fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the metrics since the last bookmark.
    pub(crate) fn metrics(&self) -> Metrics {
        measure(&fs::read(&self.0).unwrap_or_default(), TailStart::LogStart)
    }

    /// Replaces its content.
    pub(crate) fn write(&self, lines: &[LogLine]) -> Result<()> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let folder = self.0.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&self.0, text).with_context(|| format!("cannot write {}", self.0.display()))
    }

    pub(crate) fn length(&self) -> Result<u64> {
        Ok(fs::metadata(&self.0).with_context(|| format!("cannot read {}", self.0.display()))?.len())
    }

    /// Returns what was appended after the first `length` bytes.
    pub(crate) fn since(&self, length: u64) -> Result<String> {
        let mut new = String::new();
        let read = File::open(&self.0).and_then(|mut file| {
            file.seek(SeekFrom::Start(length))?;
            file.read_to_string(&mut new)
        });
        read.with_context(|| format!("cannot read {}", self.0.display()))?;
        Ok(new)
    }

    /// Removes what was appended after the first `length` bytes.
    pub(crate) fn cut(&self, length: u64) -> Result<()> {
        let file = OpenOptions::new().write(true).open(&self.0);
        file.and_then(|file| file.set_len(length)).with_context(|| format!("cannot truncate {}", self.0.display()))
    }
}

const START: Duration = Duration::from_secs(10);

/// The stand-in's executable and folders.
pub(crate) struct Role<'a> {
    /// Its home; `longhaul/` in it is `LONGHAUL_HOME`.
    pub(crate) home: &'a Path,
    pub(crate) session: &'a str,
    pub(crate) program: &'a Path,
    /// A folder laid out like an installed plugin: `hooks/hooks.json` and `bin/`.
    pub(crate) plugin: &'a Path,
}

/// A running stand-in.
pub(crate) struct Standin {
    pub(crate) pane: String,
    /// Its process id.
    pub(crate) pid: u64,
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

    pub(crate) fn capture(&self, pane: &str) -> Result<Vec<String>> {
        let screen = run::output(self.command().args(["capture-pane", "-p", "-t", pane]))?;
        Ok(screen.lines().map(str::to_owned).collect())
    }

    pub(crate) fn type_line(&self, pane: &str, text: &str) -> Result<()> {
        self.type_text(pane, text)?;
        self.press(pane, &["Enter"])
    }

    pub(crate) fn type_text(&self, pane: &str, text: &str) -> Result<()> {
        run::output(self.command().args(["send-keys", "-t", pane, "-l", "--", text])).map(drop)
    }

    /// Presses keys in `pane`, by tmux's key names.
    pub(crate) fn press(&self, pane: &str, keys: &[&str]) -> Result<()> {
        run::output(self.command().args(["send-keys", "-t", pane]).args(keys)).map(drop)
    }

    pub(crate) fn copy_mode(&self, pane: &str) -> Result<()> {
        run::output(self.command().args(["copy-mode", "-t", pane])).map(drop)
    }

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
