//! The environment of one scenario: a temporary home, a tmux server, a scripted model (`tests/model`), and Claude
//! Code's settings and arguments.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use longhaul_fake_model::{Model, Rule, Shown};
use longhaul_inject::{
    EditorMode, Inspection, ScreenState, TmuxPane, TurnSign, UnsafeScreen, parse_inspection, screen_state,
};
use serde_json::{Value, json};
use xtask::run;

use super::client;
use crate::stage::{Tmux, until};

const COLUMNS: u16 = 140;
const ROWS: u16 = 45;

/// Timeout for everything that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Timeout for killed processes to end after a scenario.
const GOODBYE: Duration = Duration::from_secs(10);

const KEY: &str = "sk-ant-dummy";

/// Tools that are allowed without a dialog; all others open one.
const ALLOWED: &[&str] = &[
    "Bash",
    "Read",
    "Agent",
    "Task",
    "mcp__plugin_longhaul_longhaul__recall",
    "mcp__plugin_longhaul_longhaul__search",
];

/// Events that are recorded independently of the plugin.
const WITNESSED: &[&str] =
    &["SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"];

/// The recording hook: writes its payload to a file named by the time, and renames it when it is complete.
pub(crate) const WITNESS: &str = "f=\"$HOME/events/$(date +%s%N)-$$\"; cat > \"$f.part\" && mv \"$f.part\" \"$f.json\"";

/// What the scenarios share.
pub(crate) struct Cast {
    pub(crate) client: PathBuf,
    /// The marketplace, as `cargo xtask dist` lays it out.
    pub(crate) marketplace: PathBuf,
    /// The folder in which the programs of other agents are installed.
    pub(crate) programs: PathBuf,
}

impl Cast {
    pub(crate) fn bundle(&self) -> PathBuf {
        self.marketplace.join("longhaul")
    }
}

/// The environment; everything that runs in it ends when it is dropped.
pub(crate) struct World {
    tmux: Tmux,
    /// The scripted model, with the requests that it has received.
    pub(crate) model: Model,
    /// The folder that sessions work in.
    pub(crate) project: PathBuf,
    command: Vec<String>,
    bundle: PathBuf,
    home: PathBuf,
}

impl World {
    /// Creates it below `home`, with `config` as the plugin's configuration.
    pub(crate) fn new(cast: &Cast, home: &Path, config: &Value, rules: Vec<Rule>) -> Result<Self> {
        let project = home.join("project");
        for folder in [".claude", "events", "bin", "tmp", "longhaul", "project"] {
            fs::create_dir_all(home.join(folder)).with_context(|| format!("cannot create {folder}"))?;
        }
        symlink(&cast.client, home.join("bin/claude")).context("cannot link to the client")?;
        fs::write(home.join("longhaul/config.json"), config.to_string())?;
        fs::write(home.join(".claude/settings.json"), settings().to_string())?;
        fs::write(home.join(".claude.json"), onboarded(&project).to_string())?;
        let tmux = Tmux::start("longhaul-e2e", home, &project, COLUMNS, ROWS)?;
        let model = Model::start(rules).context("cannot start the model")?;
        let bundle = cast.bundle();
        let command = client::started_as(&cast.client, &bundle);
        Ok(Self { tmux, model, project, command, bundle, home: home.to_owned() })
    }

    /// Binds the submit chord as `longhaul install` does, with a file time so old that every client has read the file.
    pub(crate) fn bind_chord(&self) -> Result<()> {
        let text = longhaul_setup::keybindings::with_chords(None)?.context("there is no chord to bind")?;
        let path = self.home.join(".claude/keybindings.json");
        fs::write(&path, text)?;
        let written = path.metadata()?.modified()? - Duration::from_secs(60);
        Ok(fs::File::options().append(true).open(&path)?.set_modified(written)?)
    }

