//! Configuration: partial JSON over defaults, each bad value replaced by its default with a warning that names the key.

mod embeddings;
mod model;
mod numbers;
mod origin;
mod project;
mod setting;
mod status_parts;
mod suggestion;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::json_text::without_byte_order_mark;

pub use self::embeddings::{FilePath, Url};
pub use self::model::{ModelId, Via};
pub use self::numbers::{Amount, Limits, Range, Share};
pub use self::origin::{Explained, Explanation, Origin, explain};
pub use self::project::{ProjectReading, ProjectValue, Trust, Verdict};
use self::setting::settings;
pub use self::setting::{Key, Line, Names, Setting, Warning};
pub use self::status_parts::{Part, Parts};

/// Counts that may be set so high that they are never reached.
const COUNT: Range = Range::new(0.0, 1e12);

/// Times in seconds, likewise.
const SECONDS: Range = Range::new(0.0, 1e9);

/// Times in minutes, up to a year.
const MINUTES: Range = Range::new(0.0, 525_600.0);

settings! {
    /// Everything that a user can set.
    pub struct Config {
        bookmarks: Bookmarks = Bookmarks::default(), "bookmarks", "Rewind points that appear by themselves";
        tracker: Tracker = Tracker::default(), "tracker", "The state of every session, in the tmux status line";
        handoff: Handoff = Handoff::default(), "handoff", "What a session hands over to the next after `/clear`";
        continuation: Continuation = Continuation::default(), "continuation", "Goes on in a fresh session, by itself, when the context is nearly full";
        memory: Memory = Memory::default(), "memory", "What every session did, kept and found again";
        worker: Worker = Worker::default(), "worker", "The page in the browser, `longhaul worker start`";
        guard: Guard = Guard::default(), "guard", "Compacts, and denies subagents, before the context is full";
        inject: Inject = Inject::default(), "inject", "How text is typed into the terminal";
        bridge: Bridge = Bridge::default(), "bridge", "Asks the client itself, through its own module, in place of typing";
        context: Context = Context::default(), "context", "What is known of the models' context windows";
    }
}

settings! {
    /// When bookmarks are typed, and what they look like.
    pub struct Bookmarks {
        enabled: bool = true, "enabled", "Count activity and type bookmarks";
        mid_turn: bool = true, "midTurn", "Bookmark in the middle of a turn, not only when it ends";
        marker: Line = Line::of("·"), "marker", "The text that is typed; no control characters, not starting with `/`, `!`, `#`, `@` or `?`";
        thresholds: Thresholds = Thresholds::default(), "thresholds", "How much work makes a bookmark; any one is enough";
    }
}

settings! {
    /// How much work since the last bookmark makes the next one.
    pub struct Thresholds {
        min_tokens: Amount = Amount(6000.0), "minTokens", "Estimated tokens (characters / 4) of tool and subagent output", COUNT;
        min_tool_calls: Amount = Amount(15.0), "minToolCalls", "Tool calls", COUNT;
        min_seconds: Amount = Amount(120.0), "minSeconds", "Seconds between the first and the last of them", SECONDS;
        agent_burst: Amount = Amount(3.0), "agentBurstThreshold", "Subagents that returned", COUNT;
        cooldown_seconds: Amount = Amount(25.0), "cooldownSeconds", "Seconds between two bookmarks at least", SECONDS;
    }
}

settings! {
    /// Whether sessions are tracked; how that looks is set by tmux options.
    pub struct Tracker {
        enabled: bool = true, "enabled", "Keep the state of every session and push it to tmux";
    }
}

settings! {
    /// Whether sessions hand over to each other.
    pub struct Handoff {
        enabled: bool = true, "enabled", "Keep what was said and done, and show it to the session that goes on";
    }
}

