//! What the prompt orders.

use std::time::Duration;

use serde_json::{Value, json};

use crate::reply::{Block, Reply};
use crate::shown::Shown;

const SUMMARY: &str = "<analysis>none</analysis>\n<summary>\nA SUMMARY OF THE CONVERSATION.\n</summary>";

/// The words that make a text an order.
const ORDERS: &[&str] = &["SAY:", "RUN:", "READ:", "WRITE:", "TOOLS:", "TASK:", "TOOL:", "ERR:"];

/// Returns whether `text` orders anything.
pub(crate) fn is_order(text: &str) -> bool {
    ORDERS.iter().any(|order| text.contains(order))
}

/// How a text that carries no order is answered.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What the text must have in it.
    pub after: String,
    /// The answer; `{}` in it is what follows `after` in its line.
    pub say: String,
}

/// The orders in one text.
///
/// - `SAY:text` replies with the rest of the line, `SLOW:ms` waits so long after each of its words.
/// - `RUN:command`, `READ:path`, `WRITE:path` use Bash, Read and Write once; `TOOLS:n` uses Bash n times, one after another.
/// - `TOOL:Name {json}` uses any tool; several lines, one after another.
/// - `TASK:n:prompt` starts n subagents at once.
/// - `USAGE:n` is how many input tokens are reported, `ERR:status` fails with that HTTP status.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a>(pub &'a str);

impl<'a> Script<'a> {
    /// Returns the rest of the line after `word`.
    fn line(self, word: &str) -> Option<&'a str> {
        let (_, rest) = self.0.split_once(word)?;
        rest.lines().next().map(str::trim)
    }

    /// Returns the number after `word`.
    fn number(self, word: &str) -> Option<u64> {
        let rest = self.line(word)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }

    /// Returns the tools of the `TOOL:` lines, with their input.
    fn tools(self) -> Vec<(&'a str, Value)> {
        let lines = self.0.lines().filter_map(|line| line.split_once("TOOL:")?.1.split_once(' '));
        lines.filter_map(|(name, input)| Some((name, serde_json::from_str(input).ok()?))).collect()
    }
}

/// Returns the answer to a request.
pub(crate) fn answer(shown: &Shown, rules: &[Rule]) -> Reply {
    let (text, rounds) = shown.order();
    let script = Script(&text);
    Reply {
        blocks: blocks(shown, script, rounds, rules),
        usage: script.number("USAGE:"),
        pause: Duration::from_millis(script.number("SLOW:").unwrap_or_default()),
        error: script.number("ERR:"),
    }
}

fn blocks(shown: &Shown, script: Script<'_>, rounds: usize, rules: &[Rule]) -> Vec<Block> {
    let text = script.0;
    if shown.tools().is_empty() && shown.body["system"].to_string().contains("title") {
        return say("{\"title\": \"A session\"}");
    }
    if text.contains("create a detailed summary") {
        return say(SUMMARY);
    }
    if let Some(rule) = rules.iter().find(|rule| text.contains(&rule.after)) {
        let found = script.line(&rule.after).unwrap_or_default();
        return say(&rule.say.replace("{}", found));
    }
    let calls = calls(script, shown);
    if calls.is_empty() {
        return say(script.line("SAY:").unwrap_or("Understood."));
    }
    match calls.into_iter().nth(rounds) {
        None => say(script.line("SAY:").unwrap_or("Everything is done.")),
        Some(batch) => batch.into_iter().map(|(name, input)| offered(shown, name, input)).collect(),
    }
}

/// Returns the tool calls that are ordered, those of one message together.
fn calls<'a>(script: Script<'a>, shown: &Shown) -> Vec<Vec<(&'a str, Value)>> {
    let tools = script.tools();
    if !tools.is_empty() {
        return tools.into_iter().map(|call| vec![call]).collect();
    }
    if let Some(count) = script.number("TASK:") {
        let prompt =
            script.line("TASK:").and_then(|rest| rest.split_once(':')).map_or("SAY:done", |(_, prompt)| prompt);
        let name = if shown.offers("Agent") { "Agent" } else { "Task" };
        let task = |i| {
            let input =
                json!({ "description": format!("part {i}"), "prompt": prompt, "subagent_type": "general-purpose" });
            (name, input)
        };
        return vec![(1..=count).map(task).collect()];
    }
    if let Some(count) = script.number("TOOLS:") {
        let bash =
            |i| vec![("Bash", json!({ "command": format!("echo step {i}"), "description": format!("step {i}") }))];
        return (1..=count).map(bash).collect();
    }
    if let Some(command) = script.line("RUN:") {
        return vec![vec![("Bash", json!({ "command": command, "description": "as ordered" }))]];
    }
    if let Some(path) = script.line("READ:") {
        return vec![vec![("Read", json!({ "file_path": path }))]];
    }
    match script.line("WRITE:") {
        Some(path) => vec![vec![("Write", json!({ "file_path": path, "content": "written as ordered\n" }))]],
        None => Vec::new(),
    }
}

/// Returns the call, or what to say where the tool is not there: a test then shows why.
fn offered(shown: &Shown, name: &str, input: Value) -> Block {
    match shown.offers(name) {
        true => Block::Call { name: name.to_owned(), input },
        false => {
            let names: Vec<_> = shown.tools().iter().filter_map(|tool| tool["name"].as_str()).collect();
            Block::Text(format!("{name} is not offered, only {}", names.join(", ")))
        }
    }
}

fn say(text: &str) -> Vec<Block> {
    vec![Block::Text(text.to_owned())]
}
