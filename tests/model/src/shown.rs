//! What a request shows the model.

use serde_json::Value;

/// The body of one request, and the session that it came from.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The client's session id, as it says in a header.
    pub session: String,
    /// The whole body.
    pub body: Value,
}

impl Shown {
    /// Returns the text that scripts the answer, and how many rounds of tool results have come since.
    ///
    /// That is the newest text of a person, without what the client or a hook has put beside it. Beside a tool result only
    /// a text with a directive counts: a bookmark is no new order.
    pub fn order(&self) -> (String, usize) {
        let mut rounds = 0;
        for message in self.messages().iter().rev().filter(|message| message["role"] == "user") {
            let text = own_text(message);
            let has_result = blocks(message).iter().any(|block| block["type"] == "tool_result");
            if has_result && !crate::script::is_order(&text) {
                rounds += 1;
            } else if !text.is_empty() {
                return (text, rounds);
            }
        }
        (String::new(), rounds)
    }

    /// Returns whether the request offers the tool `name`.
    pub fn offers(&self, name: &str) -> bool {
        self.tools().iter().any(|tool| tool["name"] == name)
    }

    /// Returns the tools that the request offers.
    pub fn tools(&self) -> &[Value] {
        self.body["tools"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the conversation.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns whether `text` stands anywhere in the conversation, hidden from the person or not.
    pub fn mentions(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// Returns how many pieces of the conversation have `text` in them.
    pub fn count(&self, text: &str) -> usize {
        self.messages().iter().map(|message| strings_with(message, text)).sum()
    }

    /// Returns what the tools have returned, as text, oldest first.
    pub fn results(&self) -> Vec<String> {
        let results = self.messages().iter().flat_map(blocks).filter(|block| block["type"] == "tool_result");
        results.map(|block| texts(&block["content"]).join("\n")).collect()
    }
}

/// Returns a message's blocks; a plain string is one block of text.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

/// Returns a message's newest text without reminders: prompts that got no answer are merged into one message.
fn own_text(message: &Value) -> String {
    let mut texts = blocks(message).into_iter().filter_map(|block| block["text"].as_str().map(without_reminders));
    texts.rfind(|text| !text.is_empty()).unwrap_or_default()
}

fn without_reminders(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("<system-reminder>") {
        kept.push_str(before);
        rest = after.split_once("</system-reminder>").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

fn strings_with(value: &Value, text: &str) -> usize {
    match value {
        Value::String(string) => usize::from(string.contains(text)),
        Value::Array(values) => values.iter().map(|value| strings_with(value, text)).sum(),
        Value::Object(members) => members.values().map(|value| strings_with(value, text)).sum(),
        _ => 0,
    }
}
