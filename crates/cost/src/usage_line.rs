//! Parses the lines of a transcript that report the usage of a request.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tokens::Tokens;

/// A line with a larger number of tokens is damaged, and ignored.
pub(crate) const MAX_TOKENS: u64 = 1_000_000_000_000;

/// The name of a model that Claude Code writes for messages of its own.
const SYNTHETIC: &str = "<synthetic>";

/// Identifies a request: the same for every line that repeats it, in every file.
///
/// Only compared within one process; the value may differ in another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey(u128);

impl RequestKey {
    /// Returns the key of a request. `part` numbers the models that took part in it.
    pub(crate) fn new(message: &str, request: &str, part: usize) -> Self {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, message, request, part).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Self(half(0) << 64 | half(1))
    }
}

/// A request to a model, as a line of a transcript reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Its key; `None` if the line has no id, so that it cannot be recognised in another line.
    pub key: Option<RequestKey>,
    /// The id of the model. It ends with `-fast` if the request used the fast mode, which has other prices.
    pub model: String,
    /// The tokens.
    pub tokens: Tokens,
    /// The number of web searches, which are paid per search.
    pub web_searches: u64,
    /// Whether the request was limited to the United States, which costs a tenth more.
    pub is_us_only: bool,
}

/// The requests that a line of a transcript reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageLine<'a> {
    /// When the reply was written.
    pub at: Millis,
    /// The session that made the requests. In a forked session this is the original one for every copied line.
    pub session: Option<Cow<'a, str>>,
    /// Whether the line was copied from the transcript of another session when this one was forked from it.
    pub is_copy: bool,
    /// The working folder.
    pub folder: Option<Cow<'a, str>>,
    /// The requests: that of the reply, and those of other models that took part in it.
    pub requests: Vec<Request>,
}

#[derive(Deserialize)]
struct LineWire<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "forkedFrom")]
    forked_from: Option<ForkWire<'a>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, default, rename = "requestId")]
    request: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: MessageWire<'a>,
}

#[derive(Deserialize)]
struct ForkWire<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MessageWire<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    usage: UsageWire<'a>,
}

/// The usage of a reply, or of one of the iterations that it lists.
#[derive(Deserialize)]
struct UsageWire<'a> {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation: Option<CacheWriteWire>,
    #[serde(borrow, default)]
    speed: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    inference_geo: Option<Cow<'a, str>>,
    #[serde(default)]
    server_tool_use: Option<ServerToolsWire>,
    /// Parsed only where it is needed: almost every reply has one iteration, which repeats the usage.
    #[serde(borrow, default)]
    iterations: Option<&'a RawValue>,
    /// Only in an iteration.
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    /// Only in an iteration of another model.
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct CacheWriteWire {
    #[serde(default)]
    ephemeral_5m_input_tokens: Option<u64>,
    #[serde(default)]
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ServerToolsWire {
    #[serde(default)]
    web_search_requests: Option<u64>,
}

impl<'a> UsageLine<'a> {
    /// Parses a line of a transcript; `None` if it reports no usage, or is damaged or not complete.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let line: LineWire<'a> = serde_json::from_slice(line).ok()?;
        let at = parse_timestamp(&line.timestamp)?;
        let LineWire { message: MessageWire { id, model, usage }, .. } = line;
        let id = id.or(line.uuid).filter(|id| !id.is_empty());
        let request = line.request.as_deref().unwrap_or_default();
        let key = |part: usize| id.as_deref().map(|id| RequestKey::new(id, request, part));
        let model = model.filter(|model| !model.is_empty());
        let mut requests: Vec<Request> = usage.request(key(0), model.as_deref()).into_iter().collect();
        for (part, iteration) in (1..).zip(usage.extra_iterations()) {
            requests.extend(iteration.request(key(part), iteration.model.as_deref().or(model.as_deref())));
        }
        let origin = line.forked_from.and_then(|fork| fork.session);
        let is_copy = origin.is_some();
        Some(Self { at, session: origin.or(line.session), is_copy, folder: line.cwd, requests })
    }
}

impl<'a> UsageWire<'a> {
    fn request(&self, key: Option<RequestKey>, model: Option<&str>) -> Option<Request> {
        let tokens = self.tokens()?;
        let web_searches = self.server_tool_use.as_ref().and_then(|tools| tools.web_search_requests);
        let web_searches = web_searches.unwrap_or_default().min(MAX_TOKENS);
        let is_ours = model == Some(SYNTHETIC) || (tokens.total() == 0 && web_searches == 0);
        let fast = if self.speed.as_deref() == Some("fast") { "-fast" } else { "" };
        (!is_ours).then(|| Request {
            key,
            model: format!("{}{fast}", model.unwrap_or("unknown")),
            tokens,
            web_searches,
            is_us_only: self.inference_geo.as_deref() == Some("us"),
        })
    }

    /// Returns the tokens; `None` if the numbers are too large to be true.
    fn tokens(&self) -> Option<Tokens> {
        let part = |read: fn(&CacheWriteWire) -> Option<u64>| self.cache_creation.as_ref().and_then(read);
        let five_minutes = part(|write| write.ephemeral_5m_input_tokens).unwrap_or_default();
        let hour = part(|write| write.ephemeral_1h_input_tokens).unwrap_or_default();
        // The total counts: the parts may be missing, and older versions write zeros.
        let written = self.cache_creation_input_tokens.unwrap_or(five_minutes.saturating_add(hour));
        let tokens = Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens.unwrap_or_default(),
            cache_write_5m: written - hour.min(written),
            cache_write_1h: hour.min(written),
        };
        (tokens.total() <= MAX_TOKENS).then_some(tokens)
    }

    /// Returns the iterations whose tokens are not part of the reply's own: of an advisor, and of a compaction.
    fn extra_iterations(&self) -> Vec<Self> {
        let Some(iterations) = self.iterations.map(RawValue::get) else { return Vec::new() };
        if !iterations.contains("\"advisor_message\"") && !iterations.contains("\"compaction\"") {
            return Vec::new();
        }
        let all: Vec<Self> = serde_json::from_str(iterations).unwrap_or_default();
        let is_extra = |usage: &Self| matches!(usage.kind.as_deref(), Some("advisor_message" | "compaction"));
        all.into_iter().filter(is_extra).collect()
    }
}
