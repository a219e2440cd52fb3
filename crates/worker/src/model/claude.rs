//! Runs `claude -p`, with the user's own account.

use std::path::Path;
use std::time::Duration;

use longhaul_runtime::{Ended, GuardError, ModelAccess, run_guarded, waiting_times};
use longhaul_store::Cost;
use serde_json::Value;

use super::answer::json_in;
use super::ask::Request;
use super::provider_reply::{Failure, Reply, cost, usage};

/// The maximum tokens that `claude` adds to a request: its own prompt, and a second turn for the structured answer.
pub(crate) const OWN_TOKENS: u64 = 8_000;

/// Options that keep a request small and isolated. They are used if this version of `claude` has them.
const OPTIONS: [(&str, &[&str]); 6] = [
    // Without plugins, hooks and instructions of the user, but with the account.
    ("--safe-mode", &["--safe-mode"]),
    ("--settings", &["--settings", r#"{"disableAllHooks":true}"#]),
    ("--strict-mcp-config", &["--strict-mcp-config"]),
    ("--tools", &["--tools", ""]),
    ("--disable-slash-commands", &["--disable-slash-commands"]),
    ("--no-session-persistence", &["--no-session-persistence"]),
];

/// `claude`, and the options that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    program: String,
    help: String,
}

impl Client {
    /// Finds out which options `claude` has.
    pub(crate) fn find(access: &ModelAccess, dir: &Path, is_wanted: impl Fn() -> bool) -> Result<Self, Failure> {
        let argv = [access.claude.clone(), "--help".to_owned()];
        let ended = run_guarded(&argv, dir, "", waiting_times::CLAUDE_HELP, is_wanted)
            .map_err(|error| stopped(error, Cost::Nothing))?;
        if ended.status != Some(0) {
            return Err(Failure::of_way(said(&access.claude, &ended), Cost::Nothing));
        }
        Ok(Self { program: access.claude.clone(), help: ended.stdout })
    }

    fn has(&self, option: &str) -> bool {
        self.help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == option)
    }

    fn argv(&self, request: &Request, model: Option<&str>) -> Vec<String> {
        let mut argv = vec![self.program.clone()];
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["-p", "--output-format", "json"]);
        for (option, words) in OPTIONS {
            if self.has(option) {
                add(words);
            }
        }
        if self.has("--system-prompt") {
            add(&["--system-prompt", request.system]);
        }
        if self.has("--json-schema") {
            add(&["--json-schema", &request.schema.to_string()]);
        }
        if let Some(model) = model {
            add(&["--model", model]);
        }
        argv
    }

    /// Returns the input of `claude`, with the instructions for which it has no option.
    fn input(&self, request: &Request) -> String {
        let mut input = String::new();
        if !self.has("--system-prompt") {
            input = format!("{}\n\n", request.system);
        }
        if !self.has("--json-schema") {
            input = format!("{input}Answer with JSON of this schema and nothing else:\n{}\n\n", request.schema);
        }
        format!("{input}{}", request.text)
    }

    /// Runs `claude` and waits for the answer, at most `limit`.
    pub(crate) fn ask(
        &self,
        request: &Request,
        model: Option<&str>,
        dir: &Path,
        limit: Duration,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Reply, Failure> {
        let argv = self.argv(request, model);
        let ended = run_guarded(&argv, dir, &self.input(request), limit, is_wanted)
            .map_err(|error| stopped(error, Cost::Unknown))?;
        let reply: Value = serde_json::from_str(ended.stdout.trim()).unwrap_or_default();
        if ended.status != Some(0) || reply["is_error"] == true {
            // A process that was never started has cost nothing.
            let cost = if ended.status == Some(127) { Cost::Nothing } else { cost(&reply) };
            return Err(Failure::of_way(said(&self.program, &ended), cost));
        }
        let answer = match &reply["structured_output"] {
            Value::Null => reply["result"].as_str().and_then(json_in),
            structured => Some(structured.clone()),
        };
        match (answer, usage(&reply)) {
            (Some(answer), Some(tokens)) => Ok(Reply { answer, tokens }),
            (Some(_) | None, _) => Err(Failure::of_prompt("Claude Code's reply has no answer", cost(&reply))),
        }
    }
}

fn stopped(error: GuardError, cost: Cost) -> Failure {
    match error {
        GuardError::Start(error) => Failure::of_way(error.chain(), Cost::Nothing),
        GuardError::TimedOut { .. } => Failure::of_prompt(error.to_string(), cost),
        GuardError::NotWanted { .. } => Failure::NotWanted,
    }
}

/// Returns the error message of a failed run.
fn said(program: &str, ended: &Ended) -> String {
    let reply: Value = serde_json::from_str(ended.stdout.trim()).unwrap_or_default();
    let message = reply["result"].as_str().unwrap_or_else(|| ended.stderr.trim());
    let status = ended.status.map_or_else(|| "a signal".to_owned(), |status| format!("status {status}"));
    format!("{program} ended with {status}: {}", message.chars().take(300).collect::<String>())
}
