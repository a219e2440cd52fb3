//! What a session gets back after a compaction: the exact facts of its own work that the summary has lost.
//!
//! [`CompactionFacts::new`] takes them from what is stored, before the summary is known. [`CompactionFacts::leave_out`] removes
//! what the summary contains, and [`CompactionFacts::render`] writes the rest, the most needed first.

mod commands;
mod corrections;
mod tasks;

use std::collections::HashMap;

use longhaul_core::hash::fnv1a;
use longhaul_core::record::{CLOSE, OPEN_OWN, defuse};
use longhaul_core::text::{cut_middle, tokens, visible};
use longhaul_core::{counted, grouped, one_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::commands::{Command, Commands};
use self::corrections::correction;
pub use self::corrections::is_correction;
use self::tasks::TaskList;
use crate::skeleton::{file_of, patched_files};

/// The maximum length of a prompt of the turn that runs, in characters.
const AT_HAND_CHARS: usize = 1_500;

/// The maximum length of the name of a file, in characters.
const PATH_CHARS: usize = 300;

/// The maximum length of an earlier prompt and of a decision, in characters.
const SAID_CHARS: usize = 200;

/// The number of prompts at the end of the session that are given back, whatever they say.
const LAST_PROMPTS: usize = 7;

/// The number of corrections, files and decisions that are kept.
const CORRECTIONS: usize = 10;
const FILES: usize = 120;
const DECISIONS: usize = 5;

/// The number of tasks in the background that are given back, and of the newest calls among which they are looked for.
const RUNNING: usize = 12;
const STARTED: usize = 500;

/// The maximum length of the lists of changed files, of files that were read, and of commands, in characters.
const CHANGED_CHARS: usize = 1_800;
const READ_CHARS: usize = 1_000;
const COMMANDS_CHARS: usize = 2_000;

/// How a file was changed that no call of the session edited.
const OTHERWISE: &str = " (by a command, a subagent or an earlier session)";

/// The maximum length of the list of tasks, in characters.
const TASKS_CHARS: usize = 4_000;

/// A shorter text may stand in a summary by chance: it counts as contained only in quotes or in a line of its own.
const TELLING_CHARS: usize = 20;

/// What is known of a session before a compaction.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CompactionInput<'a> {
    /// The folder of the project. Files below it are named relative to it.
    pub project: &'a str,
    /// The prompts of the user, oldest first, without those that are private or were taken back.
    pub prompts: &'a [&'a str],
    /// The number of the newest prompts that belong to the turn that runs: the first of them began it, the others were queued.
    /// 0 where the prompt of that turn is private.
    pub at_hand: usize,
    /// Whether that turn had ended, as before a `/compact` that the user typed.
    pub has_ended: bool,
    /// The tool calls of the session itself, oldest first.
    pub calls: &'a [CompactionCall<'a>],
    /// The files that the session, its commands and its subagents changed, the newest change first, relative to the project.
    pub changed: &'a [String],
    /// Decisions in the replies, the newest first.
    pub decisions: &'a [String],
    /// Whether the newest part of the session could not be read in time.
    pub is_partial: bool,
}

