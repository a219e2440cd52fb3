//! The commands that a session will need again.

use longhaul_core::one_line;
use serde::{Deserialize, Serialize};

use super::{CompactionCall, shown, text_at};

/// The maximum length of a command, in characters. A part of a command cannot be run.
const COMMAND_CHARS: usize = 300;

/// The length up to which a command is given back that ran once and is none of the kinds below, in characters.
const ONCE_CHARS: usize = 100;

/// The maximum length of the error message of a command, in characters.
const ERROR_CHARS: usize = 160;

/// The number of commands that are kept.
const COMMANDS: usize = 80;

/// Words of commands that are usually run again: they test, build, check, format, start or deliver.
const KINDS: &[&str] = &[
    "bench",
    "build",
    "check",
    "clippy",
    "compile",
    "cypress",
    "deploy",
    "dev",
    "doc",
    "e2e",
    "eslint",
    "fmt",
    "format",
    "generate",
    "install",
    "jest",
    "lint",
    "make",
    "migrate",
    "mypy",
    "nextest",
    "package",
    "phpunit",
    "playwright",
    "prettier",
    "publish",
    "pytest",
    "release",
    "rspec",
    "ruff",
    "run",
    "serve",
    "start",
    "task",
    "test",
    "tests",
    "tox",
    "tsc",
    "typecheck",
    "up",
    "validate",
    "verify",
    "vet",
    "vitest",
    "watch",
    "xtask",
];

/// Words of a line that says what went wrong.
const ERRORS: &[&str] =
    &["error", "errors", "fail", "failed", "failure", "panic", "panicked", "fatal", "denied", "exception"];

/// How the client begins the output of a call that the user refused.
const REFUSALS: &[&str] = &["The user doesn't want to", "User rejected", "Permission to use", "[Request interrupted"];

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Command {
    pub(super) text: String,
    runs: usize,
    /// The first line of its error, if its last run failed.
    failure: Option<String>,
}

impl Command {
    pub(super) fn is_failing(&self) -> bool {
        self.failure.is_some()
    }

    pub(super) fn line(&self) -> String {
        let runs = if self.runs > 1 { format!("{} runs", self.runs) } else { String::new() };
        let failure = self.failure.as_ref().map(|error| format!("FAILING: {}", shown(error)));
        let notes: Vec<String> = [Some(runs), failure].into_iter().flatten().filter(|note| !note.is_empty()).collect();
        let text = shown(&self.text);
        if notes.is_empty() { text } else { format!("{text}  ({})", notes.join("; ")) }
    }
}

/// The commands of a session, each once, the newest last.
#[derive(Default)]
pub(super) struct Commands(Vec<Command>);

impl Commands {
    pub(super) fn add(&mut self, call: &CompactionCall<'_>) {
        let Some(text) = text_at(call.input, "command").or_else(|| text_at(call.input, "cmd")) else { return };
        let text = text.trim();
        if text.is_empty() || text.chars().nth(COMMAND_CHARS).is_some() {
            return;
        }
        // A call that the user refused has not run.
        if call.is_error && REFUSALS.iter().any(|refusal| call.output.trim_start().starts_with(refusal)) {
            return;
        }
        let known = self.0.iter().position(|command| command.text == text).map(|at| self.0.remove(at));
        let mut command = known.unwrap_or_else(|| Command { text: text.to_owned(), ..Command::default() });
        command.runs += 1;
        command.failure = if call.is_error { first_error(call.output) } else { None };
        self.0.push(command);
    }

    /// Returns the commands in the order in which they will be needed: what was run again, what is usually run again, then
    /// short ones; the newest first in each.
    pub(super) fn most_needed(self) -> Vec<Command> {
        let rank = |command: &Command| match command {
            _ if command.runs > 1 => 0,
            _ if is_of_a_kind(&command.text) => 1,
            _ if command.text.contains('\n') => 3,
            _ if command.text.chars().nth(ONCE_CHARS).is_none() => 2,
            _ => 3,
        };
        let mut commands = self.0;
        commands.reverse();
        commands.sort_by_key(rank);
        commands.truncate(COMMANDS);
        commands
    }
}

/// Returns whether a command tests, builds, checks, formats, starts or delivers something.
fn is_of_a_kind(command: &str) -> bool {
    let words = command.split(|c: char| !c.is_alphanumeric()).take(12);
    !command.contains('\n') && words.into_iter().any(|word| KINDS.contains(&word))
}

/// Returns the first line of an output that says what went wrong.
///
/// A command such as `grep` also fails where it finds nothing, and then says nothing.
fn first_error(output: &str) -> Option<String> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Exit code"));
    let says_error = |line: &&str| {
        let lower = line.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        words.any(|word| ERRORS.contains(&word)) || lower.contains("not found")
    };
    let line = lines().find(says_error).or_else(|| lines().next())?;
    Some(one_line(line, ERROR_CHARS))
}
