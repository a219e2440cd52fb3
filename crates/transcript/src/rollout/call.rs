//! Translating Codex's tool calls into Claude Code's names.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire::PayloadWire;
use crate::wire::read;

/// The maximum length of the header lines above a command's output, in characters.
const HEADER_CHARS: usize = 600;

/// Returns the tool's name and the input of a call as JSON text; `None` where the payload is not a call.
pub(super) fn input(kind: &str, payload: &PayloadWire<'_>) -> Option<(String, String)> {
    let (name, input) = match kind {
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let name = payload.name.as_deref().unwrap_or(kind);
            let raw = payload.arguments.or(payload.input);
            (named(name, payload.namespace.as_deref()), arguments(raw))
        }
        "local_shell_call" => ("shell".to_owned(), payload.action.map_or(Value::Null, value)),
        "web_search_call" => ("WebSearch".to_owned(), payload.action.map_or(Value::Null, value)),
        other => (other.trim_end_matches("_call").to_owned(), Value::Null),
    };
    let (name, input) = translate(name, input);
    Some((name, input.to_string()))
}

/// Returns the name of a tool; for a tool of an MCP server, `mcp__server__tool`.
fn named(name: &str, namespace: Option<&str>) -> String {
    match namespace.and_then(|namespace| namespace.strip_prefix("mcp__")) {
        Some(server) => format!("mcp__{}__{name}", server.trim_end_matches('_')),
        None => name.to_owned(),
    }
}

/// Returns the arguments that the model wrote; usually they are JSON in a string.
fn arguments(raw: Option<&RawValue>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    match read::<Cow<'_, str>>(Some(raw)) {
        Some(text) => serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.into_owned())),
        None => value(raw),
    }
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn translate(name: String, input: Value) -> (String, Value) {
    match name.as_str() {
        "exec_command" | "shell" | "shell_command" | "container.exec" | "local_shell" => {
            let input = shell(&input);
            match patch_in(input["command"].as_str().unwrap_or_default()) {
                Some(patch) => ("apply_patch".to_owned(), json!({ "patch": patch })),
                None => ("Bash".to_owned(), input),
            }
        }
        "write_stdin" => ("BashOutput".to_owned(), json!({ "bash_id": text_of(&input["session_id"]) })),
        "apply_patch" => (name, json!({ "patch": patch(&input) })),
        "view_image" => ("Read".to_owned(), json!({ "file_path": input["path"] })),
        "update_plan" => ("TodoWrite".to_owned(), input),
        "request_user_input" => ("AskUserQuestion".to_owned(), input),
        _ => (name, input),
    }
}

fn shell(input: &Value) -> Value {
    let command = match input.get("cmd").or_else(|| input.get("command")) {
        Some(Value::Array(words)) => words_of(words),
        Some(command) => text_of(command),
        None => text_of(input),
    };
    let mut translated = Map::from_iter([("command".to_owned(), Value::from(command))]);
    let folder = input.get("workdir").or_else(|| input.get("working_directory"));
    translated.extend(folder.filter(|folder| folder.is_string()).map(|folder| ("workdir".to_owned(), folder.clone())));
    translated.into()
}

/// Returns the script that a shell is given to run, or else the command's words joined by spaces.
fn words_of(words: &[Value]) -> String {
    let words: Vec<String> = words.iter().map(text_of).collect();
    match words.as_slice() {
        [shell, flag, script] if shell.ends_with("sh") && matches!(flag.as_str(), "-c" | "-lc" | "-ic") => {
            script.clone()
        }
        words => words.join(" "),
    }
}

/// Returns the patch in a command that only applies it: Codex carries that out itself, without a shell.
fn patch_in(command: &str) -> Option<&str> {
    let rest = command.trim_start().strip_prefix("apply_patch")?;
    let patch = &rest[rest.find("*** Begin Patch")?..];
    let end = "*** End Patch";
    Some(patch.find(end).map_or(patch, |at| &patch[..at + end.len()]))
}

fn patch(input: &Value) -> String {
    let inside = ["input", "patch", "command"].iter().find_map(|key| input.get(key)).unwrap_or(input);
    match inside {
        Value::Array(words) => words.last().map(text_of).unwrap_or_default(),
        other => text_of(other),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

/// Returns the output of a call, and whether the call failed.
pub(super) fn output(raw: Option<&RawValue>) -> (String, bool) {
    let Some(raw) = raw else { return (String::new(), false) };
    if let Some(text) = read::<Cow<'_, str>>(Some(raw)) {
        return without_header(&text);
    }
    match value(raw) {
        Value::Array(parts) => (parts.iter().map(part).collect::<Vec<_>>().join("\n"), false),
        Value::Object(object) => {
            let is_error = object.get("success") == Some(&Value::Bool(false));
            let content = object.get("content").or_else(|| object.get("output"));
            (content.map_or_else(|| raw.get().to_owned(), text_of), is_error)
        }
        _ => (raw.get().to_owned(), false),
    }
}

fn part(part: &Value) -> String {
    match part.get("type").and_then(Value::as_str) {
        Some("input_image") => "[image]".to_owned(),
        _ => part.get("text").map_or_else(|| part.to_string(), text_of),
    }
}

/// Returns a command's output without the header that Codex writes above it, and whether the command failed.
///
/// A failed command's output begins with `Exit code N`, as in Claude Code.
fn without_header(text: &str) -> (String, bool) {
    if let Some((output, status)) = in_json(text) {
        return with_exit_code(&output, status);
    }
    let head: String = text.chars().take(HEADER_CHARS).collect();
    let is_header = ["Chunk ID: ", "Exit code: ", "Wall time: ", "Command: "].iter().any(|line| head.starts_with(line));
    let Some((header, _)) = head.split_once("Output:\n").filter(|_| is_header) else {
        return (text.to_owned(), false);
    };
    let status = header.lines().find_map(|line| {
        let status = line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?;
        status.trim().parse().ok()
    });
    with_exit_code(&text[header.len() + "Output:\n".len()..], status.unwrap_or_default())
}

/// Parses the format of older versions, `{"output": …, "metadata": {"exit_code": …}}`.
fn in_json(text: &str) -> Option<(String, i64)> {
    let value: Value = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    let status = value.get("metadata")?.get("exit_code")?.as_i64()?;
    Some((value.get("output")?.as_str()?.to_owned(), status))
}

fn with_exit_code(output: &str, status: i64) -> (String, bool) {
    if status == 0 { (output.to_owned(), false) } else { (format!("Exit code {status}\n{output}"), true) }
}