impl<'a> CompactionInput<'a> {
    /// Returns the input for a session whose newest prompt began the turn that runs.
    pub fn new(project: &'a str, prompts: &'a [&'a str], calls: &'a [CompactionCall<'a>]) -> Self {
        Self { project, prompts, at_hand: 1, calls, ..Self::default() }
    }
}

/// A tool call before a compaction.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CompactionCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's input, as JSON text. Its middle may be cut out.
    pub input: &'a str,
    /// The output; needed of calls that failed and of calls that create a task.
    pub output: &'a str,
    /// Whether the call failed or was denied.
    pub is_error: bool,
}

impl<'a> CompactionCall<'a> {
    /// Returns a successful call of `tool`, with its input as JSON text.
    pub fn new(tool: &'a str, input: &'a str) -> Self {
        Self { tool, input, ..Self::default() }
    }
}

/// What is given back after a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionFacts {
    at_hand: Vec<String>,
    has_ended: bool,
    is_partial: bool,
    /// Whether the summary lacks the request at hand.
    lacks_request: bool,
    /// Corrections and rules of the user, the newest first.
    told: Vec<String>,
    /// Other prompts at the end of the session, the newest first.
    earlier: Vec<String>,
    tasks: TaskList,
    /// Hashes of the newest commands and of the descriptions of subagents, by which what runs is recognised.
    started: Vec<u64>,
    running: Vec<String>,
    changed: Vec<ChangedFile>,
    /// The number of changed files that the summary names.
    changed_in_summary: usize,
    read: Vec<String>,
    commands: Vec<Command>,
    decisions: Vec<String>,
    project: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct ChangedFile {
    path: String,
    /// How it was changed, as the text says it; empty where it was edited.
    how: String,
}

/// The text that a session is shown after a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GivenBack {
    /// The text; empty where the summary has lost nothing.
    pub text: String,
    /// The number of files in it.
    pub files: usize,
    /// The number of commands in it.
    pub commands: usize,
    /// The number of open tasks in it.
    pub tasks: usize,
    /// The length of the text, in characters.
    pub chars: usize,
}

impl GivenBack {
    /// Returns what was given back, in a few words: `14 files, 9 commands, 2 open tasks`.
    pub fn contents(&self) -> String {
        let parts = [(self.files, "file"), (self.commands, "command"), (self.tasks, "open task")];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
        if parts.is_empty() { "prompts".to_owned() } else { parts.join(", ") }
    }

    /// Returns the message to the user.
    pub fn notice(&self) -> String {
        format!("after the compaction: {} given back (about {} tokens)", self.contents(), grouped(tokens(&self.text)))
    }
}

impl CompactionFacts {
    /// Collects the facts of a session.
    pub fn new(input: &CompactionInput<'_>) -> Self {
        let at = input.prompts.len().saturating_sub(input.at_hand);
        let (before, at_hand) = input.prompts.split_at(at);
        let mut facts = Self {
            at_hand: at_hand.iter().map(|prompt| cut_middle(prompt.trim(), AT_HAND_CHARS)).collect(),
            has_ended: input.has_ended,
            is_partial: input.is_partial,
            lacks_request: !at_hand.is_empty(),
            project: input.project.trim_end_matches('/').to_owned(),
            decisions: input.decisions.iter().take(DECISIONS).map(|said| one_line(said, SAID_CHARS)).collect(),
            ..Self::default()
        };
        for (age, prompt) in before.iter().rev().enumerate() {
            let line = one_line(prompt, SAID_CHARS);
            // Of a long prompt, its beginning and its rule may be two texts.
            let rule = correction(prompt).filter(|_| facts.told.len() < CORRECTIONS);
            let rule = rule.map(|rule| if line.ends_with('…') { one_line(rule, SAID_CHARS) } else { line.clone() });
            let is_rule = rule.as_ref() == Some(&line);
            facts.told.extend(rule.filter(|rule| !facts.told.contains(rule)));
            if !is_rule && age + at_hand.len() < LAST_PROMPTS && !facts.earlier.contains(&line) {
                facts.earlier.push(line);
            }
        }
        facts.add_calls(input);
        if input.is_partial {
            // What is newest is not known: a task may have been finished since.
            facts.tasks = TaskList::default();
        }
        facts
    }

