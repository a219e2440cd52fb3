//! The configuration: a partial JSON object over defaults.
//!
//! A value that cannot be used is replaced by its default, with a [`Warning`] that names its key; one that protects privacy
//! by the stricter side (`fail_closed`). A key is spelled like the field that holds it, in snake_case.

mod limits;
mod lists;
mod model;
mod notify;
mod numbers;
mod project;
mod setting;
mod sync;

use std::time::Duration;

use serde_json::{Value, json};

use crate::json_text::without_byte_order_mark;

pub use self::limits::{Limits, Loops, SpendLimit, Subagents};
pub use self::lists::{BookmarksOn, Choice, ChoiceList, Hosts, MemoryPart};
pub use self::model::{ModelId, ModelPrice, Models, SummaryModel, Url, VectorSource, Via};
pub use self::notify::{Notify, NotifyState, NotifyWay, OtherSession, QuietHours, Topic};
pub use self::numbers::{ContextLimits, Count, Days, Port, Range, Seconds, Share};
pub use self::project::{ProjectReading, ProjectValue, Trust, Verdict};
use self::setting::settings;
pub use self::setting::{
    Explained, Explanation, Key, Names, OneLineText, Origin, Setting, SettingValue, Warning, explain, new_problem,
    with_setting, without_setting,
};
pub use self::sync::{Sync, SyncAddress};

settings! {
    /// Everything that a user can set.
    pub struct Config {
        bookmarks: Bookmarks = Bookmarks::default(), "Rewind points that are created automatically";
        tracker: Tracker = Tracker::default(), "The state of every session, in the tmux status line";
        notify: Notify = Notify::default(), "Notifications about sessions that wait for you or have ended";
        snapshots: Snapshots = Snapshots::default(), "The files of the work tree at every prompt and bookmark, which can be compared and restored";
        handoff: Handoff = Handoff::default(), "What a session passes on to the next one after `/clear`";
        continuation: Continuation = Continuation::default(), "Continues in a new session automatically when the context is nearly full";
        memory: Memory = Memory::default(), "A searchable record of every session";
        sync: Sync = Sync::default(), "Exchanges the memory of shared projects with other machines, `longhaul sync`";
        worker: Worker = Worker::default(), "The background server of the viewer, `longhaul worker start`";
        guard: Guard = Guard::default(), "Compacts the context and denies subagents before the context is full";
        inject: Inject = Inject::default(), "How text is typed into the terminal";
        models: Models = Models::default(), "What is known of a model, by its id or the beginning of one, such as `{ \"my-model\": { \"window\": 200000, \"input\": 3, \"output\": 15 } }`: the tokens of its context window, and its prices in dollars per million tokens; it replaces what is built in; `cache_read`, `cache_write_5m` and `cache_write_1h` may be set too";
        limits: Limits = Limits::default(), "What sessions may spend, how many subagents they may start, and whether it is noticed that they repeat themselves";
        view: View = View::default(), "The view of all sessions, `longhaul` without a command";
    }
}

settings! {
    /// When bookmarks are typed, and what they look like.
    pub struct Bookmarks {
        enabled: BookmarksOn = BookmarksOn::Always, "Set bookmarks, automatically and with `longhaul bookmark`; with `\"turn_end\"`, automatically only when a turn has ended";
        marker: OneLineText = OneLineText::of("·"), "The text that is typed; no control characters, not starting with `/`, `!`, `#`, `@` or `?`";
        thresholds: Thresholds = Thresholds::default(), "How much work since the last bookmark creates a new one; reaching any one of them is enough";
    }
}

settings! {
    /// How much work since the last bookmark creates the next one.
    pub struct Thresholds {
        min_tokens: Count = Count(6000), "Set a bookmark after this many tokens of tool and subagent output, estimated as characters / 4";
        min_tool_calls: Count = Count(15), "Set a bookmark after this many tool calls";
        min_seconds: Seconds = Seconds::new(120), "Set a bookmark when this many seconds have passed from the first to the last tool call since the last bookmark";
        agent_burst_threshold: Count = Count(3), "Set a bookmark after this many subagents have returned";
        cooldown_seconds: Seconds = Seconds::new(25), "Minimum number of seconds between two bookmarks";
    }
}

