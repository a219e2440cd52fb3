//! What the client says of itself: its own record, and its settings.

use longhaul_core::Env;
use longhaul_inject::{ClientSays, EditorMode};
use serde::Deserialize;

use crate::process;

/// `<client folder>/sessions/<pid>.json`, as far as it is of use. Internal to the client: it may change or vanish.
#[derive(Deserialize)]
struct RecordWire {
    #[serde(default)]
    status: String,
    #[serde(default, rename = "procStart")]
    proc_start: Option<serde_json::Value>,
}

/// Returns what the record of the client `pid` says; `Unknown` where there is none, or it is another process's.
pub(crate) fn says(env: &Env, pid: Option<u32>) -> ClientSays {
    let (Some(pid), Some(dir)) = (pid, &env.client_dir) else { return ClientSays::Unknown };
    let Ok(text) = std::fs::read(dir.join("sessions").join(format!("{pid}.json"))) else { return ClientSays::Unknown };
    let Ok(record) = serde_json::from_slice::<RecordWire>(&text) else { return ClientSays::Unknown };
    if !is_same_process(pid, record.proc_start.as_ref()) {
        return ClientSays::Unknown;
    }
    match record.status.as_str() {
        "waiting" => ClientSays::Waiting,
        "busy" => ClientSays::Busy,
        // `shell`: nothing runs but a command in the background.
        "idle" | "shell" => ClientSays::Idle,
        _ => ClientSays::Unknown,
    }
}

/// Pids are used again: the record counts only if it tells the start time of the process that has the pid now.
fn is_same_process(pid: u32, recorded: Option<&serde_json::Value>) -> bool {
    let recorded = match recorded {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Number(number)) => number.to_string(),
        _ => return true,
    };
    process::start_ticks(pid).is_none_or(|ticks| ticks == recorded)
}

/// The client's settings, as far as typing depends on them.
#[derive(Deserialize)]
struct SettingsWire {
    #[serde(default, rename = "editorMode")]
    editor_mode: Option<String>,
}

/// Returns how the client edits its input.
pub(crate) fn editor_mode(env: &Env) -> EditorMode {
    let settings = env.client_settings.as_ref().and_then(|path| std::fs::read(path).ok());
    let user_settings = env.client_dir.as_ref().and_then(|dir| std::fs::read(dir.join("settings.json")).ok());
    let mode = |text: Vec<u8>| serde_json::from_slice::<SettingsWire>(&text).ok()?.editor_mode;
    // The user's settings go before what older versions kept beside them.
    match [user_settings, settings].into_iter().flatten().find_map(mode).as_deref() {
        Some("vim") => EditorMode::Vim,
        Some(_) | None => EditorMode::Normal,
    }
}
