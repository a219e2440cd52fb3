//! Finds and parses the lines of a transcript that report the usage of a request, of Claude Code and of Codex.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use longhaul_core::{Millis, SessionId, parse_timestamp};
use memchr::memmem::{self, Finder};
use memchr::{memchr, memrchr};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::price::Tokens;

/// A line with a larger number of tokens is damaged, and ignored.
const MAX_TOKENS: u64 = 1_000_000_000_000;

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

    /// Returns the half of it that is enough to distinguish the last requests of a session.
    pub fn short(self) -> u64 {
        self.0 as u64
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

// The usage that Codex reports in its transcripts, called rollouts.
//
// A `token_count` event follows every request. The model is named by the `turn_context` before it, and the session and its
// folder by the first line, so that the lines must be read in their order.

/// The kind of a line is within this many bytes of its beginning.
const HEAD: usize = 256;

/// The kinds of lines that are parsed. Most lines are of other kinds, and long.
const KINDS: [&[u8]; 3] = [b"\"token_count\"", b"\"turn_context\"", b"\"session_meta\""];

/// Reads the lines of one rollout, from its first one on.
#[derive(Debug, Clone, Default)]
pub struct RolloutUsage {
    session: Option<String>,
    folder: Option<String>,
    model: Option<String>,
    turn: Option<String>,
}

#[derive(Deserialize)]
struct RolloutLineWire<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct MetaWire {
    id: String,
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct ContextWire {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    turn_id: Option<String>,
}

#[derive(Deserialize)]
struct EventWire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    info: Option<InfoWire>,
}

#[derive(Deserialize)]
struct InfoWire {
    last_token_usage: CountWire,
    #[serde(default)]
    total_token_usage: Option<CountWire>,
}

/// Counts of tokens. What was read from the cache and written to it is part of the input, and reasoning of the output.
#[derive(Deserialize)]
struct CountWire {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    cache_write_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl CountWire {
    fn tokens(&self) -> Option<Tokens> {
        let cache_read = self.cached_input_tokens.min(self.input_tokens);
        let cache_write_5m = self.cache_write_input_tokens.min(self.input_tokens - cache_read);
        let input = self.input_tokens - cache_read - cache_write_5m;
        let tokens = Tokens { input, output: self.output_tokens, cache_read, cache_write_5m, cache_write_1h: 0 };
        (1..=MAX_TOKENS).contains(&tokens.total()).then_some(tokens)
    }
}

impl RolloutUsage {
    /// Returns the request that a line reports; `None` if it reports none, or is damaged or not complete.
    ///
    /// An event that only repeats the counts, because the account's limits have changed, has the same key as the first one.
    /// So has the copy of an event in a session that was forked: its turn keeps its id.
    pub fn line(&mut self, line: &[u8]) -> Option<UsageLine<'static>> {
        let head = &line[..line.len().min(HEAD)];
        if !KINDS.iter().any(|kind| memmem::find(head, kind).is_some()) {
            return None;
        }
        let line: RolloutLineWire<'_> = serde_json::from_slice(line).ok()?;
        let payload = line.payload.get();
        match &*line.kind {
            // A forked session repeats the description of the original one.
            "session_meta" if self.session.is_none() => {
                let meta: MetaWire = serde_json::from_str(payload).ok()?;
                self.session = SessionId::codex(&meta.id).map(|id| id.as_str().to_owned());
                self.folder = meta.cwd;
            }
            "turn_context" => {
                let context: ContextWire = serde_json::from_str(payload).ok()?;
                self.model = context.model.filter(|model| !model.is_empty());
                self.turn = context.turn_id.filter(|turn| !turn.is_empty());
            }
            "event_msg" => return self.request(&line, &serde_json::from_str(payload).ok()?),
            _ => {}
        }
        None
    }

    fn request(&self, line: &RolloutLineWire<'_>, event: &EventWire) -> Option<UsageLine<'static>> {
        let info = event.info.as_ref().filter(|_| event.kind == "token_count")?;
        let tokens = info.last_token_usage.tokens()?;
        let total = info.total_token_usage.as_ref().map_or_else(
            || line.timestamp.to_string(),
            |total| format!("{} {} {}", total.input_tokens, total.cached_input_tokens, total.output_tokens),
        );
        let key = self.turn.as_ref().or(self.session.as_ref()).map(|turn| RequestKey::new(turn, &total, 0));
        let model = self.model.clone().unwrap_or_else(|| "unknown".to_owned());
        Some(UsageLine {
            at: parse_timestamp(&line.timestamp)?,
            session: self.session.clone().map(Cow::Owned),
            is_copy: false,
            folder: self.folder.clone().map(Cow::Owned),
            requests: vec![Request { key, model, tokens, web_searches: 0, is_us_only: false }],
        })
    }
}

/// What every line with usage contains. Inside of a JSON string the quotes are escaped, so text cannot contain it.
const NEEDLE: &[u8] = b"\"usage\":";

/// What every line of a rollout contains.
const ROLLOUT_NEEDLE: &[u8] = b"\"type\":";

/// The maximum length of a line. A longer one is skipped.
const MAX_LINE: usize = 64 << 20;

/// Splits pieces of a transcript into lines, and passes on those with usage.
///
/// Holds at most one line. A line that is longer than 64 MiB is skipped.
#[derive(Debug)]
pub struct UsageScanner {
    finder: Finder<'static>,
    /// The beginning of a line whose end was not seen yet.
    rest: Vec<u8>,
    /// The line is too long, and its end was not seen yet.
    is_skipping: bool,
    /// The number of lines that were too long.
    skipped: u64,
}

impl Default for UsageScanner {
    fn default() -> Self {
        Self::new(NEEDLE)
    }
}

impl UsageScanner {
    /// Returns a scanner for a rollout of Codex. It passes on every line: what one with usage means depends on those before it.
    pub fn for_rollouts() -> Self {
        Self::new(ROLLOUT_NEEDLE)
    }

    fn new(needle: &'static [u8]) -> Self {
        Self { finder: Finder::new(needle), rest: Vec::new(), is_skipping: false, skipped: 0 }
    }

    /// Takes the next piece of a transcript. Calls `found` with every complete line that contains usage.
    pub fn feed(&mut self, piece: &[u8], mut found: impl FnMut(&[u8])) {
        let Some(first_end) = memchr(b'\n', piece) else { return self.keep(piece) };
        let mut from = 0;
        if !self.rest.is_empty() || self.is_skipping {
            self.keep(&piece[..first_end]);
            self.finish(&mut found);
            from = first_end + 1;
        }
        let last_end = memrchr(b'\n', piece).unwrap_or(first_end);
        while from <= last_end
            && let Some(at) = self.finder.find(&piece[from..=last_end])
        {
            let at = from + at;
            let start = memrchr(b'\n', &piece[from..at]).map_or(from, |end| from + end + 1);
            let end = memchr(b'\n', &piece[at..]).map_or(piece.len(), |end| at + end);
            found(&piece[start..end]);
            from = end + 1;
        }
        self.keep(&piece[last_end + 1..]);
    }

    /// Ends the transcript: the last line may have no line break. Calls `found` with it if it contains usage.
    pub fn finish(&mut self, mut found: impl FnMut(&[u8])) {
        if !self.is_skipping && self.finder.find(&self.rest).is_some() {
            found(&self.rest);
        }
        self.is_skipping = false;
        self.rest.clear();
    }

    /// Returns the number of lines that were too long, and skipped.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn keep(&mut self, part: &[u8]) {
        if self.is_skipping {
            return;
        }
        if self.rest.len() + part.len() > MAX_LINE {
            self.is_skipping = true;
            self.skipped += 1;
            self.rest = Vec::new();
            return;
        }
        self.rest.extend_from_slice(part);
    }
}
