//! The real Codex: found, or installed with npm; set up for a scenario; and its windows.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use longhaul_inject::{ScreenState, TmuxPane, TurnSign, codex_screen_state, parse_inspection};
use serde_json::{Value, json};
use xtask::run;

use super::session::Session;
use super::world::{Cast, WITNESS, World};

/// The version that the scenarios are written for.
const VERSION: &str = "0.166.0";

/// Timeout for npm.
const INSTALL: Duration = Duration::from_secs(180);

/// Events that are recorded independently of Longhaul.
const WITNESSED: &[&str] = &["SessionStart", "UserPromptSubmit", "Stop"];

/// The files of Codex's background processes.
const DAEMONS: [&str; 2] = ["app-server-daemon/daemon.pid", "app-server-daemon/daemon-updater.pid"];

/// The answer to Codex's question about new hooks.
const TRUST: &str = "Trust all and continue";

/// Codex in the home of a scenario, until it is dropped.
pub(crate) struct Codex<'a> {
    pub(crate) world: &'a World,
    program: PathBuf,
    folder: PathBuf,
}

impl<'a> Codex<'a> {
    /// Sets Codex up, with Longhaul; `None` where it cannot be installed, which is reported.
    pub(crate) fn set_up(cast: &Cast, world: &'a World) -> Result<Option<Self>> {
        let codex = Self::without_longhaul(cast, world)?;
        if codex.is_some() {
            world.longhaul(&["install", "--codex"])?;
        }
        Ok(codex)
    }

    /// Sets Codex up, without Longhaul.
    pub(crate) fn without_longhaul(cast: &Cast, world: &'a World) -> Result<Option<Self>> {
        let program = match find(&cast.marketplace.with_file_name("e2e").join("codex")) {
            Ok(program) => program,
            Err(error) => {
                writeln!(io::stdout(), "  skipped: Codex {VERSION} ({error:#})")?;
                return Ok(None);
            }
        };
        let home = world.home();
        let folder = home.join(".codex");
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(home.join(".local/bin"))?;
        symlink(cast.bundle().join("bin/longhaul"), home.join(".local/bin/longhaul"))?;
        symlink(&program, home.join("bin/codex"))?;
        fs::write(folder.join("config.toml"), config(&world.model.url(), &world.project))?;
        let witness = json!([{ "hooks": [{ "type": "command", "command": WITNESS, "timeout": 5 }] }]);
        let hooks = WITNESSED.iter().map(|event| ((*event).to_owned(), witness.clone()));
        let hooks = json!({ "hooks": hooks.collect::<serde_json::Map<_, _>>() });
        fs::write(folder.join("hooks.json"), serde_json::to_string_pretty(&hooks)?)?;
        Ok(Some(Self { world, program, folder }))
    }

    /// Returns the text of a file of Codex.
    pub(crate) fn file(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.folder.join(name)).with_context(|| format!("cannot read Codex's {name}"))
    }

    /// Opens a window, trusts the hooks if Codex asks, and waits until its input is empty.
    pub(crate) fn open(&self, arguments: &[&str]) -> Result<Window<'a>> {
        let program = self.program.display().to_string();
        let mut words = vec!["SCRIPTED_KEY=none", program.as_str()];
        words.extend(arguments);
        let window = Window { session: self.world.start(&words)? };
        if !self.file("config.toml")?.contains("trusted_hash") {
            window.session.wait_for(TRUST)?;
            let chosen = format!("› 2. {TRUST}");
            let mut pressed: Option<Instant> = None;
            self.world.wait("the answer to be chosen", || {
                // A dialog may ignore keys for a moment after it is drawn.
                if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(2)) {
                    window.session.press(&["Down"])?;
                    pressed = Some(Instant::now());
                }
                window.session.shows(&chosen)
            })?;
            window.session.press(&["Enter"])?;
        }
        self.world.wait("Codex's input", || window.awaits_prompt())?;
        Ok(window)
    }
}

impl Drop for Codex<'_> {
    /// Ends the background processes, which outlive the windows and write to the home.
    fn drop(&mut self) {
        for file in DAEMONS {
            let Ok(text) = fs::read_to_string(self.folder.join(file)) else { continue };
            let record: Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(pid) = record["pid"].as_u64() {
                let _ = run::output(run::program("kill").args(["-KILL", &pid.to_string()]));
            }
        }
    }
}

/// A window of Codex.
pub(crate) struct Window<'a> {
    pub(crate) session: Session<'a>,
}

