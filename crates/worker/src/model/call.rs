//! Calls a model: the Anthropic API over HTTPS, with the user's key, or the `claude` command. Classifies their errors.

use std::io;
use std::path::Path;
use std::time::Duration;

use longhaul_core::may_receive_secret;
use longhaul_runtime::{Ended, GuardError, ModelAccess, run_guarded, waiting_times};
use longhaul_store::{Cost, Tokens};
use serde_json::{Value, json};

use super::ask::{Request, json_in};

/// The default model: small, and good enough for a few sentences.
const MODEL: &str = "claude-haiku-5-5";

/// The tool that the model must call. Its input is the answer.
const TOOL: &str = "write_memory";

/// The maximum size of a reply.
const MAX_REPLY: u64 = 4 * 1024 * 1024;

/// Calls the API and waits for the reply, at most `limit`.
pub(crate) fn ask(
    request: &Request,
    model: Option<&str>,
    access: &ModelAccess,
    limit: Duration,
) -> Result<Reply, Failure> {
    let no = |error: &str| Failure::of_way(error, Cost::Nothing);
    let key = access.api_key.as_deref().ok_or_else(|| no("ANTHROPIC_API_KEY is not set"))?;
    if !may_receive_secret(&access.base_url) {
        return Err(no("ANTHROPIC_BASE_URL is neither https:// nor on this machine: the key is not sent there"));
    }
    let url = format!("{}/v1/messages", access.base_url.trim_end_matches('/'));
    let sent = agent(limit)
        .post(url)
        .header("x-api-key", key)
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json")
        .send(body(request, model.unwrap_or(MODEL)).to_string());
    let mut response = sent.map_err(unsent)?;
    let status = response.status().as_u16();
    let text = response.body_mut().with_config().limit(MAX_REPLY).read_to_string();
    if status != 200 {
        return Err(refused(status, &text.unwrap_or_default()));
    }
    let lost = |error: ureq::Error| Failure::of_prompt(format!("the reply is incomplete: {error}"), Cost::Unknown);
    answer(&text.map_err(lost)?)
}

/// Returns a client that follows no redirect: neither the key nor the texts may be sent to its target.
pub(crate) fn agent(limit: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false);
    config.max_redirects(0).max_redirects_will_error(false).build().into()
}

fn body(request: &Request, model: &str) -> Value {
    json!({
        "model": model,
        "max_tokens": request.max_tokens,
        "system": request.system,
        "messages": [{ "role": "user", "content": request.text }],
        "tools": [{
            "name": TOOL,
            "description": "Writes the notes down in their better words.",
            "input_schema": request.schema,
        }],
        "tool_choice": { "type": "tool", "name": TOOL },
    })
}

/// Returns the failure of a request without a reply. One that never reached the API has cost nothing.
fn unsent(error: ureq::Error) -> Failure {
    let text = format!("cannot reach the API: {error}");
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_)
        | ureq::Error::BadUri(_)
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => Failure::of_way(text, Cost::Nothing),
        ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            Failure::of_way(text, Cost::Nothing)
        }
        _ => Failure::of_prompt(text, Cost::Unknown),
    }
}

/// Returns the failure of a request that the API has refused, which costs nothing.
fn refused(status: u16, text: &str) -> Failure {
    let reply: Value = serde_json::from_str(text).unwrap_or_default();
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    let error = format!("the API answered {status}: {}", message.chars().take(300).collect::<String>());
    match status {
        400 | 413 | 422 => Failure::of_prompt(error, Cost::Nothing),
        _ => Failure::of_way(error, Cost::Nothing),
    }
}

fn answer(text: &str) -> Result<Reply, Failure> {
    let reply: Value = serde_json::from_str(text).unwrap_or_default();
    let is_answer = |block: &&Value| block["type"] == "tool_use" && block["name"] == TOOL;
    let called = reply["content"].as_array().and_then(|blocks| blocks.iter().find(is_answer));
    match (called, usage(&reply)) {
        (Some(block), Some(tokens)) => Ok(Reply { answer: block["input"].clone(), tokens }),
        (Some(_) | None, _) => Err(Failure::of_prompt("the reply has no answer", cost(&reply))),
    }
}

/// The maximum tokens that `claude` adds to a request: its own prompt, and a second turn for the structured answer.
pub(crate) const OWN_TOKENS: u64 = 8_000;

/// Options that keep a request small and isolated. They are used if this version of `claude` has them.
const OPTIONS: [&[&str]; 6] = [
    // Without plugins, hooks and instructions of the user, but with the account.
    &["--safe-mode"],
    &["--settings", r#"{"disableAllHooks":true}"#],
    &["--strict-mcp-config"],
    &["--tools", ""],
    &["--disable-slash-commands"],
    &["--no-session-persistence"],
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
        OPTIONS.into_iter().filter(|words| self.has(words[0])).for_each(&mut add);
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

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) answer: Value,
    pub(crate) tokens: Tokens,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The worker exits. The next worker counts the cost of the request.
    NotWanted,
    /// The request failed.
    Failed { error: String, cost: Cost, blame: Blame },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The provider: no key, no network, too many requests. Another prompt would fail too.
    Way,
    /// Perhaps the prompt. After a few failures it is skipped.
    Prompt,
}

impl Failure {
    fn of_way(error: impl Into<String>, cost: Cost) -> Self {
        Self::Failed { error: error.into(), cost, blame: Blame::Way }
    }

    fn of_prompt(error: impl Into<String>, cost: Cost) -> Self {
        Self::Failed { error: error.into(), cost, blame: Blame::Prompt }
    }
}

/// Reads the reported cost of a reply: all tokens that the model has read, cached or not, and written.
pub(crate) fn usage(reply: &Value) -> Option<Tokens> {
    let usage = reply.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let input = cached.iter().filter_map(|name| count(name)).fold(count("input_tokens")?, u64::saturating_add);
    Some(Tokens { input, output: count("output_tokens")? })
}

/// Returns the cost of a reply, or that it is unknown.
pub(crate) fn cost(reply: &Value) -> Cost {
    usage(reply).map_or(Cost::Unknown, Cost::Reported)
}
