//! What the model answers: reads the orders in the prompt, such as `RUN:…`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::reply::{Block, Reply};
use crate::shown::Shown;
use crate::words;

const SUMMARY: &str = "<analysis>none</analysis>\n<summary>\nA SUMMARY OF THE CONVERSATION.\n</summary>";

/// What the client says when it wants a summary for a compaction.
const SUM_UP: &str = "create a detailed summary";

/// The words that make a text an order.
const ORDERS: &[&str] = &["SAY:", "RUN:", "READ:", "WRITE:", "WRITES:", "TOOLS:", "TASK:", "TOOL:", "ERR:"];

/// Returns whether `text` orders anything.
pub(crate) fn is_order(text: &str) -> bool {
    text.contains(SUM_UP) || ORDERS.iter().any(|order| text.contains(order))
}

/// How a text that carries no order is answered.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What the text must have in it.
    pub after: String,
    /// The answer; `{}` in it is what follows `after` in its line.
    pub say: String,
}

/// The orders in one text; `;;` stands between those that follow each other.
///
/// - `SAY:text` replies with the rest of the order, `SLOW:ms` waits so long after each word and before each tool.
/// - `RUN:command`, `READ:path`, `WRITE:path` use Bash, Read and Write once; `TOOLS:n` uses Bash n times, one after another.
/// - `WRITES:n:path` uses Write n times, one after another, for `path.1`, `path.2` and so on.
/// - `TOOL:Name {json}` uses any tool.
/// - `TASK:n:prompt` starts n subagents at once, with all that follows as their prompt.
/// - `USAGE:n` is how many input tokens are reported, `ERR:status` fails with that HTTP status.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a>(pub &'a str);

/// The tool calls of one message.
type Batch<'a> = Vec<(&'a str, Value)>;

impl<'a> Script<'a> {
    fn orders(self) -> impl Iterator<Item = Order<'a>> {
        self.0.lines().flat_map(|line| line.split(";;")).map(Order)
    }

    /// Returns the number after `word`, wherever that stands.
    fn number(self, word: &str) -> Option<u64> {
        self.orders().find_map(|order| order.number(word))
    }
}

/// One order.
#[derive(Clone, Copy)]
struct Order<'a>(&'a str);

impl<'a> Order<'a> {
    /// Returns what follows `word`, unless that is a subagent's business.
    fn rest(self, word: &str) -> Option<&'a str> {
        let (before, rest) = self.0.split_once(word)?;
        (!before.contains("TASK:")).then_some(rest.trim())
    }

    fn number(self, word: &str) -> Option<u64> {
        let rest = self.rest(word)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }

    /// Returns the tool calls that it makes; `agent` is what the tool for subagents is called.
    fn calls(self, agent: &'a str) -> Vec<Batch<'a>> {
        if let Some(count) = self.number("TASK:") {
            let prompt = self.rest("TASK:").and_then(|rest| rest.split_once(':')).map_or("", |(_, prompt)| prompt);
            let input =
                |i| json!({ "description": format!("part {i}"), "prompt": prompt, "subagent_type": "general-purpose" });
            return vec![(1..=count).map(|i| (agent, input(i))).collect()];
        }
        if let Some(count) = self.number("TOOLS:") {
            let bash = |command: String| vec![("Bash", json!({ "command": command, "description": "a step" }))];
            return (1..=count).map(|i| bash(format!("echo step {i}"))).collect();
        }
        if let Some(count) = self.number("WRITES:") {
            let path = self.rest("WRITES:").and_then(|rest| rest.split_once(':')).map_or("", |(_, path)| path);
            let write = |path: String| vec![("Write", json!({ "file_path": path, "content": "written as ordered\n" }))];
            return (1..=count).map(|i| write(format!("{path}.{i}"))).collect();
        }
        let call = self.rest("TOOL:").and_then(|rest| rest.split_once(' '));
        let call = call.and_then(|(name, input)| Some((name, serde_json::from_str(input).ok()?)));
        let call = call.or_else(|| {
            let run = |command| ("Bash", json!({ "command": command, "description": "as ordered" }));
            let read = |path| ("Read", json!({ "file_path": path }));
            let write = |path| ("Write", json!({ "file_path": path, "content": "written as ordered\n" }));
            let rest = |word| self.rest(word);
            rest("RUN:").map(run).or_else(|| rest("READ:").map(read)).or_else(|| rest("WRITE:").map(write))
        });
        call.into_iter().map(|call| vec![call]).collect()
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
    if shown.offers(words::TOOL) {
        return vec![Block::Call { name: words::TOOL.to_owned(), input: words::answer(shown) }];
    }
    if shown.tools().is_empty() && shown.body["system"].to_string().contains("title") {
        return say("{\"title\": \"A session\"}");
    }
    let found = |rule: &Rule| {
        let found = text.split_once(&rule.after)?.1.lines().next().unwrap_or_default().trim();
        Some(rule.say.replace("{}", found))
    };
    if let Some(answer) = rules.iter().find_map(found) {
        return say(&answer);
    }
    if text.contains(SUM_UP) {
        return say(SUMMARY);
    }
    let agent = if shown.offers("Agent") { "Agent" } else { "Task" };
    let batches: Vec<_> = script.orders().flat_map(|order| order.calls(agent)).collect();
    let last = if batches.is_empty() { "Understood." } else { "Everything is done." };
    match batches.into_iter().nth(rounds) {
        None => say(script.orders().find_map(|order| order.rest("SAY:")).unwrap_or(last)),
        Some(batch) => batch.into_iter().map(|(name, input)| offered(shown, name, input)).collect(),
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
