//! How full the context of a session is, as an agent reports it.

use serde_json::Value;

/// The use of a context, as reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedUse {
    /// The model's id, where it is reported.
    pub model: Option<String>,
    /// The tokens in the window.
    pub tokens: u64,
    /// The size of the window, where it is known.
    pub window: Option<u64>,
}

/// Returns the use in the newest line with a member `tokens`, of the end of a transcript in JSON lines.
pub fn newest_use(tail: &[u8], window: u64) -> Option<ReportedUse> {
    tail.rsplit(|byte| *byte == b'\n').find_map(|line| {
        // Most lines have none: only a candidate is parsed.
        let text = std::str::from_utf8(line).ok().filter(|text| text.contains("\"tokens\""))?;
        let value: Value = serde_json::from_str(text).ok()?;
        let tokens = value["tokens"]["input"].as_u64().filter(|tokens| *tokens > 0)?;
        Some(ReportedUse { model: value["model"].as_str().map(str::to_owned), tokens, window: Some(window) })
    })
}
