//! What the model answers when the plugin's own worker asks it to put records and turns into words.

use serde_json::{Value, json};

use crate::shown::Shown;

/// The tool that the worker makes a model call.
pub(crate) const TOOL: &str = "write_memory";

/// How every text of the answer begins.
const BEGINNING: &str = "In the model's words:";

/// Returns words for everything that the request tells of.
pub(crate) fn answer(shown: &Shown) -> Value {
    let text = shown.messages().first().and_then(|message| message["content"].as_str()).unwrap_or_default();
    let told: Value = serde_json::from_str(text).unwrap_or_default();
    let list = |name: &str| told[name].as_array().cloned().unwrap_or_default();
    let observation = |seen: &Value| {
        let title = seen["title"].as_str().unwrap_or_default();
        json!({ "id": seen["id"], "title": format!("{BEGINNING} {title}"), "narrative": "" })
    };
    let line = |turn: &Value| {
        let replied = turn["replied"].as_str().unwrap_or_default();
        json!({ "id": turn["id"], "line": format!("{BEGINNING} {replied}") })
    };
    json!({
        "request": format!("{BEGINNING} something was wanted"),
        "investigated": "", "learned": "", "completed": "", "next_steps": "",
        "observations": list("observations").iter().map(observation).collect::<Vec<_>>(),
        "turns": list("turns").iter().map(line).collect::<Vec<_>>(),
    })
}