    /// Takes the bundle without its module from now on.
    pub(crate) fn remove_module(&mut self) -> Result<()> {
        let copy = self.home.join("bundle");
        run::output(run::program("cp").arg("-r").args([&self.bundle, &copy]))?;
        let path = copy.join("hooks/hooks.json");
        let mut hooks: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let module = hooks.as_object_mut().and_then(|members| members.remove("modules"));
        ensure!(module.is_some(), "{} names no module", path.display());
        fs::write(path, hooks.to_string())?;
        self.bundle = copy;
        Ok(())
    }

    /// Sets a field in Claude Code's settings.
    pub(crate) fn set(&self, name: &str, value: Value) -> Result<()> {
        let path = self.home.join(".claude/settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        settings[name] = value;
        Ok(fs::write(path, settings.to_string())?)
    }

    /// Returns what is recorded about the clients: whether the chord was received or ignored.
    pub(crate) fn chord_proofs(&self) -> Vec<String> {
        let files = fs::read_dir(self.home.join("longhaul/clients")).into_iter().flatten().flatten();
        let notes = files.filter_map(|file| serde_json::from_slice::<Value>(&fs::read(file.path()).ok()?).ok());
        notes.filter_map(|notes| notes["experience"]["proof"].as_str().map(str::to_owned)).collect()
    }

    pub(crate) fn prompts(&self) -> Vec<String> {
        let prompts = self.events("UserPromptSubmit").into_iter();
        prompts.filter_map(|prompt| prompt["prompt"].as_str().map(str::to_owned)).collect()
    }

    /// Starts Claude Code in a pane, with the plugin, and waits until its input is shown.
    pub(crate) fn open(&self, arguments: &[&str]) -> Result<Session<'_>> {
        self.open_after(&[], arguments)
    }