settings! {
    /// Whether sessions are tracked. tmux options set how that looks.
    pub struct Tracker {
        enabled: bool = true, "Record the state of every session and show it in tmux";
    }
}

settings! {
    /// Which snapshots of the files are taken, and how long they are kept.
    pub struct Snapshots {
        enabled: bool = true, "Take a snapshot of the work tree at every prompt, bookmark and compaction, in a private store; the repository itself is never changed";
        max_store: Count = Count(1 << 30), "Maximum size of all snapshots in bytes; above it, the oldest are deleted; those of bookmarks with a note and those taken before a restore are deleted last";
        max_age_days: Days = Days::new(30), "Days after which a snapshot is deleted, unless it belongs to a bookmark with a note or was taken before a restore; 0 keeps all";
        exclude: Names = Names::default(), "Files and folders that are left out, such as `*.sqlite` or `data/raw`; `*` matches any characters";
    }
}

settings! {
    /// Whether a session passes its work on to the next one.
    pub struct Handoff {
        enabled: bool = true, "Record what was said and done, show it to the session that continues, and after a compaction give the session back what the summary lacks";
    }
}

/// The share of the context at which a handoff is asked for if the setting is only `on`.
pub(crate) const CONTEXT_LIMIT: f64 = 0.75;

settings! {
    /// When a session is cleared and continued automatically.
    pub struct Continuation {
        at: ContextLimits = ContextLimits::off(), "When the context is this full, Claude is asked for a handoff, and the session is cleared and continues; a project's `.claude/longhaul.json` can switch this on only if you trust it: `off`, `on` (0.75), a share of the context window (0.01 to 1), a list of limits, each of which is used once per session, or a number of tokens", Range::new(1_000.0, 1e9);
        max_rounds: Count = Count(10), "How many times in a row a session may continue automatically without a prompt from you", Range::whole(0, 1_000_000);
        after_rate_limit: bool = false, "Continue automatically when the rate limit that stopped the session has ended";
    }
}

settings! {
    /// What is remembered.
    pub struct Memory {
        enabled: bool = true, "Record prompts, tool calls and results, and show a new session a summary of its project";
        redact_secrets: bool = true, "Replace keys and tokens of well-known formats with `[redacted]` before anything is written";
        skip_tools: Names = Names::default(), "Tools whose calls are not recorded; a list that is not empty replaces the built-in one; `*` matches any characters";
        exclude: Names = Names::default(), "Folders of projects that are not recorded at all, such as `~/private/*`; `*` matches any characters";
        retention_days: Days = Days::new(365), "Days after which raw tool input and output are deleted; the records made from them stay; 0 keeps everything";
        show: ChoiceList<MemoryPart> = ChoiceList(MemoryPart::ALL.to_vec()), "What sessions are shown: `page`, which is shown to a new session, has the results of the project's last sessions and what is left to do; `passages` of the project's other sessions are added to a prompt that they answer, 1,200 characters at most, and to most prompts nothing";
        model: Model = Model::default(), "Summaries in better words, written by a model in the worker";
        embeddings: VectorSource = VectorSource::Bundle, "What compares meanings: the model in the `bundle`, a model file (its path), or an endpoint, which is the address of a service with an API like OpenAI's `/v1/embeddings` with the name of a model, such as `http://127.0.0.1:11434#nomic-embed-text` for Ollama; only the worker uses an endpoint, while it runs; `off` compares words only";
    }
}

settings! {
    /// Summaries written by a model, which cost tokens.
    pub struct Model {
        via: Option<SummaryModel> = None, "Let a model write better titles and summaries of records, which costs tokens: `claude` runs `claude -p`, `api` calls the Anthropic API with `ANTHROPIC_API_KEY`, and `off` asks no model; hooks start the worker, which calls it. With the model's id behind `#`, such as `claude#haiku`; without one, a small model with `api`, and Claude Code's own default with `claude`";
        daily_token_budget: Count = Count(100_000), "Maximum number of tokens per day, requests and answers together; a request that could exceed the rest is not sent";
    }
}

