//! `cargo xtask demo`: plays a long session through the real hooks and explains each step.

use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use longhaul_activity_log::{
    BookmarkVerdict, Metrics, Situation, SkipReason, TailStart, decide, measure, meets_any_threshold,
};
use longhaul_core::Config;
use longhaul_inject::{
    ClientActivity, EditorMode, ScreenState, TmuxPane, TypeWhen, TypingDecision, may_type, parse_inspection,
    screen_state,
};
use serde_json::{Value, json};
use xtask::workspace::{PACKAGE, Profile, Workspace};
use xtask::{run, test};

use crate::stage::{Role, Standin, Tmux, check_interrupts, plugin_folder, until, watch_interrupts};

/// The size of the pane, which fits into most terminals.
const COLUMNS: u16 = 88;
const ROWS: u16 = 24;

/// Builds everything and plays the session. Everything that it starts ends with it, also on errors and Ctrl-C.
pub(crate) fn run(workspace: &Workspace, keep: bool) -> Result<()> {
    test::ensure(&["tmux"])?;
    // In one build: separate builds would compile some crates twice.
    let bin = workspace.build(PACKAGE, &workspace.bins(), Profile::Dev, None)?;
    let standin = bin.join("examples/standin");
    watch_interrupts()?;

    let mut home =
        tempfile::Builder::new().prefix("longhaul-demo-").tempdir().context("cannot create a temporary home")?;
    home.disable_cleanup(keep);
    let result = play(home.path(), &bin, &standin).with_context(|| said_by_hooks(home.path()));
    check_interrupts()?;
    if keep {
        writeln!(io::stdout(), "\nkept: {}", home.path().display())?;
    }
    result
}

fn play(home: &Path, bin: &Path, standin: &Path) -> Result<()> {
    let project = make_project(home)?;
    let plugin = plugin_folder(home, bin)?;
    let tmux = Tmux::start("longhaul-demo", home, &project, COLUMNS, ROWS)?;
    let role = Role { home, session: ID, program: standin, plugin: &plugin };
    let standin = Standin::start(&tmux, &role)?;
    Story { voice: Voice::new(), tmux: &tmux, standin, cli: &bin.join(PACKAGE) }.tell()
}

/// Creates the folder that the session works in: a git repository if git is installed, because a bookmark notes the
/// commit.
fn make_project(home: &Path) -> Result<PathBuf> {
    let project = home.join("project");
    fs::create_dir(&project).context("cannot create a project folder")?;
    let identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"];
    for arguments in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "--message", "Begin"]] {
        let mut git = run::program("git");
        git.args(identity).args(arguments).current_dir(&project).env_remove("GIT_DIR");
        git.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        if run::output(&mut git).is_err() {
            break;
        }
    }
    Ok(project)
}

/// Returns the content of the hooks' error log, for an error message.
fn said_by_hooks(home: &Path) -> String {
    match fs::read_to_string(home.join("longhaul/longhaul.log")) {
        Ok(log) => format!("the hooks' error log says:\n{log}"),
        Err(_) => "the demo stopped".to_owned(),
    }
}

const ID: &str = "de300000-0000-4000-8000-000000000001";

const PROMPT: &str = "Move the parser into a crate of its own and get all tests to pass";

/// The model's last message.
const ANSWER: &str = "The parser is a crate of its own now; all 128 tests pass.";