    fn add_calls(&mut self, input: &CompactionInput<'_>) {
        let mut how: HashMap<String, &str> = HashMap::new();
        // How often a file was read, and at which call last.
        let mut reads: HashMap<String, (usize, usize)> = HashMap::new();
        let mut last_change = 0;
        let mut commands = Commands::default();
        for (at, call) in input.calls.iter().enumerate() {
            self.tasks.add(call);
            let about = if matches!(call.tool, "Agent" | "Task") { "description" } else { "command" };
            self.started.extend(text_at(call.input, about).map(|about| fnv1a(about.trim().bytes())));
            match call.tool {
                "Bash" | "shell" | "local_shell" | "exec_command" => commands.add(call),
                "Write" | "Edit" | "MultiEdit" | "NotebookEdit" if !call.is_error => {
                    if let Some(file) = file_of(call.input) {
                        last_change = at;
                        how.insert(self.relative(&file), if call.tool == "Write" { " (written)" } else { "" });
                    }
                }
                "apply_patch" if !call.is_error => {
                    last_change = at;
                    how.extend(patched_files(call.input).map(|file| (self.relative(file), "")));
                }
                "Read" | "NotebookRead" if !call.is_error => {
                    if let Some(file) = file_of(call.input) {
                        let read = reads.entry(self.relative(&file)).or_default();
                        *read = (read.0 + 1, at);
                    }
                }
                _ => {}
            }
        }
        self.started.drain(..self.started.len().saturating_sub(STARTED));
        self.commands = commands.most_needed();
        let changed = input.changed.iter().take(FILES);
        let how = |path: &String| how.get(path).copied().unwrap_or(OTHERWISE).to_owned();
        self.changed = changed.map(|path| ChangedFile { path: path.clone(), how: how(path) }).collect();
        reads.retain(|path, _| !input.changed.contains(path));
        let mut reads: Vec<(String, (usize, usize))> = reads.into_iter().collect();
        // Files that were read again, or after the last change, are needed more; then the newest.
        reads.sort_by_key(|(_, (times, at))| (*times < 2 && *at < last_change, std::cmp::Reverse(*at)));
        self.read = reads.into_iter().map(|(path, _)| path).take(FILES).collect();
    }

