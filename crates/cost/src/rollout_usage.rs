//! The usage that Codex reports in its transcripts, called rollouts.
//!
//! A `token_count` event follows every request. The model is named by the `turn_context` before it, and the session and its
//! folder by the first line, so that the lines must be read in their order.

use std::borrow::Cow;

use longhaul_core::{SessionId, parse_timestamp};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tokens::Tokens;
use crate::usage_line::{MAX_TOKENS, Request, RequestKey, UsageLine};

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
struct LineWire<'a> {
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
        let line: LineWire<'_> = serde_json::from_slice(line).ok()?;
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

    fn request(&self, line: &LineWire<'_>, event: &EventWire) -> Option<UsageLine<'static>> {
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
