//! Translates the result of a tool call to Claude Code's form.

use serde_json::Value;

/// The lines that begin the parts of a report about a command, in the text for the model.
const PARTS: [&str; 7] =
    ["Output:", "Error:", "Exit Code:", "Signal:", "Background PIDs:", "Process Group PGID:", "Sandbox:"];

/// The values with which a part of a report says that there is nothing.
const NOTHING: [&str; 2] = ["(empty)", "(none)"];

/// The tags around text from outside, which only tell the model not to trust it.
const TAGS: [&str; 2] = ["<untrusted_context>", "</untrusted_context>"];

/// What a call returned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It succeeded, and returned this.
    Returned(String),
    /// It failed, with this message.
    Failed(String),
}

/// Returns what a response says. `tool` is Claude Code's name of the tool.
pub(crate) fn outcome(tool: &str, response: &Value) -> Outcome {
    let for_model = text_of(&response["llmContent"]);
    if let Some(error) = error_of(&response["error"]) {
        return Outcome::Failed(error);
    }
    let (exit, reported) = command_report(&for_model);
    let exit = ["exit", "exit_code", "exitCode"].iter().find_map(|name| response[*name].as_i64()).or(exit);
    let shown = text_of(&response["returnDisplay"]);
    let text = match tool {
        "Bash" => [shown, reported.unwrap_or_default(), text_of(&response["output"])],
        _ => [for_model, text_of(&response["output"]), shown],
    };
    let text = text.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_else(|| other_shape(response));
    match exit {
        Some(exit) if exit != 0 => Outcome::Failed(failed(exit, &text)),
        _ => Outcome::Returned(text),
    }
}

/// Returns the message of a failed call: for a command, as Claude Code writes it.
pub(crate) fn failure(tool: &str, error: &str) -> String {
    match command_report(error) {
        (Some(exit), output) if tool == "Bash" => failed(exit, &output.unwrap_or_default()),
        _ => error.to_owned(),
    }
}

fn failed(exit: i64, output: &str) -> String {
    format!("Exit code {exit}\n{output}").trim_end().to_owned()
}

/// Returns the exit code and the output in a report about a command.
fn command_report(report: &str) -> (Option<i64>, Option<String>) {
    let part_of = |line: &str| PARTS.into_iter().find(|part| line.starts_with(part));
    let mut lines = report.lines();
    let exit = report.lines().find_map(|line| line.strip_prefix("Exit Code:")?.trim().parse().ok());
    let Some(first) = lines.find_map(|line| line.strip_prefix("Output:")) else { return (exit, None) };
    let rest = lines.take_while(|line| part_of(line).is_none() && !TAGS.contains(line));
    let output = [first.trim_start()].into_iter().chain(rest).collect::<Vec<_>>().join("\n");
    (exit, Some(output).filter(|output| !NOTHING.contains(&output.trim())))
}

fn error_of(error: &Value) -> Option<String> {
    let text = error.as_str().or_else(|| error["message"].as_str());
    match (error, text) {
        (Value::Null, _) => None,
        (_, Some(text)) => Some(text.to_owned()),
        (other, None) => Some(other.to_string()),
    }
}

/// Returns a text, or the texts of a list of parts, without the tags around text from outside.
fn text_of(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    TAGS.iter().fold(text, |text, tag| text.replace(tag, "")).trim().to_owned()
}

fn other_shape(response: &Value) -> String {
    match response {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(members) if members.contains_key("llmContent") || members.contains_key("output") => String::new(),
        other => other.to_string(),
    }
}