    /// Returns the name of a file: relative to the project where it is in it.
    fn relative(&self, path: &str) -> String {
        let below = path.strip_prefix(&self.project).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|rest| !rest.is_empty()).unwrap_or(path).to_owned()
    }

    /// Adds files that were found to be changed since, the newest change first.
    pub fn add_changed(&mut self, paths: &[String]) {
        let is_known = |path: &&String| self.changed.iter().any(|file| file.path == **path);
        let new = paths.iter().take(FILES).filter(|path| !is_known(path));
        let new: Vec<_> = new.map(|path| ChangedFile { path: path.clone(), how: OTHERWISE.to_owned() }).collect();
        self.read.retain(|read| !new.iter().any(|file| file.path == *read));
        self.changed.splice(..0, new);
    }

    /// Sets what still runs in the background: the kind and the id of each, and its command or description. What a private
    /// turn has started is shown without the last.
    pub fn set_running<'a>(&mut self, tasks: impl Iterator<Item = (&'a str, &'a str, &'a str)>) {
        let started = std::mem::take(&mut self.started);
        let line = |(kind, id, about): (&str, &str, &str)| {
            let about = if started.contains(&fnv1a(about.trim().bytes())) { about } else { "not recorded" };
            one_line(&format!("{kind} {id}: {about}"), SAID_CHARS)
        };
        self.running = tasks.take(RUNNING).map(line).collect();
    }

    /// Removes prompts that a text contains word for word: those that an agent keeps beside the summary.
    pub fn leave_out_prompts(&mut self, kept: &str) {
        let kept = Contents::of(kept);
        for prompts in [&mut self.at_hand, &mut self.told, &mut self.earlier] {
            prompts.retain(|prompt| !kept.have(prompt));
        }
        self.lacks_request &= !self.at_hand.is_empty();
    }

    /// Removes what a summary contains word for word. Of the request at hand, the beginning stays.
    pub fn leave_out(&mut self, summary: &str) {
        let contents = Contents::of(summary);
        self.lacks_request &= !self.at_hand.iter().all(|prompt| contents.have(prompt));
        for prompt in self.at_hand.iter_mut().filter(|prompt| contents.have(prompt)) {
            *prompt = one_line(prompt, SAID_CHARS);
        }
        self.told.retain(|prompt| !contents.have(prompt));
        self.earlier.retain(|prompt| !contents.have(prompt));
        self.decisions.retain(|decision| !contents.have(decision));
        // A summary may say that a command succeeds which has failed since.
        self.commands.retain(|command| command.is_failing() || !contents.quote(&command.text));
        // A part of a list would look like the whole list.
        if self.tasks.open().iter().all(|task| contents.have(&task.text)) {
            self.tasks.items.clear();
        }
        if self.tasks.plan.as_deref().is_some_and(|plan| names_file(summary, plan, &self.project)) {
            self.tasks.plan = None;
        }
        let before = self.changed.len();
        self.changed.retain(|file| !names_file(summary, &file.path, &self.project));
        self.changed_in_summary += before - self.changed.len();
        self.read.retain(|file| !names_file(summary, file, &self.project));
    }

    /// Writes the facts in at most `chars` characters; `more` is the last line, which says how to read more.
    pub fn render(&self, chars: usize, more: &str) -> GivenBack {
        let mut given = GivenBack::default();
        let end = format!("{more}\n{CLOSE}");
        let mut text = Text::new(chars.saturating_sub(end.chars().count()));
        let label = if self.has_ended { "The last request, whose turn had ended" } else { "The request at hand" };
        for prompt in &self.at_hand {
            text.add(&format!("[{label}] {}\n", shown(prompt)));
        }
        if self.is_partial {
            text.add(
                "[The newest part of the session was not read in time: the newest calls and tasks are missing below]\n",
            );
        }
        let before = text.text.len();
        text.list("[Rules and corrections of the user, newest first]", &self.told, usize::MAX, |prompt| shown(prompt));
        text.list("[Earlier prompts, newest first]", &self.earlier, usize::MAX, |prompt| shown(prompt));
        given.tasks = text.list(&self.tasks.heading(), &self.tasks.open(), TASKS_CHARS, |task| task.line());
        if let Some(plan) = &self.tasks.plan {
            text.add(&format!("[Plan] {}\n", shown_path(plan)));
        }
        text.list("[Still running]", &self.running, usize::MAX, |task| shown(task));
        let heading = match self.changed_in_summary {
            0 => "[Files edited, newest first]".to_owned(),
            named => format!("[Files edited, newest first, besides {named} in the summary]"),
        };
        let name = |file: &ChangedFile| format!("{}{}", shown_path(&file.path), file.how);
        given.files = text.row(&heading, &self.changed, CHANGED_CHARS, name);
        given.files += text.row("[Files read]", &self.read, READ_CHARS, |file| shown_path(file));
        given.commands = text.list("[Commands that were run]", &self.commands, COMMANDS_CHARS, Command::line);
        text.list("[Decided]", &self.decisions, usize::MAX, |decision| shown(decision));
        if text.text.len() == before && !self.lacks_request {
            return GivenBack::default();
        }
        given.text = text.text + &end;
        given.chars = given.text.chars().count();
        given
    }
}

/// A text that is written into a limited number of characters.
struct Text {
    text: String,
    left: usize,
}

impl Text {
    fn new(chars: usize) -> Self {
        let text = format!("{OPEN_OWN}What the summary of this session's compaction lacks:\n");
        Self { left: chars.saturating_sub(text.chars().count()), text }
    }

    /// Adds a text if it fits; returns whether it does.
    fn add(&mut self, text: &str) -> bool {
        let chars = text.chars().count();
        let fits = chars <= self.left;
        if fits {
            self.left -= chars;
            self.text.push_str(text);
        }
        fits
    }

    /// Adds items in a line each, below a heading, in at most `chars` characters; returns how many were added.
    fn list<T>(&mut self, heading: &str, items: &[T], chars: usize, line: impl Fn(&T) -> String) -> usize {
        let added = self.items(&format!("{heading}\n"), items, chars, |item, _| format!("- {}\n", line(item)));
        if added > 0 && added < items.len() {
            self.add(&format!("- and {} more\n", items.len() - added));
        }
        added
    }

