//! Gemini CLI, Qwen Code and opencode: a session from its start to its end, and Claude Code continues it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Rule;
use serde_json::{Value, json};

use super::super::client::{AgentProgram, GEMINI, OPENCODE, QWEN, Quit};
use super::super::world::{Cast, World};
use crate::stage::until;

/// Timeout for everything that is waited for. These programs start slowly.
const PATIENCE: Duration = Duration::from_secs(90);

/// Time after which a key without effect is pressed again.
const AGAIN: Duration = Duration::from_secs(3);

/// The summary of a compaction, which lacks everything.
const SUMMARY: &str = "<state_snapshot>A SUMMARY</state_snapshot>";

pub(crate) fn gemini(cast: &Cast, home: &Path) -> Result<()> {
    whole_session(cast, home, &GEMINI)
}

pub(crate) fn qwen(cast: &Cast, home: &Path) -> Result<()> {
    whole_session(cast, home, &QWEN)
}

pub(crate) fn opencode(cast: &Cast, home: &Path) -> Result<()> {
    whole_session(cast, home, &OPENCODE)
}

/// A session with a tool call, a permission dialog, a reply and a compaction: tracked at each step, found by search, given
/// back what the summary lacks, continued by Claude Code. Uninstalling leaves the agent's configuration as it was.
fn whole_session(cast: &Cast, home: &Path, program: &AgentProgram) -> Result<()> {
    let argv = match program.find(&cast.programs) {
        Ok(argv) => argv,
        Err(error) => {
            writeln!(io::stdout(), "  skipped: the session of {} ({error:#})", program.name)?;
            return Ok(());
        }
    };
    let rule = |[_, asked, _]: [&str; 3]| Rule { after: asked.to_owned(), say: SUMMARY.to_owned() };
    let world = World::new(cast, home, &json!({}), program.compact.map(rule).into_iter().collect())?;
    let config = home.join(program.config);
    for (path, content) in (program.files)(&world.model.url()) {
        let path = home.join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        fs::write(path, serde_json::to_string_pretty(&content)?)?;
    }
    let before = fs::read(&config).ok();
    world.longhaul(&["install", "--agent", program.name])?;
    let session = AgentSession::open(&world, program, argv)?;
    let note = world.project.join("note.txt");
    session.submit(&format!("WRITE:{};;RUN:echo the jar is blue;;SAY:the beans are in the jar", note.display()))?;
    session.wait("the dialog", || Ok(session.status()?.as_deref() == Some("blocked")))?;
    session.press_until("Enter", "the end of the turn", || Ok(session.status()?.as_deref() == Some("completed")))?;
    ensure!(note.exists(), "what was granted was not done");
    let id = session.row()?.context("the session is not tracked")?["session"].as_str().unwrap_or_default().to_owned();
    ensure!(id.starts_with(&format!("{}:", program.name)), "its id is {id}");
    for query in ["beans", "jar"] {
        let found = world.longhaul(&["memory", "search", query])?;
        ensure!(found.contains("the jar"), "a search for {query} finds nothing: {found}");
    }
    let rows = world.longhaul_json(&["monitor"])?;
    let row = rows.as_array().into_iter().flatten().find(|row| row["session"] == id.as_str());
    ensure!(
        row.is_some_and(|row| row["used_tokens"].as_u64() > Some(0)),
        "the monitor does not show its context: {rows}"
    );
    if let Some([command, _, done]) = program.compact {
        session.type_text(command)?;
        session.press_until("Enter", "the compaction", || Ok(session.screen()?.contains(done)))?;
        session.submit("SAY:the lid is on")?;
        session.wait("the end of the turn", || Ok(session.status()?.as_deref() == Some("completed")))?;
        let shown = world.shown("SAY:the lid is on").context("the prompt has not reached the model")?;
        ensure!(shown.mentions("A SUMMARY"), "the summary was not taken");
        // Qwen Code escapes the brackets of the frame.
        let body = shown.body.to_string();
        let (_, given) = body.rsplit_once("this session's compaction lacks").context("nothing was given back")?;
        let given = given.split("[More] longhaul detail").next().unwrap_or_default();
        ensure!(given.contains("note.txt") && given.contains("- echo the jar is blue"), "not given back: {given}");
    }
    world.longhaul(&["handoff", "write", "--session", &id])?;
    let claude = world.open(&[])?;
    claude.say("SAY:and where now?")?;
    let shown = world.shown("and where now?").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("the beans are in the jar"), "Claude Code is not shown what {} said", program.name);
    session.quit()?;
    world.longhaul(&["uninstall", "--agent", program.name])?;
    ensure!(fs::read(&config).ok() == before, "{} is not as it was", config.display());
    world.check_errors()
}

