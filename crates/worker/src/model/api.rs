//! Calls the Anthropic API over HTTPS, with the user's key, and classifies its errors by their HTTP status.

use std::io;
use std::time::Duration;

use longhaul_core::may_receive_secret;
use longhaul_runtime::ModelAccess;
use longhaul_store::Cost;
use serde_json::{Value, json};

use super::ask::Request;
use super::provider_reply::{Failure, Reply, cost, usage};

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
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        // The key must not be sent to the target of a redirect.
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
    let lost = |error: ureq::Error| Failure::of_prompt(format!("the reply is incomplete: {error}"), Cost::Unknown);
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