    /// Adds items in one row, behind a heading, in at most `chars` characters; returns how many were added.
    fn row<T>(&mut self, heading: &str, items: &[T], chars: usize, name: impl Fn(&T) -> String) -> usize {
        let end = |more: usize| if more > 0 { format!(", and {more} more\n") } else { "\n".to_owned() };
        let Some(left) = self.left.checked_sub(end(items.len()).chars().count()) else { return 0 };
        let reserved = std::mem::replace(&mut self.left, left) - left;
        let added = self.items(heading, items, chars, |item, is_first| {
            format!("{}{}", if is_first { " " } else { ", " }, name(item))
        });
        self.left += reserved;
        if added > 0 {
            self.add(&end(items.len() - added));
        }
        added
    }

    fn items<T>(&mut self, heading: &str, items: &[T], chars: usize, text: impl Fn(&T, bool) -> String) -> usize {
        let (mut added, mut left) = (0, chars);
        for item in items {
            let mut text = text(item, added == 0);
            if added == 0 {
                text.insert_str(0, heading);
            }
            let length = text.chars().count();
            if length > left || !self.add(&text) {
                // A shorter one may still fit.
                continue;
            }
            left -= length;
            added += 1;
        }
        added
    }
}

/// Returns a text as a model is shown it: a line of it cannot look like a heading of ours.
fn shown(text: &str) -> String {
    let text: String = text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect();
    defuse(&visible(&text.replace('\n', "\n  ")))
}

/// Returns the name of a file as a model is shown it.
fn shown_path(path: &str) -> String {
    shown(&one_line(path, PATH_CHARS))
}

/// What a summary contains.
struct Contents<'a> {
    text: &'a str,
    words: String,
}

impl<'a> Contents<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, words: single_spaced(text) }
    }

    /// Returns whether a text, which may be cut, is in it word for word.
    fn have(&self, text: &str) -> bool {
        let text = single_spaced(text.trim_end_matches('…'));
        if text.chars().count() < TELLING_CHARS {
            return self.quote(&text);
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        self.words.match_indices(&text).any(|(at, _)| {
            let (before, after) = (&self.words[..at], &self.words[at + text.len()..]);
            !before.ends_with(is_word) && !after.starts_with(is_word)
        })
    }

    /// Returns whether a text is in it in quotes, or as a line of its own.
    fn quote(&self, text: &str) -> bool {
        let text = single_spaced(text);
        let is_mark = |c: char| matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»');
        let in_quotes = |(at, _): (usize, &str)| {
            self.words[..at].ends_with(is_mark) && self.words[at + text.len()..].starts_with(is_mark)
        };
        let item = |line: &str| {
            let line =
                line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '*' | '.' | '$'));
            single_spaced(line) == text
        };
        !text.is_empty() && (self.words.match_indices(&text).any(in_quotes) || self.text.lines().any(item))
    }
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text names a file with its path, and not only another one whose path ends or begins like it.
fn names_file(text: &str, path: &str, project: &str) -> bool {
    if !path.contains(['/', '.']) {
        // It may be a word of the text.
        return Contents::of(text).quote(path);
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    text.match_indices(path).any(|(at, _)| {
        let before = &text[..at];
        let begins = !before.ends_with(|c: char| is_part(c) || c == '.')
            || before.ends_with("./") && !before.ends_with("../")
            || !project.is_empty() && before.strip_suffix('/').is_some_and(|before| before.ends_with(project));
        let mut after = text[at + path.len()..].chars();
        let ends = match after.next() {
            Some('.') => !after.next().is_some_and(char::is_alphanumeric),
            Some(next) => !is_part(next),
            None => true,
        };
        begins && ends
    })
}

/// Returns the text or number of a JSON object at `key`. An object that was cut is searched for the key.
fn text_at(json: &str, key: &str) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match serde_json::from_str::<Value>(json) {
        Ok(value) => text(value.get(key)?),
        Err(_) => {
            let value = json.split_once(&format!("\"{key}\""))?.1.trim_start().strip_prefix(':')?;
            text(&serde_json::Deserializer::from_str(value).into_iter::<Value>().next()?.ok()?)
        }
    }
}
