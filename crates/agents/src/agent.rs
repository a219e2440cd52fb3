//! The columns of an agent's table: what is known of an agent, as data.

use longhaul_core::SessionId;
use longhaul_core::event::EventName;
use serde_json::Value;

use crate::table;

/// An agent other than Claude Code.
#[derive(Debug)]
#[non_exhaustive]
pub struct Agent {
    /// Its name: on the command line, and before the ids of its sessions.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its package in the npm registry.
    pub package: &'static str,
    /// Its executable.
    pub program: &'static str,
    /// What follows `longhaul hook` in the command of a hook, before the event.
    pub option: &'static str,
    /// The events that are registered, in the order in which a session usually sends them.
    pub events: &'static [EventRule],
    /// The fields of a payload: each by the agent's name, and by the name that Claude Code uses.
    pub fields: Aliases,
    /// The tools.
    pub tools: Aliases,
    /// The members of a tool's input.
    pub inputs: Aliases,
    /// The dialogs that ask for permission, where an event reports them with details instead of a tool.
    pub dialogs: &'static [Dialog],
    /// Whether every event has the id of the prompt. Otherwise it is the time of the prompt, which the hooks record.
    pub sends_prompt_ids: bool,
    /// Where the use of the context comes from.
    pub usage: UsageSource,
    /// The way of starting a session at which it does not show the model what the hook answers.
    pub deaf_at_start: Option<&'static str>,
    /// The unit of the timeouts in its configuration: how many of them a second has.
    pub timeout_units: u64,
    /// The file that an installation changes.
    pub config: ConfigFile,
    /// The arguments that resume a session, before the id of the session.
    pub resume: &'static [&'static str],
    /// What does not work, or not always, and why.
    pub limits: &'static [(Feature, Support)],
}

impl Agent {
    /// Returns whether a feature works.
    pub fn support(&self, feature: Feature) -> Support {
        self.limits.iter().find(|(limited, _)| *limited == feature).map_or(Support::Works, |(_, support)| *support)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Agent {}

/// An event of the agent, and the event of Claude Code that it is treated as.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EventRule {
    /// The agent's name of the event.
    pub theirs: &'static str,
    /// The event of Claude Code.
    pub ours: EventName,
    /// The time limit that the configuration sets, in seconds.
    pub seconds: u64,
    /// Which of these events count.
    pub condition: Condition,
    /// The event in the command of a hook.
    pub argument: &'static str,
    /// What the hook does, where an agent has its own page in the documentation.
    pub about: &'static str,
}

impl EventRule {
    pub(crate) const fn new(theirs: &'static str, ours: EventName, seconds: u64) -> Self {
        Self { theirs, ours, seconds, condition: Condition::Always, argument: theirs, about: "" }
    }
}

/// Which events of a kind count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// All of them.
    Always,
    /// Those in which this field is a text that is not empty.
    Filled(&'static str),
    /// Those in which this field has this value.
    Equals(&'static str, &'static str),
}

/// Names of the agent, each with the name that Claude Code uses.
pub type Aliases = &'static [(&'static str, &'static str)];

/// A kind of dialog that asks for permission, as the member `details` of a payload describes it.
#[derive(Debug, Clone, Copy)]
pub struct Dialog {
    /// The value of `details.type`.
    pub kind: &'static str,
    /// The tool of Claude Code.
    pub tool: &'static str,
    /// The member of `details` that is shown, and the name of the tool's input for it.
    pub shown: (&'static str, &'static str),
}

/// Where the use of the context comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// The end of a turn has `input_tokens`, `context_limit` and perhaps `model`.
    StopPayload,
    /// The newest line of the transcript with a member `tokens`; the window of every model is this many tokens.
    Transcript {
        /// The window of every model.
        window: u64,
    },
    /// The rollout, which is read with everything else in it.
    Rollout,
}

