//! Translates the result of a tool call to Claude Code's form.

use serde_json::value::RawValue;

use crate::members::{self, Members};

/// The lines that begin the parts of a report about a command, in the text for the model.
const PARTS: [&str; 7] =
    ["Output:", "Error:", EXIT_CODE, "Signal:", "Background PIDs:", "Process Group PGID:", "Sandbox:"];

/// The part with the exit code. Gemini CLI leaves it out if the command succeeded.
const EXIT_CODE: &str = "Exit Code:";

/// The values with which a part of a report says that there is nothing.
const NOTHING: [&str; 2] = ["(empty)", "(none)"];

/// The tags around text from outside, which only tell the model not to trust it.
const TAGS: [&str; 2] = ["<untrusted_context>", "</untrusted_context>"];

/// The tool that runs commands, as Claude Code calls it.
const SHELL: &str = "Bash";

/// What a call returned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It succeeded, and returned this.
    Returned(String),
    /// It failed, with this message.
    Failed(String),
}

/// Returns what a response says. `tool` is Claude Code's name of the tool.
pub(crate) fn outcome(tool: &str, response: &RawValue) -> Outcome {
    let members = Members::of(Some(response));
    if let Some(error) = members.get("error").and_then(error_of) {
        return Outcome::Failed(error);
    }
    let text = |name: &str| members.get(name).map(text_of).unwrap_or_default();
    let (for_model, shown) = (text("llmContent"), text("returnDisplay"));
    let mut exit = ["exit", "exit_code", "exitCode"].iter().find_map(|name| members.integer(name));
    let texts = if tool == SHELL {
        exit = exit.or_else(|| exit_code(&for_model, &shown));
        [shown, output_in(&for_model).unwrap_or_default(), text("output")]
    } else {
        [for_model, text("output"), shown]
    };
    let text =
        texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_else(|| other_shape(response, &members));
    match exit {
        Some(exit) if exit != 0 => Outcome::Failed(failed(exit, &text)),
        _ => Outcome::Returned(text),
    }
}

/// Returns the message of a failed call: for a command, as Claude Code writes it.
pub(crate) fn failure(tool: &str, error: &str) -> String {
    match exit_code(error, "") {
        Some(exit) if tool == SHELL => failed(exit, &output_in(error).unwrap_or_default()),
        _ => error.to_owned(),
    }
}

fn failed(exit: i64, output: &str) -> String {
    format!("Exit code {exit}\n{output}").trim_end().to_owned()
}

/// Returns the exit code in a report about a command. It is in the last line of that name, because the output comes
/// before it; but not in a line of the output itself, which `shown` is, if it is known.
fn exit_code(report: &str, shown: &str) -> Option<i64> {
    let lines = |text: &str| text.lines().filter(|line| line.starts_with(EXIT_CODE)).count();
    let last = report.lines().rev().find_map(|line| line.strip_prefix(EXIT_CODE))?;
    last.trim().parse().ok().filter(|_| lines(report) > lines(shown))
}

/// Returns the output in a report about a command.
fn output_in(report: &str) -> Option<String> {
    let is_part = |line: &str| PARTS.into_iter().any(|part| line.starts_with(part));
    let mut lines = report.lines();
    let first = lines.find_map(|line| line.strip_prefix("Output:"))?;
    let rest = lines.take_while(|line| !is_part(line) && !TAGS.contains(line));
    let output = [first.trim_start()].into_iter().chain(rest).collect::<Vec<_>>().join("\n");
    Some(output).filter(|output| !NOTHING.contains(&output.trim()))
}

fn error_of(error: &RawValue) -> Option<String> {
    if error.get() == "null" {
        return None;
    }
    let message = || Members::of(Some(error)).get("message").and_then(members::text);
    Some(members::text(error).or_else(message).unwrap_or_else(|| error.get().to_owned()))
}

/// Returns a text, or the texts of a list of parts, without the tags around text from outside.
fn text_of(value: &RawValue) -> String {
    let of_part =
        |part: &RawValue| members::text(part).or_else(|| Members::of(Some(part)).get("text").and_then(members::text));
    let of_list = || {
        let parts = members::list(value).unwrap_or_default();
        parts.iter().filter_map(|part| of_part(part)).collect::<Vec<_>>().join("\n")
    };
    let text = members::text(value).unwrap_or_else(of_list);
    TAGS.iter().fold(text, |text, tag| text.replace(tag, "")).trim().to_owned()
}

fn other_shape(response: &RawValue, members: &Members) -> String {
    if response.get() == "null" || members.get("llmContent").or(members.get("output")).is_some() {
        return String::new();
    }
    members::text(response).unwrap_or_else(|| response.get().to_owned())
}