/// A tool, the field of its input that names what it works on and its value, and the number of characters in its response.
type Call = (&'static str, &'static str, &'static str, usize);

/// Every call of the turn, in order.
const CALLS: &[Call] = &[
    ("Glob", "pattern", "src/**/*.rs", 940),
    ("Read", "file_path", "src/lib.rs", 1460),
    ("Read", "file_path", "src/parser.rs", 3920),
    ("Grep", "pattern", "use crate::parser", 610),
    ("Read", "file_path", "Cargo.toml", 480),
    ("Bash", "command", "cargo new --lib crates/parser", 190),
    ("Bash", "command", "git mv src/parser.rs crates/parser/src/lib.rs", 20),
    ("Edit", "file_path", "Cargo.toml", 310),
    ("Edit", "file_path", "crates/parser/src/lib.rs", 870),
    ("Edit", "file_path", "src/lib.rs", 420),
    ("Bash", "command", "cargo check --workspace", 2350),
    ("Read", "file_path", "src/eval.rs", 2980),
    ("Edit", "file_path", "src/eval.rs", 540),
    ("Bash", "command", "cargo check --workspace", 260),
    ("Bash", "command", "cargo test --workspace", 4120),
    ("Read", "file_path", "tests/errors.rs", 1730),
    ("Edit", "file_path", "tests/errors.rs", 380),
    ("Bash", "command", "cargo test --workspace", 3890),
];

const INTRODUCTION: &str = "
Longhaul sets rewind points in long Claude Code sessions, by itself. This plays such a session.

Nothing of yours is touched: the home is a throwaway folder, the tmux server is private, and in
its pane a program stands in for Claude Code. It draws the same input box and starts the plugin's
hooks as Claude Code does. The hooks are the real executables, with the default settings.";

const PATIENCE: Duration = Duration::from_secs(10);

/// The demo while it runs.
struct Story<'a> {
    voice: Voice,
    tmux: &'a Tmux,
    standin: Standin,
    cli: &'a Path,
}

