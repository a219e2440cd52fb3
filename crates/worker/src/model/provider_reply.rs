//! The reply or the failure of a provider, and its cost in tokens: the same for the API and for `claude`.

use longhaul_store::{Cost, Tokens};
use serde_json::Value;

/// An answer and its cost.
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

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The provider: no key, no network, too many requests. Another prompt would fail too.
    Way,
    /// Perhaps the prompt. After a few failures it is skipped.
    Prompt,
}

impl Failure {
    pub(crate) fn of_way(error: impl Into<String>, cost: Cost) -> Self {
        Self::Failed { error: error.into(), cost, blame: Blame::Way }
    }

    pub(crate) fn of_prompt(error: impl Into<String>, cost: Cost) -> Self {
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
