//! The Responses API, as Codex uses it: requests are translated for the script, and answers back.

use std::io::{self, Write};
use std::thread;

use serde_json::{Value, json};

use crate::http;
use crate::reply::{Block, Reply};
use crate::shown::Shown;

/// The tool of Codex that runs a command. The script calls it `Bash`.
const COMMAND: &str = "exec_command";

/// Returns a request in the form of the Messages API, with everything else of it.
pub(crate) fn shown(mut body: Value) -> Shown {
    let items = body["input"].as_array().cloned().unwrap_or_default();
    body["messages"] = items.iter().filter_map(message).collect();
    if let Some(tools) = body["tools"].as_array_mut()
        && tools.iter().any(|tool| tool["name"] == COMMAND)
    {
        tools.push(json!({ "name": "Bash" }));
    }
    // As the Messages API is asked for a title.
    body["system"] = body["text"]["format"]["schema"]["required"].clone();
    let session = body["prompt_cache_key"].as_str().unwrap_or_default().to_owned();
    Shown { session, body }
}

fn message(item: &Value) -> Option<Value> {
    let blocks = |content: &Value| -> Vec<Value> {
        let parts = content.as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).map(|text| json!({ "type": "text", "text": text })).collect()
    };
    match item["type"].as_str()? {
        "message" => {
            let content = blocks(&item["content"]);
            let is_context =
                content.iter().any(|block| block["text"].as_str().is_some_and(|text| text.starts_with('<')));
            let role = if item["role"] == "user" && is_context { "developer" } else { item["role"].as_str()? };
            Some(json!({ "role": role, "content": content }))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let result = json!({ "type": "tool_result", "content": item["output"].to_string() });
            Some(json!({ "role": "user", "content": [result] }))
        }
        "function_call" | "custom_tool_call" => Some(json!({ "role": "assistant", "content": [item.clone()] })),
        _ => None,
    }
}

/// Streams an answer; `number` makes its ids unique, `size` is the request's in bytes.
pub(crate) fn stream(reply: &Reply, number: usize, size: usize, out: &mut impl Write) -> io::Result<()> {
    http::begin_events(out)?;
    let id = format!("resp_{number:024}");
    let mut answer = json!({ "id": id, "status": "in_progress", "output": [] });
    http::event(out, &json!({ "type": "response.created", "response": answer }))?;
    let items: Vec<Value> = reply.blocks.iter().enumerate().map(|(index, block)| item(block, number, index)).collect();
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        http::event(out, &json!({ "type": "response.output_item.added", "output_index": index, "item": begun }))?;
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        for word in text.split_inclusive(char::is_whitespace) {
            let delta = json!({
                "type": "response.output_text.delta", "item_id": item["id"],
                "output_index": index, "content_index": 0, "delta": word,
            });
            http::event(out, &delta)?;
            thread::sleep(reply.pause);
        }
        http::event(out, &json!({ "type": "response.output_item.done", "output_index": index, "item": item }))?;
    }
    let input = reply.usage.unwrap_or(size as u64 / 4);
    answer["status"] = json!("completed");
    answer["output"] = items.into();
    answer["usage"] = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input + 20,
    });
    http::event(out, &json!({ "type": "response.completed", "response": answer }))?;
    http::end_of_events(out)
}

fn item(block: &Block, number: usize, index: usize) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": format!("msg_{number:016}{index:08}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Block::Call { name, input } => {
            let (name, input) = match name.as_str() {
                "Bash" => (COMMAND, json!({ "cmd": input["command"] })),
                name => (name, input.clone()),
            };
            json!({
                "type": "function_call", "id": format!("fc_{number:016}{index:08}"), "status": "completed",
                "call_id": format!("call_{number:016}{index:08}"), "name": name, "arguments": input.to_string(),
            })
        }
    }
}
