mod all_usage;
mod session_costs;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;

/// Returns a line of a transcript, with its line break.
fn line(message: &str, session: &str, output: u64) -> String {
    let line = json!({
        "timestamp": "2026-11-14T10:00:00Z", "sessionId": session, "requestId": "r", "cwd": "/gone/app",
        "message": { "id": message, "model": "claude-opus-5-5", "usage": { "input_tokens": 1, "output_tokens": output } },
    });
    format!("{line}\n")
}

/// Writes a file that was changed this many seconds after the epoch.
fn write(dir: &Path, name: &str, text: &str, modified: u64) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(modified);
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    path
}