    /// As `open`, after words such as `NAME=value`, which set variables.
    pub(crate) fn open_after(&self, variables: &[&str], arguments: &[&str]) -> Result<Session<'_>> {
        let bundle = self.bundle.display().to_string();
        let own = ["--plugin-dir", &bundle, "--permission-mode", "manual"];
        self.open_words(&[variables, &self.command_words(), &own, arguments].concat())
    }

    /// As `open`, with only these arguments.
    pub(crate) fn open_bare(&self, arguments: &[&str]) -> Result<Session<'_>> {
        self.open_words(&[&self.command_words(), arguments].concat())
    }

    fn command_words(&self) -> Vec<&str> {
        self.command.iter().map(String::as_str).collect()
    }

    fn open_words(&self, words: &[&str]) -> Result<Session<'_>> {
        let started = self.events("SessionStart").len();
        let session = self.start(words)?;
        self.wait("the session to start", || Ok(self.events("SessionStart").len() > started))?;
        self.wait("an empty input", || session.awaits_prompt())?;
        Ok(session)
    }

    /// Makes `claude` on the path a script that starts Claude Code as `open` does, with these arguments before others.
    pub(crate) fn wrap_client(&self, arguments: &[&str]) -> Result<()> {
        let words = self.command.iter().map(String::as_str).chain(arguments.iter().copied());
        let words: Vec<String> = words.map(longhaul_inject::shell_single_quote).collect();
        let path = self.home.join("bin/claude");
        fs::remove_file(&path)?;
        fs::write(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// Starts `claude` by the tmux command `place`, which creates a window, and waits until its input is shown.
    pub(crate) fn open_at(&self, place: &[&str], arguments: &[&str]) -> Result<Session<'_>> {
        let started = self.events("SessionStart").len();
        let variables: Vec<String> =
            self.variables().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let claude = self.home.join("bin/claude").display().to_string();
        let mut words = [place, &["-P", "-F", "#{pane_id}"]].concat();
        words.extend(variables.iter().flat_map(|variable| ["-e", variable]));
        words.extend(["env", &claude]);
        words.extend(arguments);
        let pane = self.tmux.run(&words)?;
        let session = Session { world: self, tmux: &self.tmux, pane, read };
        self.wait("the session to start", || Ok(self.events("SessionStart").len() > started))?;
        self.wait("an empty input", || session.awaits_prompt())?;
        Ok(session)
    }

    /// Starts a program in a pane. Words such as `NAME=value` before it set its variables.
    pub(crate) fn start(&self, words: &[&str]) -> Result<Session<'_>> {
        let pane = self.tmux.open(words, &self.variables())?;
        Ok(Session { world: self, tmux: &self.tmux, pane, read })
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn session_at(&self, target: &str) -> Result<Session<'_>> {
        let pane = self.tmux.run(&["display-message", "-p", "-t", target, "#{pane_id}"])?;
        Ok(Session { world: self, tmux: &self.tmux, pane, read })
    }

    pub(crate) fn tmux(&self, words: &[&str]) -> Result<String> {
        self.tmux.run(words)
    }

    /// Kills the tmux server with SIGKILL, and waits until its clients have ended.
    pub(crate) fn kill_server(&self) -> Result<()> {
        let pids = self.tmux.pids();
        let server = self.tmux.run(&["display-message", "-p", "#{pid}"])?;
        run::output(run::program("kill").args(["-KILL", &server]))?;
        let runs = |pid: &String| run::output(run::program("kill").args(["-0", pid])).is_ok();
        until("the clients' end", PATIENCE, || Ok((!pids.iter().any(runs)).then_some(())))
    }

    /// Takes the tmux server that runs now as the server of this world.
    pub(crate) fn meet_server(&mut self) -> Result<()> {
        self.tmux.meet()
    }

    /// Runs `longhaul` outside tmux and returns its output.
    pub(crate) fn longhaul_outside(&self, arguments: &[&str]) -> Result<String> {
        let mut longhaul = run::program(self.bundle.join("bin/longhaul"));
        longhaul.args(arguments).current_dir(&self.project).env_clear().envs(self.variables());
        run::output(&mut longhaul)
    }

    /// Runs Claude Code without a terminal and returns its output.
    pub(crate) fn client(&self, arguments: &[&str]) -> Result<String> {
        let mut client = run::program(&self.command[0]);
        client.args(&self.command[1..]).args(arguments).current_dir(&self.project).env_clear().envs(self.variables());
        run::output(&mut client)
    }

    /// Runs `longhaul` and returns its output.
    pub(crate) fn longhaul(&self, arguments: &[&str]) -> Result<String> {
        let mut longhaul = run::program(self.bundle.join("bin/longhaul"));
        longhaul.args(arguments).current_dir(&self.project).env_clear().envs(self.variables());
        // Names the tmux server.
        run::output(longhaul.env("TMUX", &self.tmux.variable))
    }

    /// Runs `longhaul … --json` and returns its output.
    pub(crate) fn longhaul_json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.longhaul(&[arguments, &["--json"]].concat())?;
        serde_json::from_str(&text).with_context(|| format!("longhaul {} prints no JSON: {text}", arguments.join(" ")))
    }

    /// Returns the state of `session` in the tracker, or `None` if it is not tracked.
    pub(crate) fn state(&self, session: &str) -> Result<Option<String>> {
        let rows = self.longhaul_json(&["status"])?;
        let row = rows.as_array().into_iter().flatten().find(|row| row["session"] == session);
        Ok(row.and_then(|row| row["status"].as_str().map(str::to_owned)))
    }

    /// Waits until the tracker reports `status` for `session`.
    pub(crate) fn wait_for_state(&self, session: &str, status: &str) -> Result<()> {
        self.wait(&format!("the status {status}"), || Ok(self.state(session)?.as_deref() == Some(status)))
    }

    /// Returns whether Claude Code's own record of a session has `status`.
    pub(crate) fn client_is(&self, status: &str) -> bool {
        let files = fs::read_dir(self.home.join(".claude/sessions")).into_iter().flatten().flatten();
        let mut files =
            files.map(|entry| entry.path()).filter(|file| file.extension().is_some_and(|kind| kind == "json"));
        files.any(|file| {
            let record = fs::read(file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            record.is_some_and(|record| record["status"] == status)
        })
    }

    /// Returns the payloads of `event` so far, oldest first.
    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        let files = fs::read_dir(self.home.join("events")).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|kind| kind == "json")).collect();
        files.sort();
        let payloads = files.iter().filter_map(|file| serde_json::from_slice(&fs::read(file).ok()?).ok());
        payloads.filter(|payload: &Value| payload["hook_event_name"] == event).collect()
    }

    /// Returns the first request with `text` in its conversation.
    pub(crate) fn shown(&self, text: &str) -> Option<Shown> {
        self.model.shown().into_iter().find(|shown| !shown.tools().is_empty() && shown.mentions(text))
    }

    /// Returns the lines of a session's activity log that begin with `letter`.
    pub(crate) fn log(&self, session: &str, letter: char) -> Vec<String> {
        let log = crate::stage::ActivityLog::new(&self.home.join("longhaul"), session);
        log.lines().into_iter().filter(|line| line.starts_with(letter)).collect()
    }

    /// Returns the content of the hooks' error log.
    pub(crate) fn errors(&self) -> String {
        errors(&self.home)
    }

    /// Fails if a hook has written an error.
    pub(crate) fn check_errors(&self) -> Result<()> {
        let errors = self.errors();
        ensure!(errors.is_empty(), "the hooks wrote errors: {errors}");
        Ok(())
    }

    pub(crate) fn wait(&self, what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
        let waited = until(what, PATIENCE, || Ok(is()?.then_some(())));
        waited.with_context(|| format!("the screens show:\n{}", self.tmux.capture_all()))
    }

    /// Returns the environment of every program here; nothing in it leads to another machine.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let path = run::var("PATH").unwrap_or_default().to_string_lossy().into_owned();
        let below = |folder: &str| self.home.join(folder).display().to_string();
        let mut variables = vec![
            ("HOME", self.home.display().to_string()),
            ("PATH", format!("{}:{path}", below("bin"))),
            ("LONGHAUL_HOME", below("longhaul")),
            ("TMPDIR", below("tmp")),
            ("ANTHROPIC_BASE_URL", self.model.url()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ];
        let switches = [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_TELEMETRY",
        ];
        variables.extend(switches.map(|switch| (switch, "1".to_owned())));
        // Otherwise tools of MCP servers are found by a search instead of being offered.
        variables.push(("ENABLE_TOOL_SEARCH", "false".to_owned()));
        variables
    }
}

