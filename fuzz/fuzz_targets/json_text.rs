//! A key that is added to a file of somebody's: it is there then, and nothing else is otherwise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_core::json_text::insert;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Some(changed) = insert(text, &["memory", "enabled"], &json!(true)) else { return };
    let before = if text.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str::<Value>(text) };
    // Half a surrogate pair is passed over as text, and is no value.
    let Ok(mut before) = before else { return };
    before["memory"]["enabled"] = json!(true);
    assert_eq!(serde_json::from_str::<Value>(&changed).ok(), Some(before), "{changed}");
});