struct AgentSession<'a> {
    world: &'a World,
    program: &'a AgentProgram,
    pane: String,
}

impl<'a> AgentSession<'a> {
    /// Starts it, and waits until it accepts a prompt.
    fn open(world: &'a World, program: &'a AgentProgram, argv: Vec<String>) -> Result<Self> {
        let mut variables = world.variables();
        variables.extend((program.variables)(&world.model.url()));
        let variables: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let project = world.project.display().to_string();
        let mut words = vec!["new-window", "-P", "-F", "#{pane_id}", "-c", &project, "env"];
        words.extend(variables.iter().map(String::as_str));
        words.extend(argv.iter().map(String::as_str));
        words.extend(program.arguments);
        let pane = world.tmux(&words)?.trim().to_owned();
        let session = Self { world, program, pane };
        session.wait("its input", || Ok(session.screen()?.contains(program.ready)))?;
        Ok(session)
    }

    /// Types a text, and waits until it is in the input.
    fn type_text(&self, text: &str) -> Result<()> {
        self.world.tmux(&["send-keys", "-t", &self.pane, "-l", text])?;
        let end: String = text.chars().skip(text.chars().count().saturating_sub(12)).collect();
        self.wait("the text in its input", || Ok(self.screen()?.contains(&end)))
    }

    /// Types a prompt, and presses Enter until it works on it.
    fn submit(&self, text: &str) -> Result<()> {
        self.type_text(text)?;
        self.press_until("Enter", "the turn to begin", || {
            Ok(self.status()?.is_some_and(|status| status == "working" || status == "blocked"))
        })
    }

    fn quit(&self) -> Result<()> {
        let is_gone = || Ok(self.row()?.is_none());
        match self.program.quit {
            Quit::Key(key) => self.press_until(key, "its end", is_gone),
            Quit::Command(command) => {
                self.type_text(command)?;
                self.press_until("Enter", "its end", is_gone)
            }
        }
    }

    /// Presses a key, again after a while, until `is` returns true.
    fn press_until(&self, key: &str, what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.wait(what, || {
            if is()? {
                return Ok(true);
            }
            if pressed.is_none_or(|pressed| pressed.elapsed() > AGAIN) {
                pressed = Some(Instant::now());
                // After its end there is no pane.
                let _ = self.world.tmux(&["send-keys", "-t", &self.pane, key]);
            }
            Ok(false)
        })
    }

    fn row(&self) -> Result<Option<Value>> {
        let rows = self.world.longhaul_json(&["status"])?;
        Ok(rows.as_array().into_iter().flatten().find(|row| row["client"] == self.program.name).cloned())
    }

    fn status(&self) -> Result<Option<String>> {
        Ok(self.row()?.and_then(|row| row["status"].as_str().map(str::to_owned)))
    }

    fn screen(&self) -> Result<String> {
        self.world.tmux(&["capture-pane", "-p", "-t", &self.pane])
    }

    fn wait(&self, what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
        let waited = until(what, PATIENCE, || Ok(is()?.then_some(())));
        waited.with_context(|| {
            format!("the screen of {} shows:\n{}", self.program.name, self.screen().unwrap_or_default())
        })
    }
}