impl World {
    /// Returns the ids of the processes that run in it: those of the panes, and, where there is /proc, all that have its home.
    fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}", self.home.display());
        let is_ours = |process: &fs::DirEntry| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_ours);
        let pids = entries.filter_map(|process| process.file_name().into_string().ok());
        self.tmux.pids().into_iter().chain(pids).collect()
    }
}

impl Drop for World {
    /// Kills what runs in it, because it would write to the home, which is removed next. To let the clients end takes seconds.
    fn drop(&mut self) {
        let killed = until("the processes to end", GOODBYE, || {
            let processes = self.processes();
            let _ = run::output(run::program("kill").arg("-KILL").args(&processes));
            Ok(processes.is_empty().then_some(()))
        });
        drop(killed);
        self.tmux.end();
    }
}

/// Returns the content of the error log of the hooks below `home`.
pub(crate) fn errors(home: &Path) -> String {
    fs::read_to_string(home.join("longhaul/longhaul.log")).unwrap_or_default()
}

fn settings() -> Value {
    let witness = json!([{ "hooks": [{ "type": "command", "command": WITNESS }] }]);
    let hooks = WITNESSED.iter().map(|event| ((*event).to_owned(), witness.clone()));
    json!({ "hooks": hooks.collect::<serde_json::Map<_, _>>(), "permissions": { "allow": ALLOWED } })
}