settings! {
    /// The optional server.
    pub struct Worker {
        port: Port = Port(37777), "The port on 127.0.0.1; if it is taken, the next free one is used; 0 uses any free one";
    }
}

settings! {
    /// When the context guard acts.
    pub struct Guard {
        compact_percent: Option<Share> = None, "Share of the context window, such as 0.76, at which `/compact` is typed when a turn ends; `off` never does it";
        deny_percent: Option<Share> = None, "Share of the context window, such as 0.85, at which new subagents are denied; `off` denies none";
    }
}

settings! {
    /// How text is typed.
    pub struct Inject {
        patience_seconds: Seconds = Seconds::new(30), "How long to wait for an open dialog to close, a turn to end or a draft to be finished; after that, nothing is typed; a step of a continuation may take twice as long, and is then tried once more", Range::new(0.0, 3_600.0);
    }
}

settings! {
    /// The view of all sessions.
    pub struct View {
        hosts: Hosts = Hosts::default(), "Other machines whose sessions the view shows too: names for your own `ssh`, which must connect without a password; only `longhaul status --json` is run there";
    }
}

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// Never fails: a value that cannot be used is replaced by its default, or by the stricter side if it protects privacy, and
    /// named in a warning. If the text is no JSON object, or has a key twice, nobody knows what it was to forbid: every job is off, and the only
    /// warning is about the whole file ([`Warning::is_whole_file`]).
    pub fn from_json(text: &str) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let text = without_byte_order_mark(text);
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => match serde_json::from_str::<setting::WithoutRepeatedKeys>(text) {
                Ok(_) => value,
                Err(error) => {
                    warnings.push(Warning::whole_file(&format!("is ambiguous ({error})")));
                    return (Self::closed(), warnings);
                }
            },
            Ok(_) => {
                warnings.push(Warning::whole_file("is not a JSON object"));
                return (Self::closed(), warnings);
            }
            Err(error) => {
                warnings.push(Warning::whole_file(&format!("is not JSON ({error})")));
                return (Self::closed(), warnings);
            }
        };
        let mut config = Self::read(None, &value, Self::default(), "", &mut warnings);
        project::apply(&mut config, &mut warnings);
        (config, warnings)
    }

    /// Returns the JSON Schema of a configuration file.
    pub fn json_schema() -> Value {
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Longhaul configuration",
        });
        if let (Some(schema), Value::Object(body)) = (schema.as_object_mut(), Self::default().schema(None, "Longhaul"))
        {
            schema.extend(body);
            // A file may name the schema that it follows.
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                properties.insert("$schema".to_owned(), json!({ "type": "string" }));
            }
        }
        schema
    }

    /// Returns every value that can be set, with its default.
    pub fn keys() -> Vec<Key> {
        let mut keys = Vec::new();
        Self::default().list("", "", None, &mut keys);
        keys
    }
}

impl Bookmarks {
    /// Returns whether bookmarks are set.
    pub fn is_on(&self) -> bool {
        self.enabled != BookmarksOn::Never
    }
}

impl Guard {
    /// Returns whether it does anything.
    pub fn is_on(&self) -> bool {
        self.compact_percent.is_some() || self.deny_percent.is_some()
    }
}

impl Memory {
    /// Returns how a model is asked for summaries; `None` if none is to be.
    pub fn summarizer(&self) -> Option<&SummaryModel> {
        self.model.via.as_ref().filter(|_| self.enabled)
    }
}

impl Inject {
    /// Returns how long to wait until text can be typed: an hour at most, so that a waiting process ends.
    pub fn patience(&self) -> Duration {
        self.patience_seconds.as_duration().min(Duration::from_secs(3600))
    }

    /// Returns how long a step of a continuation may take: a text is typed within the patience, and Claude Code gets as long
    /// to act on it.
    pub fn step(&self) -> Duration {
        (2 * self.patience()).max(Duration::from_secs(1))
    }
}