impl Story<'_> {
    /// Plays all steps.
    fn tell(mut self) -> Result<()> {
        self.voice.say(INTRODUCTION)?;
        self.begin()?;
        self.prompt()?;
        let due = self.work()?;
        self.look_at_pane()?;
        self.cross_threshold(due)?;
        self.show_pane()?;
        self.finish(due)?;
        self.list()
    }

    fn begin(&mut self) -> Result<()> {
        self.voice.step("The session starts")?;
        let answer = self.standin.ask(&json!({ "do": "session", "source": "startup" }))?;
        let reply = answer["stdout"].as_str().unwrap_or_default().trim();
        self.voice.say(&format!("The hook of SessionStart notes in which tmux pane it runs. It answers {reply}"))
    }

    fn prompt(&mut self) -> Result<()> {
        self.voice.step("You type one prompt, and wait")?;
        self.tmux.type_line(&self.standin.pane, PROMPT)?;
        self.voice.say(&format!("❯ {PROMPT}"))?;
        until("the turn to begin", PATIENCE, || {
            let state = self.standin.ask(&json!({ "do": "state" }))?;
            Ok((state["turns"] == 1).then_some(()))
        })?;
        let line = self.standin.log.lines().pop().context("the prompt is not in the activity log")?;
        self.voice.say("The hook of UserPromptSubmit appends to the session's activity log:")?;
        self.voice.show(&line, "a prompt, with the time in milliseconds")
    }

    /// Plays the calls before the one that makes a bookmark due; returns that call's number, from 0.
    fn work(&mut self) -> Result<usize> {
        let limits = Config::default().bookmarks.thresholds;
        self.voice.step("Claude works: every tool call is counted")?;
        self.voice.say(&format!(
            "longhaul-post-tool-use appends one line per call, and adds up what came since the last bookmark.\n\
             Enough is {} tool calls, {} tokens, {} seconds or {} subagents, whichever comes first.",
            limits.min_tool_calls.0,
            limits.min_tokens.0,
            limits.min_seconds.get(),
            limits.agent_burst_threshold.0
        ))?;
        let due = limits.min_tool_calls.0 as usize - 1;
        for call in &CALLS[..due] {
            self.play(call)?;
        }
        Ok(due)
    }

    fn play(&mut self, (tool, key, subject, chars): &Call) -> Result<Value> {
        let input = json!({ *key: subject });
        let command = json!({ "do": "tool", "name": tool, "input": input, "response": "x".repeat(*chars) });
        let answer = self.standin.ask(&command)?;
        let lines = self.standin.log.lines();
        let line = lines.iter().rfind(|line| line.starts_with('T')).context("the call is not in the activity log")?;
        let subject = format!("{tool} {subject}");
        // Typing a bookmark starts a new window, so the totals would be of that one.
        let counted = if lines.last() == Some(line) { totals(&self.standin.log.metrics()) } else { String::new() };
        self.voice.show(line, format!("{subject:<50} {counted}").trim_end())?;
        Ok(answer)
    }

    /// Inspects the pane with the functions that the hook uses.
    fn look_at_pane(&mut self) -> Result<()> {
        self.voice.step("The next call meets the threshold. Before anything is typed, the pane is inspected")?;
        let socket = self.tmux.variable.split(',').next().unwrap_or_default().to_owned();
        let inspect = TmuxPane { socket, pane: self.standin.pane.clone() }.inspect();
        let (program, arguments) = inspect.argv.split_first().context("the command to inspect the pane is empty")?;
        let seen =
            parse_inspection(&run::output(run::program(program).args(arguments))?).context("the pane is gone")?;
        let state = screen_state(&seen, EditorMode::Normal);
        ensure!(matches!(state, ScreenState::Input { .. }), "the pane is not as it should be: {state:?}");
        let decision = may_type(&state, ClientActivity::Busy, TypeWhen::MidTurn, "·");
        ensure!(decision == TypingDecision::Type, "the pane is not safe to type into: {decision:?}");
        self.voice.succeed("the pane is alive, shows the client and is not in copy-mode")?;
        self.voice.succeed("a turn is running: what is typed now costs no request of its own")?;
        self.voice.succeed("the input is empty: no draft of yours would be sent along")?;
        self.voice.succeed("no dialog is open that would take Enter for a yes")
    }

    fn cross_threshold(&mut self, due: usize) -> Result<()> {
        self.voice.step("The threshold is met: · is typed into the running turn")?;
        let answer = self.play(&CALLS[due])?;
        let log = &self.standin.log;
        let found = until("the bookmark to be confirmed", PATIENCE, || Ok(log.metrics().last_bookmark));
        found.with_context(|| format!("the activity log ends with {:?}", log.lines().last()))?;
        let lines = log.lines();
        let injection = lines.iter().rposition(|line| line.starts_with('I')).context("nothing was typed")?;
        let window = measure((lines[..injection].join("\n") + "\n").as_bytes(), TailStart::LogStart);
        let reason = meets_any_threshold(&window, &Config::default().bookmarks.thresholds);
        let reason = reason.context("a bookmark was typed although none was due")?;
        self.voice.show(&lines[injection], &format!("{reason}: a bookmark is about to be typed"))?;
        let receipt = lines[injection..].iter().find(|line| line.starts_with('B')).cloned().unwrap_or_default();
        self.voice
            .show(&receipt, "the hook of UserPromptSubmit: the client has received it, the count starts again")?;
        let took = answer["hooks"][0]["ms"].as_u64().unwrap_or_default();
        self.voice
            .say(&format!("This call's hook took {took} ms, inspecting and typing included. The others only append."))
    }

    fn show_pane(&mut self) -> Result<()> {
        self.voice.step("This is what you see")?;
        let pane = self.standin.pane.clone();
        let screen = until("the bookmark on the screen", PATIENCE, || {
            let screen = self.tmux.capture(&pane)?;
            Ok(screen.iter().any(|line| line.trim_end() == "❯ ·").then_some(screen))
        })?;
        self.voice.frame(&screen[screen.len().saturating_sub(usize::from(ROWS))..], usize::from(COLUMNS))?;
        let output = until("the output of the prompt hook", PATIENCE, || {
            let state = self.standin.ask(&json!({ "do": "state" }))?;
            let marker = state["submitted"].as_array().and_then(|prompts| prompts.last());
            Ok(marker.and_then(|marker| marker["prompt_hook_stdout"].as_str()).map(str::to_owned))
        })?;
        let output: Value = serde_json::from_str(&output).context("the prompt hook does not answer JSON")?;
        let added = output["hookSpecificOutput"]["additionalContext"].as_str();
        self.voice.say("The hook adds to it, for Claude:")?;
        self.voice.quote(added.context("the prompt hook adds no context")?)
    }

    fn finish(&mut self, due: usize) -> Result<()> {
        self.voice.step("Claude works on, and the turn ends")?;
        for call in &CALLS[due + 1..] {
            self.play(call)?;
        }
        let metrics = self.standin.log.metrics();
        self.standin.ask(&json!({ "do": "stop", "message": ANSWER }))?;
        self.voice.show(&self.standin.log.lines().pop().unwrap_or_default(), "the hook of Stop: the turn is over")?;
        let bookmarks = Config::default().bookmarks;
        let now = metrics.last_activity.unwrap_or_default();
        if let BookmarkVerdict::Skip(skip) = decide(Situation::AgentReturn, &bookmarks, true, &metrics, now) {
            self.voice
                .say(&format!("No bookmark here: {}; your next prompt is a rewind point anyway.", plain(skip)))?;
        }
        let state = self.standin.ask(&json!({ "do": "state" }))?;
        ensure!(state["turns"] == 1, "the bookmark has started a turn of its own");
        self.voice.succeed("one prompt, one turn: the bookmark made no request to the model")
    }

    fn list(&mut self) -> Result<()> {
        self.voice.step("Later: longhaul bookmarks")?;
        let mut cli = run::program(self.cli);
        cli.arg("bookmarks").env_clear().envs(self.standin.variables.iter().map(|(name, value)| (*name, value)));
        self.voice.say(&run::output(&mut cli)?)?;
        self.voice.say(
            "\nIn Claude Code, /rewind now lists the ·. If you choose it, the conversation goes back to the middle of\n\
             that turn, with the tool results up to there. To install Longhaul: cargo xtask install",
        )
    }
}

