use std::fs;

use longhaul_core::{Env, Millis, Platform};
use longhaul_inject::ClientActivity;
use serde_json::json;
use tempfile::TempDir;

use crate::{ErrorLog, client_records, process};

fn env(folder: &TempDir) -> Env {
    let home = folder.path().display().to_string();
    Env::new(Millis(1), Platform::Unix, |name| (name == "HOME").then(|| home.clone()))
}

#[test]
fn the_error_log_is_set_aside_when_it_grows() {
    let folder = TempDir::new().unwrap();
    let env = env(&folder);
    let log = ErrorLog::new(&env, "test");
    for _ in 0..400 {
        log.write(&format!("{}\n\u{1b}[31m", "x".repeat(5000)));
    }
    let path = env.data_dir.unwrap().join("longhaul.log");
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(text.len() < 600_000 && path.with_extension("log.1").exists());
    assert!(text.lines().all(|line| line.starts_with("1970-01-01T00:00:00Z test: x")), "one line each");
    assert!(!text.contains('\u{1b}'));
}

/// Writes the record of a client and returns the activity that is read from it.
fn says(pid: u32, proc_start: Option<String>, status: &str) -> ClientActivity {
    let folder = TempDir::new().unwrap();
    let sessions = folder.path().join(".claude/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let record = json!({ "pid": pid, "sessionId": "s", "status": status, "procStart": proc_start });
    fs::write(sessions.join(format!("{pid}.json")), record.to_string()).unwrap();
    client_records::says(&env(&folder), Some(pid))
}

#[test]
fn only_a_living_clients_own_record_counts() {
    let own = std::process::id();
    assert_eq!(says(own, process::start_ticks(own), "idle"), ClientActivity::Idle);
    assert_eq!(says(own, process::start_ticks(own), "shell"), ClientActivity::Idle);
    assert_eq!(says(own, process::start_ticks(own), "waiting"), ClientActivity::Waiting);
    assert_eq!(says(own, process::start_ticks(own), "dancing"), ClientActivity::Unknown);
    if cfg!(target_os = "linux") {
        assert_eq!(says(own, Some("1".to_owned()), "idle"), ClientActivity::Unknown, "another process had the pid");
    }
    assert_eq!(says(4_000_000, None, "idle"), ClientActivity::Unknown, "no process has the pid");
}
