//! What both ways of asking have in common.

use longhaul_store::{Cost, Tokens};
use serde_json::Value;

/// An answer and what it has cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) answer: Value,
    pub(crate) tokens: Tokens,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The worker ends. Whatever the request has cost is counted by the next one.
    NotWanted,
    /// It did not work.
    Failed { error: String, cost: Cost, blame: Blame },
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The way's: no key, no network, too many requests. Another prompt would fare no better.
    Way,
    /// Perhaps the prompt's. After a few times it is given up.
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

/// Reads what a reply says it has cost: everything that the model has read, from a cache or not, and written.
pub(crate) fn usage(reply: &Value) -> Option<Tokens> {
    let usage = reply.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let input = cached.iter().filter_map(|name| count(name)).fold(count("input_tokens")?, u64::saturating_add);
    Some(Tokens { input, output: count("output_tokens")? })
}

/// Returns the cost of a reply that reports one, else that nobody knows.
pub(crate) fn cost(reply: &Value) -> Cost {
    usage(reply).map_or(Cost::Unknown, Cost::Reported)
}
