//! The Anthropic API over HTTPS, with the user's key.

use std::io;
use std::time::Duration;

use longhaul_runtime::ModelAccess;
use longhaul_store::Cost;
use serde_json::{Value, json};

use super::ask::Request;
use super::provider::{Failure, Reply, cost, usage};

/// The model where the user names none: small, and good enough for a few sentences.
const MODEL: &str = "claude-haiku-5-5";

/// The tool that the model is made to call: its input is the answer.
const TOOL: &str = "write_memory";

/// The longest reply.
const MAX_REPLY: u64 = 4 * 1024 * 1024;

/// Asks the API and waits for its reply, for `limit` at most.
pub(crate) fn ask(
    request: &Request,
    model: Option<&str>,
    access: &ModelAccess,
    limit: Duration,
) -> Result<Reply, Failure> {
    let no = |error: &str| Failure::of_way(error, Cost::Nothing);
    let key = access.api_key.as_deref().ok_or_else(|| no("ANTHROPIC_API_KEY is not set"))?;
    if !is_safe(&access.base_url) {
        return Err(no("ANTHROPIC_BASE_URL is neither https:// nor on this machine: the key is not sent there"));
    }
    let url = format!("{}/v1/messages", access.base_url.trim_end_matches('/'));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        // Wherever it would lead, the key is not for there.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build()
        .into();
    let sent = agent
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
    let lost = |error: ureq::Error| Failure::of_prompt(format!("no whole reply: {error}"), Cost::Unknown);
    answer(&text.map_err(lost)?)
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

/// Returns whether the key may be sent there: over TLS, or to this machine.
pub(crate) fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(ip6) => ip6.split(']').next(),
        None => authority.split(':').next(),
    };
    !authority.contains('@') && matches!(host, Some("127.0.0.1" | "::1" | "localhost"))
}

/// A request that got no reply: where it never got there, it has cost nothing.
fn unsent(error: ureq::Error) -> Failure {
    let text = format!("cannot ask the API: {error}");
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

/// What the API turns away costs nothing.
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
        (Some(_) | None, _) => Err(Failure::of_prompt("the reply holds no answer", cost(&reply))),
    }
}