/// Returns Claude Code's own state file, with every question of a first start already answered.
fn onboarded(project: &Path) -> Value {
    let trusted = json!({
        "hasTrustDialogAccepted": true,
        "hasCompletedProjectOnboarding": true,
        "projectOnboardingSeenCount": 5,
        "allowedTools": [],
    });
    json!({
        "hasCompletedOnboarding": true,
        "lastOnboardingVersion": client::VERSION,
        "theme": "dark",
        "numStartups": 5,
        "autoUpdates": false,
        "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
        "officialMarketplaceAutoInstallAttempted": true,
        "officialMarketplaceAutoInstalled": false,
        "officialMarketplaceAutoInstallFailReason": "policy_blocked",
        "hasSeenTasksHint": true,
        "projects": { project.display().to_string(): trusted },
    })
}

/// Time after which a key without effect is pressed again.
const AGAIN: Duration = Duration::from_secs(1);

fn read(seen: &Inspection) -> ScreenState {
    screen_state(seen, EditorMode::Normal)
}

/// A running Claude Code, or another agent.
pub(crate) struct Session<'a> {
    pub(crate) world: &'a World,
    pub(crate) tmux: &'a Tmux,
    pub(crate) pane: String,
    /// How the plugin reads its screen.
    pub(crate) read: fn(&Inspection) -> ScreenState,
}

