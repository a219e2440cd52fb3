//! The tokens of context that the newest reply reports.

use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;

use crate::rollout;

/// The beginning of every line of a rollout.
const ROLLOUT: &[u8] = b"{\"timestamp\":\"";

/// The context usage of the newest reply in the main conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The number of tokens in the context: input, cache writes and cache reads.
    pub tokens: u64,
    /// The id of the model that replied.
    pub model: Option<String>,
    /// The time of the reply, or of a later compaction.
    pub at: Option<Millis>,
    /// The size of the context window in tokens, where the transcript contains it. Only rollouts do.
    pub window: Option<u64>,
}

impl Usage {
    /// Returns the use of `tokens` by an unknown model at an unknown time.
    pub fn new(tokens: u64) -> Self {
        Self { tokens, model: None, at: None, window: None }
    }
}

#[derive(Deserialize)]
struct EntryWire {
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
    #[serde(default)]
    timestamp: Option<String>,
    message: MessageWire,
}

#[derive(Deserialize)]
struct MessageWire {
    #[serde(default)]
    model: Option<String>,
    usage: UsageWire,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct UsageWire {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// The entry that a compaction writes, with the size of the compacted conversation.
#[derive(Deserialize)]
struct BoundaryWire {
    subtype: String,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default, rename = "compactMetadata")]
    metadata: Option<MetadataWire>,
}

#[derive(Deserialize)]
struct MetadataWire {
    #[serde(default, rename = "postTokens")]
    tokens: Option<u64>,
}

/// Returns the usage of the newest reply at the end of a transcript, without subagents' replies.
///
/// After a compaction and until the next reply, the token count is the size of the compacted conversation; the result is
/// `None` where the compaction's entry has no size. Lines that are incomplete or of other kinds are skipped, and so are
/// replies without tokens, which Claude Code wrote itself.
pub fn latest_usage(tail: &[u8]) -> Option<Usage> {
    let mut left: Option<(u64, Option<Millis>)> = None;
    for line in tail.rsplit(|byte| *byte == b'\n') {
        if line.starts_with(ROLLOUT) && contains(line, b"\"payload\":") {
            return rollout_usage(tail);
        }
        if let Some(reply) = reply(line) {
            return Some(match left {
                Some((tokens, at)) => Usage { tokens, at: at.or(reply.at), ..reply },
                None => reply,
            });
        }
        if left.is_none()
            && let Some(boundary) = boundary(line)
        {
            let at = boundary.timestamp.as_deref().and_then(parse_timestamp);
            left = Some((boundary.metadata.and_then(|metadata| metadata.tokens)?, at));
        }
    }
    left.map(|(tokens, at)| Usage { tokens, model: None, at, window: None })
}

/// Returns the newest usage at the end of a rollout, with the model of its last turn.
fn rollout_usage(tail: &[u8]) -> Option<Usage> {
    let lines = || tail.rsplit(|byte| *byte == b'\n');
    let (tokens, window, at) =
        lines().filter(|line| contains(line, b"\"token_count\"")).find_map(rollout::token_count)?;
    let model = lines().filter(|line| contains(line, b"\"turn_context\"")).find_map(rollout::model);
    Some(Usage { tokens, model, at, window })
}

fn reply(line: &[u8]) -> Option<Usage> {
    if !contains(line, b"\"usage\"") {
        return None;
    }
    let entry: EntryWire = serde_json::from_slice(line).ok()?;
    let usage = entry.message.usage;
    let tokens = usage
        .input_tokens
        .saturating_add(usage.cache_creation_input_tokens)
        .saturating_add(usage.cache_read_input_tokens);
    let at = entry.timestamp.as_deref().and_then(parse_timestamp);
    (!entry.is_sidechain && tokens > 0).then_some(Usage { tokens, model: entry.message.model, at, window: None })
}

fn boundary(line: &[u8]) -> Option<BoundaryWire> {
    if !contains(line, b"\"compact_boundary\"") {
        return None;
    }
    serde_json::from_slice(line).ok().filter(|entry: &BoundaryWire| entry.subtype == "compact_boundary")
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}
