//! The summary of a turn in one line, made by rules.

use std::borrow::Cow;

use longhaul_core::one_line;
use serde::Deserialize;

/// The maximum length of the prompt, and of the reply, in a line, in characters.
const SAID_CHARS: usize = 90;

/// The maximum length of a command or a web query in a line, in characters.
const COMMAND_CHARS: usize = 40;

/// The number of names of one kind that a line shows; further ones are counted.
const NAMES: usize = 3;

/// The parts of a turn that its line needs.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TurnWork<'a> {
    /// The prompt.
    pub asked: &'a str,
    /// The model's last text.
    pub answered: &'a str,
    /// The tool calls, in order.
    pub actions: &'a [ToolUse<'a>],
    /// Whether the user interrupted the turn.
    pub interrupted: bool,
    /// The error message of the failed request that ended the turn.
    pub failure: Option<&'a str>,
}

impl<'a> TurnWork<'a> {
    /// Returns the work of a turn that ended with an answer.
    pub fn new(asked: &'a str, answered: &'a str, actions: &'a [ToolUse<'a>]) -> Self {
        Self { asked, answered, actions, ..Self::default() }
    }
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToolUse<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's input, as JSON text. Invalid JSON counts as empty.
    pub input: &'a str,
    /// Whether the call failed or was denied.
    pub is_error: bool,
}

impl<'a> ToolUse<'a> {
    /// Returns a successful call of `tool`, with its input as JSON text.
    pub fn new(tool: &'a str, input: &'a str) -> Self {
        Self { tool, input, is_error: false }
    }
}

#[derive(Deserialize, Default)]
struct InputWire<'a> {
    #[serde(borrow, default)]
    command: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "query")]
    url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
}

/// Returns the file that the input of a tool names. The input may be cut: a file is named before its contents.
pub fn file_of(input: &str) -> Option<String> {
    let named = ["\"file_path\"", "\"notebook_path\"", "\"path\""].iter().find_map(|key| input.split_once(key))?.1;
    let value = named.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()
}

/// Returns the files that a patch of Codex changes, from the input of the call as JSON text. Its middle may be cut out.
pub fn patched_files(input: &str) -> impl Iterator<Item = &str> {
    // The line breaks of the patch are escaped. A line of a file begins with a sign, so it is never one of these.
    input.split(r"\n*** ").filter_map(|line| {
        let kinds = ["Add File: ", "Update File: ", "Delete File: ", "Move to: "];
        let path = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
        path.split(['\\', '"']).next().map(str::trim).filter(|path| !path.is_empty())
    })
}

/// Names of one kind without duplicates, in the order in which they were added.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn add(&mut self, name: &str) {
        if !name.is_empty() && !self.0.iter().any(|known| known == name) {
            self.0.push(name.to_owned());
        }
    }

    /// Returns the first names, and the number of further ones.
    fn list(&self) -> String {
        let shown = self.0.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.0.len().saturating_sub(NAMES) {
            0 => shown,
            more => format!("{shown}, +{more}"),
        }
    }
}

#[derive(Default)]
struct Done {
    edited: Names,
    read: Names,
    ran: Names,
    looked_up: Names,
    delegated: Names,
    others: Names,
    searches: usize,
    failed: usize,
}

/// Returns the turn in one line: the prompt, what was done, with which files, and how it ended.
pub fn skeleton(work: &TurnWork<'_>) -> String {
    let mut done = Done::default();
    for action in work.actions {
        done.add(action);
    }
    let mut parts = done.parts();
    parts.push(outcome(work));
    parts.retain(|part| !part.is_empty());
    let asked = one_line(work.asked, SAID_CHARS);
    match (asked.is_empty(), parts.is_empty()) {
        (_, true) => asked,
        (true, false) => parts.join("; "),
        (false, false) => format!("{asked} → {}", parts.join("; ")),
    }
}

impl Done {
    fn add(&mut self, action: &ToolUse<'_>) {
        let input: InputWire<'_> = serde_json::from_str(action.input).unwrap_or_default();
        let file = file_of(action.input).map_or(String::new(), |file| short_path(&file));
        let short = |text: Option<Cow<'_, str>>| one_line(text.as_deref().unwrap_or_default(), COMMAND_CHARS);
        self.failed += usize::from(action.is_error);
        match action.tool {
            // A denied or failed call changed nothing.
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" if action.is_error => {}
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => self.edited.add(&file),
            "Read" | "NotebookRead" => self.read.add(&file),
            "Grep" | "Glob" | "LS" => self.searches += 1,
            "Bash" => self.ran.add(&short(input.command)),
            "WebFetch" | "WebSearch" => self.looked_up.add(&short(input.url)),
            "Agent" | "Task" => self.delegated.add(&short(input.description)),
            "" => {}
            tool => self.others.add(tool),
        }
    }

    fn parts(&self) -> Vec<String> {
        let named = |verb: &str, names: &Names| {
            if names.0.is_empty() { String::new() } else { format!("{verb} {}", names.list()) }
        };
        let counted = |count: usize, text: String| if count == 0 { String::new() } else { text };
        vec![
            named("edited", &self.edited),
            named("ran", &self.ran),
            named("delegated", &self.delegated),
            named("looked up", &self.looked_up),
            named("used", &self.others),
            named("read", &self.read),
            counted(self.searches, format!("searched {}×", self.searches)),
            counted(self.failed, format!("{} failed", self.failed)),
        ]
    }
}

fn outcome(work: &TurnWork<'_>) -> String {
    if let Some(failure) = work.failure {
        return format!("request failed: {}", one_line(failure, SAID_CHARS));
    }
    if work.interrupted {
        return "stopped by the user".to_owned();
    }
    match one_line(first_sentence(work.answered), SAID_CHARS) {
        answer if answer.is_empty() => String::new(),
        answer => format!("“{answer}”"),
    }
}

fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(['\n']).unwrap_or(text.len());
    let sentence = [". ", "! ", "? "].into_iter().filter_map(|stop| text[..end].find(stop)).min();
    sentence.map_or(&text[..end], |at| &text[..=at])
}

/// Returns the last two components of a path.
fn short_path(path: &str) -> String {
    let mut parts: Vec<&str> = path.rsplit('/').filter(|part| !part.is_empty()).take(2).collect();
    parts.reverse();
    parts.join("/")
}