settings! {
    /// When a session is cleared and goes on by itself.
    pub struct Continuation {
        enabled: bool = false, "enabled", "Ask for a handoff, clear, and go on; a project's `.claude/longhaul.json` may say so once you trust it";
        at: Limits = Limits(vec![0.75]), "at", "How full the context may get; each limit asks once in a session: a share of the window (0.01 to 1), a list of limits, or a number of tokens", Range::new(1_000.0, 1e9);
        max_rounds: Amount = Amount(10.0), "max_rounds", "How many sessions may follow each other without a person", Range::whole(0, 1_000_000);
        prompt: Line = Line::of("Continue from the handoff: do what is left to do."), "prompt", "What the new session is prompted with; no control characters, not starting with `/`, `!`, `#`, `@` or `?`";
        step_seconds: Amount = Amount(60.0), "step_seconds", "How long the client may take to clear, or to take the prompt, before it is tried once more", Range::new(0.1, 86_400.0);
        after_rate_limit: bool = false, "after_rate_limit", "Go on by itself when the account's limit, which held it up, is lifted";
    }
}

settings! {
    /// What is remembered.
    pub struct Memory {
        enabled: bool = true, "enabled", "Remember prompts, tool calls and results, and show a new session what its project came to";
        redact_secrets: bool = true, "redact_secrets", "Replace keys and tokens of well-known shapes by `[redacted]` before anything is written";
        skip_tools: Names = Names::default(), "skip_tools", "Tools whose calls are not remembered, in place of the built-in list; `*` stands for any characters";
        exclude: Names = Names::default(), "exclude", "Folders of projects that are not remembered at all, such as `~/private/*`; `*` stands for any characters";
        retention_days: Amount = Amount(365.0), "retention_days", "Days after which raw tool input and output are dropped; what was made of them stays; 0 keeps them for ever", Range::new(0.0, 36_500.0);
        page: bool = true, "page", "Show a new session what the project's last sessions came to, and what is left to do";
        recall_on_prompt: bool = true, "recall_on_prompt", "Add passages of other sessions of the project to a prompt that they strongly match, 1,200 characters at most; most prompts bring nothing";
        model: Model = Model::default(), "model", "Better words from a model, in the worker";
        embeddings: Embeddings = Embeddings::default(), "embeddings", "Records found by what they mean";
    }
}

settings! {
    /// Records found by what they mean, in whatever words.
    pub struct Embeddings {
        enabled: bool = true, "enabled", "Find records by meaning, too, where a model is there: the bundle's, or an endpoint's";
        file: FilePath = FilePath::default(), "file", "A model file, in place of the one in the bundle";
        endpoint: Url = Url::default(), "endpoint", "An address that answers like OpenAI's `/v1/embeddings`, such as `http://127.0.0.1:11434` for Ollama; asked by the worker, while it runs";
        model: ModelId = ModelId::default(), "model", "The endpoint's model, which must be named";
        timeout_seconds: Amount = Amount(30.0), "timeout_seconds", "How long the endpoint may take to answer", Range::new(1.0, 3_600.0);
        batch: Amount = Amount(32.0), "batch", "How many texts are sent to the endpoint at a time", Range::whole(1, 1_024);
    }
}

settings! {
    /// Better words from a model, which cost money.
    pub struct Model {
        enabled: bool = false, "enabled", "Let a model put into better words what rules have noted, in the worker, which hooks then start; this costs tokens";
        via: Via = Via::Claude, "via", "`claude` asks through `claude -p`, `api` asks the Anthropic API with `ANTHROPIC_API_KEY`";
        model: ModelId = ModelId::default(), "model", "The model's id; left empty, a small one over the API, and with `claude` the one that the client would use";
        daily_token_budget: Amount = Amount(100_000.0), "daily_token_budget", "Tokens a day, of requests and answers together; no request is begun that could cost more than is left", COUNT;
        timeout_seconds: Amount = Amount(60.0), "timeout_seconds", "How long an answer may take", Range::new(1.0, 3_600.0);
        quiet_minutes: Amount = Amount(2.0), "quiet_minutes", "How long a session must have rested before it is put into better words", MINUTES;
    }
}

settings! {
    /// The optional server.
    pub struct Worker {
        port: Amount = Amount(37777.0), "port", "The port on 127.0.0.1; the next free one where it is taken; 0 takes any free one", Range::whole(0, 65_535);
        idle_minutes: Amount = Amount(30.0), "idle_minutes", "Minutes without an open page or a request after which it ends by itself; 0 never", MINUTES;
    }
}