impl Session<'_> {
    /// Returns its session id: that of the newest SessionStart.
    pub(crate) fn id(&self) -> Result<String> {
        let starts = self.world.events("SessionStart");
        let id = starts.last().and_then(|start| start["session_id"].as_str());
        id.map(str::to_owned).context("no session has started")
    }

    /// Submits a prompt and waits until its turn has ended and the input is empty.
    pub(crate) fn say(&self, prompt: &str) -> Result<()> {
        let stops = self.world.events("Stop").len();
        self.submit(prompt)?;
        self.world.wait(&format!("the end of the turn {prompt:?}"), || Ok(self.world.events("Stop").len() > stops))?;
        self.world.wait("an empty input", || self.awaits_prompt())
    }

    /// Types a line, waits until it is in the input, and presses Enter.
    pub(crate) fn submit(&self, text: &str) -> Result<()> {
        self.draft(text)?;
        self.press(&["Enter"])
    }

    /// Types `text` and leaves it in the input.
    pub(crate) fn draft(&self, text: &str) -> Result<()> {
        self.tmux.type_text(&self.pane, text)?;
        self.world.wait(&format!("{text:?} in the input"), || self.drafted(text))
    }

    /// Returns whether exactly `text` is in the input, however it is wrapped.
    pub(crate) fn drafted(&self, text: &str) -> Result<bool> {
        Ok(self.look()?.holds(text))
    }

    /// Presses keys, by tmux's key names.
    pub(crate) fn press(&self, keys: &[&str]) -> Result<()> {
        self.tmux.press(&self.pane, keys)
    }

    /// Answers the open dialog with one key.
    ///
    /// The key is pressed again while it has no effect, because a dialog ignores keys for a moment after it is drawn.
    pub(crate) fn answer(&self, key: &str) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.world.wait("the dialog's end", || {
            if pressed.is_none_or(|pressed| pressed.elapsed() > AGAIN) {
                self.press(&[key])?;
                pressed = Some(Instant::now());
            }
            Ok(!self.in_dialog()?)
        })
    }

    /// Returns whether the input is shown and empty, and no turn runs.
    pub(crate) fn awaits_prompt(&self) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Input { draft: None, turn: TurnSign::Idle, .. }))
    }

    pub(crate) fn in_dialog(&self) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Unsafe(UnsafeScreen::Dialog)))
    }

    /// Returns the state of the screen, as the plugin reads it.
    pub(crate) fn look(&self) -> Result<ScreenState> {
        let socket = self.tmux.variable.split(',').next().unwrap_or_default().to_owned();
        let inspect = TmuxPane { socket, pane: self.pane.clone() }.inspect();
        let (program, arguments) = inspect.argv.split_first().context("the command to inspect the pane is empty")?;
        let seen = run::output(run::program(program).args(arguments));
        let Some(seen) = seen.ok().and_then(|seen| parse_inspection(&seen)) else {
            bail!("pane {} is gone", self.pane);
        };
        Ok((self.read)(&seen))
    }

    /// Enters or leaves tmux's copy-mode.
    pub(crate) fn copy_mode(&self, on: bool) -> Result<()> {
        if on { self.tmux.copy_mode(&self.pane) } else { self.press(&["-X", "cancel"]) }
    }

    pub(crate) fn shows(&self, text: &str) -> Result<bool> {
        Ok(self.tmux.capture(&self.pane)?.iter().any(|line| line.contains(text)))
    }

    pub(crate) fn wait_for(&self, text: &str) -> Result<()> {
        self.world.wait(&format!("{text:?} on the screen"), || self.shows(text))
    }

    /// Returns the text on the screen, with a space for every gap and line end.
    pub(crate) fn text(&self) -> Result<String> {
        let lines = self.tmux.capture(&self.pane)?;
        Ok(lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" "))
    }

    /// Goes back with `/rewind` to before the newest message `text`, and leaves the input empty.
    pub(crate) fn rewind_to(&self, text: &str) -> Result<()> {
        self.tmux.type_text(&self.pane, "/rewind")?;
        self.wait_for("/rewind")?;
        self.press(&["Enter"])?;
        self.wait_for("(current)")?;
        let wanted = Some(format!("❯ {text}"));
        // Entries after the message, such as Claude Code's message about a subagent, are listed below it.
        let mut chosen = self.chosen()?;
        while chosen != wanted {
            let before = chosen;
            self.press(&["Up"])?;
            self.world.wait(&format!("an entry {text:?} in the list"), || Ok(self.chosen()? != before))?;
            chosen = self.chosen()?;
        }
        self.press(&["Enter"])?;
        self.wait_for("❯ 1. Restore conversation")?;
        self.press(&["Enter"])?;
        self.world.wait("the message in the input", || self.drafted(text))?;
        self.press(&["C-u"])?;
        self.world.wait("an empty input", || self.awaits_prompt())
    }

    /// Returns the chosen entry of an open list. Its lines are indented, those of the conversation are not.
    fn chosen(&self) -> Result<Option<String>> {
        let lines = self.tmux.capture(&self.pane)?;
        let chosen = lines.iter().rfind(|line| line.starts_with(' ') && line.trim_start().starts_with("❯ "));
        Ok(chosen.map(|line| line.trim().to_owned()))
    }

    /// Exits Claude Code, and waits until the pane is closed.
    pub(crate) fn exit(self) -> Result<()> {
        // The line may open a menu, in which Enter selects the same command.
        self.tmux.type_text(&self.pane, "/exit")?;
        self.world.wait("/exit in the input", || self.shows("/exit"))?;
        self.press(&["Enter"])?;
        self.world.wait("the client's end", || Ok(self.tmux.capture(&self.pane).is_err()))
    }

    /// Runs a command of Claude Code such as `/clear`, waits for the session that it starts and returns its id.
    pub(crate) fn restart(&self, command: &str) -> Result<String> {
        let started = self.world.events("SessionStart").len();
        self.tmux.type_text(&self.pane, command)?;
        self.wait_for(command)?;
        self.press(&["Enter"])?;
        self.world.wait("a new session", || Ok(self.world.events("SessionStart").len() > started))?;
        self.world.wait("an empty input", || self.awaits_prompt())?;
        self.id()
    }

    /// Kills Claude Code with SIGKILL.
    pub(crate) fn kill(&self) -> Result<()> {
        let pid = self.tmux.pid(&self.pane)?;
        ensure!(pid.parse::<u32>().is_ok(), "pane {} has no process", self.pane);
        run::output(run::program("kill").args(["-KILL", &pid]))?;
        self.world.wait("the client's end", || Ok(self.tmux.capture(&self.pane).is_err()))
    }
}
