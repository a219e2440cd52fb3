//! How full a Codex session's context is, as its `token_count` events tell.

use longhaul_core::Millis;
use serde::Deserialize;

use crate::timestamp::parse_timestamp;

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

/// Returns what a `token_count` tells: tokens in the context, the window, when.
///
/// One without an `info` only tells of the account's limits; one of no tokens comes before the first reply.
pub(crate) fn token_count(line: &[u8]) -> Option<(u64, Option<u64>, Option<Millis>)> {
    let count: CountWire = serde_json::from_slice(line).ok()?;
    let info = count.payload.info.filter(|_| count.payload.kind == "token_count")?;
    let tokens = info.last_token_usage.total_tokens;
    let at = count.timestamp.as_deref().and_then(parse_timestamp);
    (tokens > 0).then_some((tokens, info.model_context_window, at))
}

/// Returns the model that a `turn_context` names.
pub(crate) fn model(line: &[u8]) -> Option<String> {
    let context: ContextWire = serde_json::from_slice(line).ok()?;
    (context.kind == "turn_context").then_some(context.payload.model)
}