fn totals(metrics: &Metrics) -> String {
    format!("calls {:>2}, tokens {:>4}", metrics.tool_calls, metrics.estimated_tokens())
}

fn plain(skip: SkipReason) -> String {
    match skip {
        SkipReason::Cooldown { left_ms } => {
            format!("the last one is too recent ({} s to go)", left_ms.div_ceil(1000))
        }
        other => other.to_string(),
    }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const CYAN: &str = "36";

/// Maximum line length of a quotation.
const LINE: usize = 90;

/// Writes to standard output.
struct Voice {
    colours: bool,
    step: usize,
}

impl Voice {
    /// Colours are used if standard output is a terminal and `NO_COLOR` is not set.
    pub(crate) fn new() -> Self {
        Self { colours: io::stdout().is_terminal() && run::var("NO_COLOR").is_none(), step: 0 }
    }

    /// Prints the heading of the next step.
    pub(crate) fn step(&mut self, title: &str) -> Result<()> {
        self.step += 1;
        let title = self.paint(BOLD, format!("{}  {title}", self.step));
        Ok(writeln!(io::stdout(), "\n{title}")?)
    }

    pub(crate) fn say(&self, text: &str) -> Result<()> {
        for line in text.lines() {
            writeln!(io::stdout(), "{}", format!("   {line}").trim_end())?;
        }
        Ok(())
    }

    /// Prints a check that has passed.
    fn succeed(&self, text: &str) -> Result<()> {
        Ok(writeln!(io::stdout(), "   {} {text}", self.paint(GREEN, "✓"))?)
    }

    /// Prints output of a program, or a line of a file, with its meaning.
    pub(crate) fn show(&self, text: &str, meaning: &str) -> Result<()> {
        let text = self.paint(CYAN, format!("{text:<25}"));
        Ok(writeln!(io::stdout(), "     {text}  {meaning}")?)
    }

    /// Prints a longer text, wrapped.
    fn quote(&self, text: &str) -> Result<()> {
        let mut lines = vec![String::new()];
        for word in format!("“{text}”").split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if line.chars().count() + word.chars().count() < LINE => *line += &format!(" {word}"),
                _ => lines.push(word.to_owned()),
            }
        }
        lines.iter().try_for_each(|line| self.say(&format!("  {}", self.paint(CYAN, line))))
    }

    /// Prints a screen in a frame, without the blank lines at its top and bottom.
    pub(crate) fn frame(&self, screen: &[String], columns: usize) -> Result<()> {
        let mut out = io::stdout();
        let edge = |left, right| self.paint(DIM, format!("{left}{}{right}", "─".repeat(columns)));
        let side = self.paint(DIM, "│");
        let blank = |line: &&String| line.trim().is_empty();
        let above = screen.iter().take_while(blank).count();
        let below = screen.iter().rev().take_while(blank).count();
        writeln!(out, "   {}", edge("┌", "┐"))?;
        for line in &screen[above..screen.len().saturating_sub(below).max(above)] {
            writeln!(out, "   {side}{line:<columns$}{side}")?;
        }
        Ok(writeln!(out, "   {}", edge("└", "┘"))?)
    }

    fn paint(&self, colour: &str, text: impl Display) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_string() }
    }
}
