//! An answer, whole or as the stream of events that the client reads.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http;

/// One block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Something that is said.
    Text(String),
    /// A tool that is used.
    Call {
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
    },
}

/// What the model answers.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// How many input tokens are reported; by the size of the request where it is not said.
    pub usage: Option<u64>,
    /// How long to wait after every word.
    pub pause: Duration,
    /// The HTTP status to fail with.
    pub error: Option<u64>,
}

impl Reply {
    /// Returns the whole answer as one message; `number` makes its ids unique, `size` is the request's in bytes.
    pub(crate) fn message(&self, model: &Value, number: usize, size: usize) -> Value {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::Call { .. }));
        let blocks = self.blocks.iter().enumerate().map(|(i, block)| match block {
            Block::Text(text) => json!({ "type": "text", "text": text }),
            Block::Call { name, input } => {
                json!({ "type": "tool_use", "id": format!("toolu_{number:016}{i:08}"), "name": name, "input": input })
            }
        });
        json!({
            "id": format!("msg_{number:024}"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": blocks.collect::<Vec<_>>(),
            "stop_reason": if calls { "tool_use" } else { "end_turn" },
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.usage.unwrap_or(size as u64 / 4),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 20,
                "service_tier": "standard",
            },
        })
    }

    /// Streams `message`, made of this answer, word by word.
    pub(crate) fn stream(&self, message: &Value, out: &mut impl Write) -> io::Result<()> {
        let mut start = message.clone();
        start["content"] = json!([]);
        start["stop_reason"] = Value::Null;
        start["usage"]["output_tokens"] = json!(1);
        http::event(out, &json!({ "type": "message_start", "message": start }))?;
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            self.stream_block(index, block, out)?;
        }
        let end = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
        http::event(out, &json!({ "type": "message_delta", "delta": end, "usage": message["usage"] }))?;
        http::event(out, &json!({ "type": "message_stop" }))?;
        http::end_of_events(out)
    }

    fn stream_block(&self, index: usize, block: &Value, out: &mut impl Write) -> io::Result<()> {
        let (empty, deltas) = match block["text"].as_str() {
            Some(text) => {
                let words = text.split_inclusive(char::is_whitespace);
                let deltas = words.map(|word| json!({ "type": "text_delta", "text": word })).collect();
                (json!({ "type": "text", "text": "" }), deltas)
            }
            None => {
                let mut empty = block.clone();
                empty["input"] = json!({});
                let input = block["input"].to_string();
                (empty, vec![json!({ "type": "input_json_delta", "partial_json": input })])
            }
        };
        http::event(out, &json!({ "type": "content_block_start", "index": index, "content_block": empty }))?;
        for delta in deltas {
            http::event(out, &json!({ "type": "content_block_delta", "index": index, "delta": delta }))?;
            thread::sleep(self.pause);
        }
        http::event(out, &json!({ "type": "content_block_stop", "index": index }))
    }
}
