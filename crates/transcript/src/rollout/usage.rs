//! The context usage of a Codex session, from its `token_count` events.

use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;

#[derive(Deserialize)]
struct CountWire {
    #[serde(default)]
    timestamp: Option<String>,
    payload: PayloadWire,
}

#[derive(Deserialize)]
struct PayloadWire {
    #[serde(rename = "type")]
    kind: String,
    info: Option<InfoWire>,
}

#[derive(Deserialize)]
struct InfoWire {
    last_token_usage: TokensWire,
    #[serde(default)]
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct TokensWire {
    #[serde(default)]
    total_tokens: u64,
}

#[derive(Deserialize)]
struct ContextWire {
    #[serde(rename = "type")]
    kind: String,
    payload: ModelWire,
}

#[derive(Deserialize)]
struct ModelWire {
    model: String,
}

/// Returns the tokens in the context, the size of the window and the time in a `token_count` event.
///
/// Returns `None` for other lines, for an event without `info`, which only reports the account's limits, and for an event
/// with no tokens, which is written before the first reply.
pub(crate) fn token_count(line: &[u8]) -> Option<(u64, Option<u64>, Option<Millis>)> {
    let count: CountWire = serde_json::from_slice(line).ok()?;
    let info = count.payload.info.filter(|_| count.payload.kind == "token_count")?;
    let tokens = info.last_token_usage.total_tokens;
    let at = count.timestamp.as_deref().and_then(parse_timestamp);
    (tokens > 0).then_some((tokens, info.model_context_window, at))
}

/// Returns the model in a `turn_context` line.
pub(crate) fn model(line: &[u8]) -> Option<String> {
    let context: ContextWire = serde_json::from_slice(line).ok()?;
    (context.kind == "turn_context").then_some(context.payload.model)
}
