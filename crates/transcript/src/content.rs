//! The content of a message: a text, or a list of blocks.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::entry::Block;
use crate::wire::{BlockWire, SourceWire, read};

/// Parses the content of a message. Blocks that are malformed or of an unknown type are left out.
pub(crate) fn blocks(content: Option<&RawValue>) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    if let Some(text) = read::<Cow<'_, str>>(Some(content)) {
        return vec![Block::Text(text.into_owned())];
    }
    let list: Vec<&RawValue> = read(Some(content)).unwrap_or_default();
    list.into_iter().filter_map(|raw| block(read(Some(raw))?)).collect()
}

fn block(wire: BlockWire<'_>) -> Option<Block> {
    Some(match wire.kind.as_deref()? {
        "text" => Block::Text(wire.text?.into_owned()),
        "thinking" => Block::Thinking(wire.thinking?.into_owned()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Block::Call {
            id: wire.id?.into_owned(),
            name: wire.name.unwrap_or_default().into_owned(),
            input: wire.input.map_or_else(String::new, |input| input.get().to_owned()),
        },
        // `tool_result`, and the results of tools that run on the server, such as `web_search_tool_result`.
        kind if kind.ends_with("tool_result") => Block::Output {
            id: wire.tool_use_id?.into_owned(),
            text: plain(wire.content),
            is_error: wire.is_error.unwrap_or(false),
        },
        "image" | "document" => {
            let media: Option<SourceWire<'_>> = read(wire.source);
            let media = media.and_then(|source| source.media_type).unwrap_or(wire.kind?);
            Block::Image { media: media.into_owned() }
        }
        _ => return None,
    })
}

/// Returns content as one text: blocks are joined by newlines, an image becomes `[image]`, anything else stays JSON.
pub(crate) fn plain(content: Option<&RawValue>) -> String {
    let Some(raw) = content else { return String::new() };
    if let Some(text) = read::<Cow<'_, str>>(Some(raw)) {
        return text.into_owned();
    }
    let list: Vec<&RawValue> = read(Some(raw)).unwrap_or_default();
    let parts: Vec<String> = list.into_iter().map(plain_part).collect();
    if parts.is_empty() && raw.get() != "[]" && raw.get() != "null" {
        return raw.get().to_owned();
    }
    parts.join("\n")
}

fn plain_part(raw: &RawValue) -> String {
    match read(Some(raw)).and_then(block) {
        Some(Block::Text(text) | Block::Thinking(text)) => text,
        // A block without a media type has its block type here.
        Some(Block::Image { media }) if media.contains('/') => format!("[image {media}]"),
        Some(Block::Image { media }) => format!("[{media}]"),
        Some(Block::Call { .. } | Block::Output { .. }) | None => raw.get().to_owned(),
    }
}

/// Returns the text blocks among `blocks`, joined by newlines.
pub(crate) fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking(_) | Block::Call { .. } | Block::Output { .. } | Block::Image { .. } => None,
        })
        .collect();
    texts.join("\n")
}
