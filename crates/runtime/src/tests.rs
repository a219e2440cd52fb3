use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use longhaul_core::{Env, Millis, Platform};
use longhaul_inject::ClientActivity;
use longhaul_store::Store;
use serde_json::json;
use tempfile::TempDir;

use crate::waiting_times::DATABASE;
use crate::{Error, ErrorLog, Home, client_records, process};

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

/// Returns how many locks this process holds on a file. Other connections see from them that the database is in use.
#[cfg(target_os = "linux")]
fn own_locks(path: &std::path::Path) -> usize {
    use std::os::unix::fs::MetadataExt;

    let (own, inode) = (std::process::id().to_string(), format!(":{}", fs::metadata(path).unwrap().ino()));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let is_own = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&own.as_str()) && words.iter().any(|word| word.ends_with(&inode))
    };
    locks.lines().filter(is_own).count()
}

#[cfg(target_os = "linux")]
#[test]
fn opening_the_database_again_keeps_the_locks_of_its_other_connections() {
    let folder = TempDir::new().unwrap();
    let home = Home::of(&env(&folder)).unwrap();
    drop(home.store(DATABASE).unwrap());
    let reader = Store::open_to_read(&home.database(), DATABASE).unwrap();
    reader.agents().unwrap();
    assert_eq!(own_locks(&home.database()), 1, "a reader says that the database is in use");
    let writer = home.store(DATABASE).unwrap();
    writer.agents().unwrap();
    assert_eq!(own_locks(&home.database()), 1, "and does so beside a writer");
    drop((reader, writer));
    assert_eq!(own_locks(&home.database()), 0);
}

#[test]
fn messages_of_tmux_show_whether_its_server_is_gone() {
    let is_gone = |program: &str, message: &str| {
        Error::Program { program: program.to_owned(), message: message.to_owned() }.is_tmux_server_gone()
    };
    for message in ["server exited unexpectedly", "lost server", "no server running on /tmp/tmux-1000/default"] {
        assert!(is_gone("tmux", message), "{message}");
    }
    assert!(is_gone("tmux", "error connecting to /tmp/tmux-1000/default (Connection refused)"));
    assert!(!is_gone("tmux", "no such option: @longhaul-status") && !is_gone("git", "server exited unexpectedly"));
}

#[test]
fn a_process_is_not_taken_for_a_later_one_with_its_pid() {
    let own = std::process::id();
    assert!(process::is_same(own, None) && process::is_same(own, process::start_ticks(own).as_deref()));
    assert!(!process::is_same(own, Some("1")), "another process had this pid");
    let mut ended = process::command("true").spawn().unwrap();
    ended.wait().unwrap();
    assert!(!process::is_same(ended.id(), None));
}

#[test]
fn a_read_from_a_program_that_writes_nothing_more_ends() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"some").unwrap();
    let mut pipe = process::LimitedPipe::new(reader, Duration::from_millis(20));
    let mut text = Vec::new();
    let error = pipe.read_to_end(&mut text).unwrap_err();
    assert_eq!((error.kind(), text.as_slice()), (ErrorKind::TimedOut, &b"some"[..]));
    drop(writer);
    assert_eq!(pipe.read_to_end(&mut text).unwrap(), 0);
}