/// The file that an installation changes or creates.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ConfigFile {
    /// The agent's folder. It exists if the agent was ever used.
    pub folder: Folder,
    /// The variable that names another place for the folder.
    pub variable: Option<FolderVariable>,
    /// The path of the file below that folder.
    pub file: &'static str,
    /// Its content.
    pub shape: ConfigShape,
}

/// The folder of an agent's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// Below the home directory.
    Home(&'static str),
    /// Below `$XDG_CONFIG_HOME`, or `~/.config`.
    Config(&'static str),
    /// Codex's: `$CODEX_HOME`, or `~/.codex`.
    Codex,
}

/// A variable of the environment that an agent reads for the place of its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderVariable {
    /// It names the folder itself.
    Folder(&'static str),
    /// It names the directory that is used instead of the home directory.
    Home(&'static str),
}

/// The content of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigShape {
    /// JSON settings with groups of hooks for each event, as in Claude Code's settings.json; a hook has a name.
    HookGroups,
    /// A module of Longhaul, which the agent loads.
    Module,
    /// Groups of hooks as in settings, without names. The MCP server is in another file.
    CodexHooks,
}

/// What Longhaul does for an agent; see [`Feature::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`ALL` describes each of them")]
pub enum Feature {
    Status,
    Permission,
    Memory,
    Recall,
    Handoff,
    Compaction,
    Mcp,
    Monitor,
    Resume,
    Bookmarks,
    Continuation,
}

impl Feature {
    /// Every feature, in the order of the documentation, with what it is.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Status, "State of the session in tmux, the view and the viewer"),
        (Self::Permission, "Blocked while a dialog asks for permission"),
        (Self::Memory, "Prompts, tool calls and replies are stored and found"),
        (Self::Recall, "Memory page at the start of a session, passages added to prompts"),
        (Self::Handoff, "Continues another session, and can be continued by another one"),
        (Self::Compaction, "What the summary lacks is given back after a compaction"),
        (Self::Mcp, "Search tools over MCP"),
        (Self::Monitor, "How full the context is"),
        (Self::Resume, "Can be resumed by its id"),
        (Self::Bookmarks, "Bookmarks"),
        (Self::Continuation, "Continuation when the context is full"),
    ];
}

/// Whether a feature works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It works.
    Works,
    /// It works, with this limit.
    Partly(&'static str),
    /// It does not, for this reason.
    No(&'static str),
}

/// The longest id that is passed to an agent.
const MAX_CHARS: usize = 100;

/// Returns the argv that resumes a session of an agent with a table; `None` for another client, and for an id that could be
/// mistaken for an option.
pub fn resume_command(session: &SessionId) -> Option<Vec<String>> {
    let agent = table::find(session.client())?;
    let own = session.own();
    let is_safe = !own.starts_with('-') && own.len() <= MAX_CHARS;
    let words = [agent.program].into_iter().chain(agent.resume.iter().copied()).chain([own]);
    is_safe.then(|| words.map(str::to_owned).collect())
}

/// The use of a context, as reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedUse {
    /// The model's id, where it is reported.
    pub model: Option<String>,
    /// The tokens in the window.
    pub tokens: u64,
    /// The size of the window, where it is known.
    pub window: Option<u64>,
}

/// Returns the use in the newest line with a member `tokens`, of the end of a transcript in JSON lines.
pub fn newest_use(tail: &[u8], window: u64) -> Option<ReportedUse> {
    tail.rsplit(|byte| *byte == b'\n').find_map(|line| {
        // Most lines have none: only a candidate is parsed.
        let text = std::str::from_utf8(line).ok().filter(|text| text.contains("\"tokens\""))?;
        let value: Value = serde_json::from_str(text).ok()?;
        let tokens = value["tokens"]["input"].as_u64().filter(|tokens| *tokens > 0)?;
        Some(ReportedUse { model: value["model"].as_str().map(str::to_owned), tokens, window: Some(window) })
    })
}
