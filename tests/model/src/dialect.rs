//! The APIs of other models: a request is read as one of the Messages API, and the answer is written in the other one.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::http::{self, Request};
use crate::reply::{Block, Reply};
use crate::script;

/// What the tools of the orders are called elsewhere.
const TOOLS: [(&str, &[&str]); 3] =
    [("Bash", &["run_shell_command", "bash"]), ("Read", &["read_file", "read"]), ("Write", &["write_file", "write"])];

/// An answer to a request for JSON: every member that Gemini CLI asks for when it chooses a model.
const CHOICE: &str = r#"{"reasoning":"as ordered","next_speaker":"user","model_choice":"flash","complexity_reasoning":"x","complexity_score":10}"#;

/// An API that is not the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Gemini's `generateContent`, whole or as a stream.
    Gemini,
    /// OpenAI's chat completions.
    Chat,
}

impl Dialect {
    /// Returns the API of a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let is_gemini = path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
        is_gemini.then_some(Self::Gemini).or_else(|| path.ends_with("/chat/completions").then_some(Self::Chat))
    }

    /// Returns a request as one of the Messages API.
    pub(crate) fn read(self, body: &Value) -> Value {
        let (offered, messages): (Vec<Value>, Vec<Value>) = match self {
            Self::Gemini => {
                let lists = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
                (lists.map(|tool| tool["name"].clone()).collect(), list(&body["contents"]).map(of_content).collect())
            }
            Self::Chat => {
                let names = list(&body["tools"]).map(|tool| tool["function"]["name"].clone());
                (names.collect(), list(&body["messages"]).map(of_message).collect())
            }
        };
        let ours = |name: &Value| {
            let theirs = name.as_str().unwrap_or_default();
            TOOLS.into_iter().find(|(_, names)| names.contains(&theirs)).map_or(theirs, |(ours, _)| ours).to_owned()
        };
        let tools: Vec<Value> = offered.iter().map(|name| json!({ "name": ours(name), "offered_as": name })).collect();
        json!({ "messages": messages, "tools": tools, "system": body["systemInstruction"], "stream": true })
    }

    /// Writes the answer to `request`, which `body` is the translated form of.
    pub(crate) fn write(
        self,
        reply: &Reply,
        request: &Request,
        body: &Value,
        number: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let tokens = reply.usage.unwrap_or(request.body.len() as u64 / 4);
        match self {
            Self::Gemini => gemini(reply, request, body, tokens, out),
            Self::Chat => chat(reply, request, body, (number, tokens), out),
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a message of Gemini's.
fn of_content(content: &Value) -> Value {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let block = |part: &Value| match part.get("functionResponse") {
        Some(result) => json!({ "type": "tool_result", "content": result["response"].to_string() }),
        None => json!({ "type": "text", "text": part["text"] }),
    };
    json!({ "role": role, "content": order_last(list(&content["parts"]).map(block).collect()) })
}

/// Returns a message of OpenAI's.
fn of_message(message: &Value) -> Value {
    let texts = match &message["content"] {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        parts => list(parts).map(|part| json!({ "type": "text", "text": part["text"] })).collect(),
    };
    match message["role"].as_str() {
        Some("tool") => {
            let result: Vec<&str> = texts.iter().filter_map(|text| text["text"].as_str()).collect();
            json!({ "role": "user", "content": [{ "type": "tool_result", "content": result.join("\n") }] })
        }
        role => json!({ "role": role, "content": order_last(texts) }),
    }
}

/// Puts the order of a person last, where it is looked for: hooks add their text behind it, and that may quote an order.
fn order_last(mut blocks: Vec<Value>) -> Vec<Value> {
    let is_order = |block: &Value| block["text"].as_str().is_some_and(script::is_order);
    if let Some(at) = blocks.iter().position(is_order) {
        let order = blocks.remove(at);
        blocks.push(order);
    }
    blocks
}

/// Returns the name under which a tool was offered, and its input with every spelling of a path.
fn call(body: &Value, name: &str, input: &Value) -> (String, Value) {
    let offered = list(&body["tools"]).find(|tool| tool["name"] == name).and_then(|tool| tool["offered_as"].as_str());
    let mut input = input.clone();
    if let Some(path) = input.get("file_path").cloned() {
        input["filePath"] = path;
    }
    if name == "Bash" {
        input["is_background"] = json!(false);
    }
    (offered.unwrap_or(name).to_owned(), input)
}

fn gemini(reply: &Reply, request: &Request, body: &Value, tokens: u64, out: &mut impl Write) -> io::Result<()> {
    let asked = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let config = &asked["generationConfig"];
    let wants_json = config["responseMimeType"] == "application/json" || config["responseJsonSchema"].is_object();
    let part = |block: &Block| match block {
        Block::Text(_) if wants_json => json!({ "text": CHOICE }),
        Block::Text(text) => json!({ "text": text }),
        Block::Call { name, input } => {
            let (name, args) = call(body, name, input);
            json!({ "functionCall": { "name": name, "args": args } })
        }
    };
    let parts: Vec<Value> = reply.blocks.iter().map(part).collect();
    let answer = json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": tokens, "candidatesTokenCount": 20, "totalTokenCount": tokens + 20 },
        "modelVersion": "gemini-scripted",
    });
    if !request.path.ends_with(":streamGenerateContent") {
        return http::plain(out, request, 200, &answer);
    }
    http::begin_events(out)?;
    http::data(out, &answer.to_string())?;
    http::end_of_events(out)
}

fn chat(
    reply: &Reply,
    request: &Request,
    body: &Value,
    (number, tokens): (usize, u64),
    out: &mut impl Write,
) -> io::Result<()> {
    let asked = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let texts: Vec<&str> = reply
        .blocks
        .iter()
        .filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None })
        .collect();
    let calls: Vec<Value> = reply.blocks.iter().enumerate().filter_map(|(index, block)| {
        let Block::Call { name, input } = block else { return None };
        let (name, input) = call(body, name, input);
        let function = json!({ "name": name, "arguments": input.to_string() });
        Some(json!({ "index": index, "id": format!("call_{number:06}{index:02}"), "type": "function", "function": function }))
    }).collect();
    let mut message = json!({ "role": "assistant", "content": texts.join("\n") });
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20 });
    let part = |kind: &str, choices: Value| json!({ "id": format!("chat{number}"), "object": kind, "created": 1, "model": asked["model"], "choices": choices });
    if asked["stream"] != true {
        let mut whole = part("chat.completion", json!([{ "index": 0, "message": message, "finish_reason": finish }]));
        whole["usage"] = usage;
        return http::plain(out, request, 200, &whole);
    }
    let kind = "chat.completion.chunk";
    let mut last = part(kind, json!([]));
    last["usage"] = usage;
    http::begin_events(out)?;
    http::data(out, &part(kind, json!([{ "index": 0, "delta": message, "finish_reason": null }])).to_string())?;
    http::data(out, &part(kind, json!([{ "index": 0, "delta": {}, "finish_reason": finish }])).to_string())?;
    http::data(out, &last.to_string())?;
    http::data(out, "[DONE]")?;
    http::end_of_events(out)
}
