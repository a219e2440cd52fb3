//! Payloads recorded from Claude Code, with the sizes that a row asks for.

use anyhow::{Context, Result, bail};
use longhaul_core::event::EventName;
use serde_json::{Value, json};

/// Returns the payload of `event`, with the fields of `common` and with `chars` characters in its variable part.
pub(crate) fn of(event: EventName, chars: usize, common: &Value) -> Result<Vec<u8>> {
    let recorded = match event {
        EventName::SessionStart => include_str!("../../../../tests/payloads/SessionStart-startup-interactive.json"),
        EventName::UserPromptSubmit => include_str!("../../../../tests/payloads/UserPromptSubmit.json"),
        EventName::PostToolUse => include_str!("../../../../tests/payloads/PostToolUse.json"),
        EventName::PermissionRequest => include_str!("../../../../tests/payloads/PermissionRequest.json"),
        EventName::SubagentStop => include_str!("../../../../tests/payloads/SubagentStop.json"),
        EventName::PreCompact => include_str!("../../../../tests/payloads/PreCompact-auto.json"),
        EventName::Stop => include_str!("../../../../tests/payloads/Stop.json"),
        other => bail!("no recorded payload for {other}: add one to xtask's bench"),
    };
    let mut payload: Value = serde_json::from_str(recorded).with_context(|| format!("the recorded {event}"))?;
    match event {
        EventName::PostToolUse => payload["tool_response"]["stdout"] = json!(text(chars)),
        EventName::UserPromptSubmit if chars == 0 => payload["prompt"] = json!("\u{b7}"),
        EventName::UserPromptSubmit => payload["prompt"] = json!(text(chars)),
        EventName::SubagentStop | EventName::Stop => payload["last_assistant_message"] = json!(text(chars)),
        _ => {}
    }
    for (key, value) in common.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    Ok(serde_json::to_vec(&payload)?)
}

/// Returns text like a terminal's: lines, quotes and a letter beyond ASCII, all of which JSON treats differently.
fn text(chars: usize) -> String {
    "test parser::reads_a \"quoted\" näme ... ok\n".chars().cycle().take(chars).collect()
}