impl Window<'_> {
    /// Submits a prompt, waits until its turn has ended and the input is empty, and returns Codex's id of the session.
    pub(crate) fn say(&self, prompt: &str) -> Result<String> {
        let stops = self.world().events("Stop").len();
        self.submit(prompt)?;
        self.world()
            .wait(&format!("the end of the turn {prompt:?}"), || Ok(self.world().events("Stop").len() > stops))?;
        // The Stop hook is a part of the turn, and commands are refused until that is over.
        self.world().wait("the end of the turn on the screen", || self.has_answered(prompt))?;
        self.world().wait("an empty input", || self.awaits_prompt())?;
        self.id_of(prompt)
    }

    /// Returns whether the screen shows the end of the turn of a prompt.
    fn has_answered(&self, prompt: &str) -> Result<bool> {
        let lines = self.session.tmux.capture(&self.session.pane)?;
        let start: String = prompt.chars().take(40).collect();
        let asked = lines.iter().rposition(|line| line.starts_with("› ") && line.contains(&start));
        Ok(asked.is_some_and(|at| lines[at..].iter().any(|line| line.contains("Worked for"))))
    }

    /// Presses a key in a dialog until it is gone. A dialog ignores keys for a moment after it is drawn.
    pub(crate) fn answer(&self, key: &str, dialog: &str) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.session.wait_for(dialog)?;
        self.world().wait("the dialog's end", || {
            if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(2)) {
                self.session.press(&[key])?;
                pressed = Some(Instant::now());
            }
            Ok(!self.session.shows(dialog)?)
        })
    }

    /// Returns Codex's id of the session in which a prompt was submitted last.
    pub(crate) fn id_of(&self, prompt: &str) -> Result<String> {
        let events = self.world().events("UserPromptSubmit").into_iter().rev();
        let own = events.into_iter().find(|event| event["prompt"] == prompt);
        let id = own.and_then(|event| event["session_id"].as_str().map(str::to_owned));
        id.with_context(|| format!("no hook has seen {prompt:?}"))
    }

    /// Types a line, waits until it is in the input, and presses Enter.
    pub(crate) fn submit(&self, text: &str) -> Result<()> {
        self.session.tmux.type_text(&self.session.pane, text)?;
        self.world().wait(&format!("{text:?} in the input"), || Ok(self.look()?.holds(text)))?;
        self.session.press(&["Enter"])
    }

    /// Returns whether the input is shown and empty, and no turn runs.
    pub(crate) fn awaits_prompt(&self) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Input { draft: None, turn: TurnSign::Idle, .. }))
    }

    /// Returns the state of the screen, as Longhaul reads it.
    pub(crate) fn look(&self) -> Result<ScreenState> {
        let socket = self.session.tmux.variable.split(',').next().unwrap_or_default().to_owned();
        let inspect = TmuxPane { socket, pane: self.session.pane.clone() }.inspect();
        let (program, arguments) = inspect.argv.split_first().context("the command to inspect the pane is empty")?;
        let seen = run::output(run::program(program).args(arguments));
        let Some(seen) = seen.ok().and_then(|seen| parse_inspection(&seen)) else {
            bail!("pane {} is gone", self.session.pane);
        };
        Ok(codex_screen_state(&seen))
    }

    fn world(&self) -> &World {
        self.session.world
    }
}

/// Returns Codex's executable: the one that `CODEX_BIN` names, or one installed at `prefix`.
fn find(prefix: &Path) -> Result<PathBuf> {
    if let Some(named) = run::var("CODEX_BIN") {
        let named = PathBuf::from(named);
        return named.canonicalize().with_context(|| format!("CODEX_BIN: there is no {}", named.display()));
    }
    let program = prefix.join("node_modules/.bin/codex");
    let version = run::output(run::program(&program).arg("--version"));
    if !version.is_ok_and(|version| version.trim().ends_with(VERSION)) {
        ensure!(run::find("npm").is_some(), "name one in CODEX_BIN, or install npm");
        let package = format!("@openai/codex@{VERSION}");
        let mut install = run::program("npm");
        install.args(["install", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "0", "--prefix"]);
        run::within(install.arg(prefix).arg(&package), INSTALL)?;
    }
    program.canonicalize().with_context(|| format!("npm left no {}", program.display()))
}

/// Returns Codex's configuration: a model on loopback, a project that is trusted, and comments.
fn config(url: &str, project: &Path) -> String {
    format!(
        "# A comment that stays.\nmodel   = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\n\n[projects.{:?}]\ntrust_level = \"trusted\"\n",
        project.display().to_string()
    )
}
