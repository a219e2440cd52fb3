//! How full a session's context is, from every source: Claude Code itself, the transcript, other sessions, a table.

use std::collections::BTreeMap;

use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;

use crate::rollout;

/// What Claude Code reported about a session's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedContext<'a> {
    /// The model's id, as the status line receives it.
    pub model: Option<&'a str>,
    /// Tokens in the context.
    pub tokens: Option<u64>,
    /// Size of the context window, in tokens.
    pub window: Option<u64>,
    /// The time of the report.
    pub at: Millis,
    /// The channel that the report came through.
    pub by: ReportedBy,
}

impl ReportedContext<'_> {
    /// Returns a report at the time `at` that says nothing yet.
    pub fn new(at: Millis, by: ReportedBy) -> Self {
        Self { model: None, tokens: None, window: None, at, by }
    }
}

/// The channel through which Claude Code reports a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportedBy {
    /// The status line command.
    StatusLine,
    /// The plugin's module inside Claude Code.
    Bridge,
}

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFill<'a> {
    /// Tokens in the context; `None` before the first reply.
    pub tokens: Option<u64>,
    /// Size of the context window, in tokens.
    pub window: u64,
    /// Where `window` comes from.
    pub source: WindowSource,
    /// The model's id.
    pub model: Option<&'a str>,
}

/// Where the size of a context window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowSource {
    /// The session's own rollout.
    Rollout,
    /// A report about this session.
    Reported(ReportedBy),
    /// A report about another session with the same model.
    SameModel,
    /// The user's configuration, or the built-in sizes.
    ModelTable,
}

impl WindowSource {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Reported(ReportedBy::StatusLine) => "statusline",
            Self::Reported(ReportedBy::Bridge) => "bridge",
            Self::SameModel => "statusline of the model",
            Self::ModelTable => "model",
        }
    }
}

/// Returns how full a context is.
///
/// The token count is the one in `reported`, unless a reply or a compaction is newer than the report: then it is the
/// transcript's `usage`. The window is the first of these that is known: the rollout's; the one in `reported`, while the
/// session still uses that model; the newest of `others` with the same model; the one that [`window_tokens`] returns for
/// `known`.
pub fn context_fill<'a>(
    usage: Option<&'a Usage>,
    reported: Option<ReportedContext<'a>>,
    mut others: impl Iterator<Item = ReportedContext<'a>>,
    known: &BTreeMap<String, u64>,
) -> ContextFill<'a> {
    let replied_at = usage.and_then(|usage| usage.at);
    let current = reported.filter(|reported| replied_at.is_none_or(|at| at <= reported.at));
    let used_model = usage.and_then(|usage| usage.model.as_deref());
    let reported_model = reported.and_then(|reported| reported.model);
    let model = current.and_then(|current| current.model).or(used_model).or(reported_model);
    let tokens = current.and_then(|current| current.tokens).or(usage.map(|usage| usage.tokens));
    let of_session = || {
        let reported = reported.filter(|reported| is_same_model(model, reported.model))?;
        Some((reported.window?, WindowSource::Reported(reported.by)))
    };
    let of_model = || {
        let model = model?;
        let window = others.find_map(|other| other.window.filter(|_| other.model == Some(model)))?;
        Some((window, WindowSource::SameModel))
    };
    let (window, source) = usage
        .and_then(|usage| usage.window)
        .map(|window| (window, WindowSource::Rollout))
        .or_else(of_session)
        .or_else(of_model)
        .unwrap_or_else(|| (window_tokens(model, tokens.unwrap_or_default(), known), WindowSource::ModelTable));
    ContextFill { tokens, window, source, model }
}

/// Returns whether the reported id names `model`; one of the two may have a date or a window size at its end.
fn is_same_model(model: Option<&str>, reported: Option<&str>) -> bool {
    let base = |id: &str| id.split('[').next().unwrap_or(id).to_owned();
    match (model.map(base), reported.map(base)) {
        (Some(model), Some(reported)) => model.starts_with(&reported) || reported.starts_with(&model),
        (None, _) | (_, None) => true,
    }
}

// The sizes of models' context windows.

/// The window of models before generation 5.
const SMALL_WINDOW: u64 = 200_000;

/// The window of models from generation 5 on.
const LARGE_WINDOW: u64 = 1_000_000;

/// The first model generation in which every model has the large window.
const LARGE_SINCE_GENERATION: u32 = 5;

/// Returns the size of `model`'s context window, in tokens.
///
/// `known` gives sizes by model id or by the beginning of one; the longest match counts. Without a match, the window is
/// large for an id that contains `[1m]`, for models of generation 5 and later, and when more tokens than the small window
/// holds have been used.
pub fn window_tokens(model: Option<&str>, used: u64, known: &BTreeMap<String, u64>) -> u64 {
    let model = model.unwrap_or_default();
    let longest = known.iter().filter(|(id, _)| model.starts_with(id.as_str())).max_by_key(|(id, _)| id.len());
    if let Some((_, tokens)) = longest {
        return *tokens;
    }
    let large = model.contains("[1m]")
        || generation(model).is_some_and(|generation| generation >= LARGE_SINCE_GENERATION)
        || used > SMALL_WINDOW;
    if large { LARGE_WINDOW } else { SMALL_WINDOW }
}

/// Returns the generation in an id such as `claude-opus-5-5` (5) or `claude-3-5-haiku-20241022` (3).
fn generation(model: &str) -> Option<u32> {
    model.split('-').find_map(|part| part.parse().ok())
}

// The tokens of context that the newest reply reports.

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