settings! {
    /// When the context guard steps in.
    pub struct Guard {
        enabled: bool = false, "enabled", "Watch the context's use";
        compact_percent: Share = Share(0.76), "compactPercent", "Share of the window at which `/compact` is typed when a turn ends";
        deny_percent: Share = Share(0.85), "denyPercent", "Share of the window at which new subagents are denied";
        compact_cooldown_seconds: Amount = Amount(120.0), "compactCooldownSeconds", "Seconds between two compactions at least", SECONDS;
    }
}

settings! {
    /// How text is typed.
    pub struct Inject {
        patience_seconds: Amount = Amount(30.0), "patience_seconds", "How long to wait for a dialog, a running turn or a half-typed draft to go away", Range::new(0.0, 3_600.0);
        delay_ms: Amount = Amount(0.0), "delay_ms", "Milliseconds to wait before looking at the pane after a turn has ended", Range::new(0.0, 60_000.0);
        allow_blind: bool = false, "allow_blind", "In zellij, WezTerm and kitty, type by the client's own word alone where the pane cannot be looked at";
    }
}

settings! {
    /// What goes through the client's own module.
    pub struct Bridge {
        enabled: bool = true, "enabled", "Clear, compact and prompt through the client's own module where it has loaded it, and type only where it has not";
        status: Parts = Parts(Part::ALL.to_vec()), "status", "What the line under the prompt shows, of `context`, `bookmarks`, `memory` and `handoff`; an empty list shows no line";
    }
}

settings! {
    /// Context windows.
    pub struct Context {
        windows: BTreeMap<String, u64> = BTreeMap::new(), "windows", "Tokens by model id, or the beginning of one, where the built-in guess is wrong";
    }
}

impl Config {
    /// Reads the text of a config file.
    ///
    /// Never fails: what cannot be used is replaced by its default and named in a warning.
    pub fn from_json(text: &str) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let value = match serde_json::from_str::<Value>(without_byte_order_mark(text)) {
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => {
                warnings.push(Warning::whole_file("is not a JSON object"));
                return (Self::default(), warnings);
            }
            Err(error) => {
                warnings.push(Warning::whole_file(&format!("is not JSON ({error})")));
                return (Self::default(), warnings);
            }
        };
        let config = Self::read(&value, Self::default(), "", &mut warnings);
        (config, warnings)
    }

    /// Returns the JSON Schema of a config file.
    pub fn json_schema() -> Value {
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Longhaul configuration",
        });
        if let (Some(schema), Value::Object(body)) = (schema.as_object_mut(), Self::default().schema("Longhaul")) {
            schema.extend(body);
            // A file may say which schema it follows.
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                properties.insert("$schema".to_owned(), json!({ "type": "string" }));
            }
        }
        schema
    }

    /// Returns every single value that can be set, with its default.
    pub fn keys() -> Vec<Key> {
        let mut keys = Vec::new();
        Self::default().list("", "", None, &mut keys);
        keys
    }
}

impl Inject {
    /// Returns how long to wait for the client; an hour at most, because somebody must clean up some day.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_seconds.seconds_as_millis()).min(Duration::from_secs(3600))
    }
}

impl Setting for BTreeMap<String, u64> {
    fn read(json: &Value, default: Self, path: &str, warnings: &mut Vec<Warning>) -> Self {
        let Value::Object(entries) = json else {
            warnings.push(Warning::value(path, json, "an object of model id and tokens", &default));
            return default;
        };
        let mut windows = Self::new();
        for (model, tokens) in entries {
            match tokens.as_u64().filter(|tokens| *tokens > 0) {
                Some(tokens) => drop(windows.insert(model.clone(), tokens)),
                None => warnings.push(Warning::left_out(&format!("{path}.{model}"), tokens, "a number of tokens")),
            }
        }
        windows
    }

    fn schema(&self, about: &str) -> Value {
        json!({
            "type": "object",
            "description": about,
            "additionalProperties": { "type": "integer", "minimum": 1 },
            "default": self.to_json(),
        })
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(model, tokens)| (model.clone(), json!(tokens))).collect::<Map<_, _>>().into()
    }
}
