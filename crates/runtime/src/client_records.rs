//! Facts from Claude Code's own files: the record of each of its processes, and its settings.

use std::path::Path;

use longhaul_core::{Env, Millis, SessionId, json_text};
use longhaul_inject::{ClientActivity, EditorMode};
use longhaul_tracker::{ClientRecord, ClientStatus, Process, client_name};
use serde::Deserialize;

use crate::{bounded_read, process};

/// `<Claude Code's folder>/sessions/<pid>.json`, as far as it is used. The file is internal to Claude Code, so it may
/// change or disappear.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordWire {
    pid: u32,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    entrypoint: Option<String>,
    #[serde(default)]
    tmux: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    waiting_for: Option<String>,
    #[serde(default)]
    status_updated_at: Option<u64>,
    #[serde(default)]
    proc_start: Option<serde_json::Value>,
}

impl RecordWire {
    /// Returns whether a program, and not a person, reads the output; `None` if the record does not say.
    ///
    /// The kind of `claude -p` is `interactive` as well, so the entry point decides.
    fn is_headless(&self) -> Option<bool> {
        if self.kind.as_deref().is_some_and(|kind| kind != "interactive") {
            return Some(true);
        }
        self.entrypoint.as_deref().map(|entry| entry.starts_with("sdk"))
    }

    fn status(&self) -> Option<ClientStatus> {
        match self.status.as_str() {
            "waiting" => Some(ClientStatus::Waiting),
            "busy" => Some(ClientStatus::Busy),
            // `shell`: only a background command is running.
            "idle" | "shell" => Some(ClientStatus::Idle),
            _ => None,
        }
    }
}

/// Reads a record if it belongs to the process that has the pid now.
fn read(path: &Path) -> Option<RecordWire> {
    let record: RecordWire = serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()?;
    is_same_process(record.pid, record.proc_start.as_ref()).then_some(record)
}

fn record_of(env: &Env, pid: u32) -> Option<RecordWire> {
    read(&env.client_dir.as_ref()?.join("sessions").join(format!("{pid}.json")))
}

/// Returns whether the client `pid` runs headless: a program reads its output, and no text is typed into it.
pub fn is_headless(env: &Env, pid: u32) -> bool {
    let reported = record_of(env, pid).and_then(|record| record.is_headless());
    reported.unwrap_or_else(|| process::command_line(pid).iter().any(|word| word == "-p" || word == "--print"))
}

/// Returns whether the client `pid` runs inside another client and therefore shares its terminal.
///
/// Processes above a tmux or screen server are ignored: they have another terminal.
pub(crate) fn is_nested(env: &Env, pid: u32) -> bool {
    let is_server = |process: &Process| {
        let name = process.name.to_ascii_lowercase();
        name.starts_with("tmux") || name.starts_with("screen")
    };
    let ancestors = process::ancestors(pid).into_iter().take_while(|process| !is_server(process));
    // The parent may be a script that only starts the client.
    let is_client = |at: usize, process: &Process| {
        (at > 0 && client_name(process).is_some()) || record_of(env, process.pid).is_some()
    };
    ancestors.enumerate().any(|(at, process)| is_client(at, &process))
}

/// Returns the activity from the record of the client `pid`; `Unknown` if there is no record, or it belongs to another
/// process.
pub(crate) fn says(env: &Env, pid: Option<u32>) -> ClientActivity {
    match pid.and_then(|pid| record_of(env, pid)).and_then(|record| record.status()) {
        Some(ClientStatus::Waiting) => ClientActivity::Waiting,
        Some(ClientStatus::Busy) => ClientActivity::Busy,
        Some(ClientStatus::Idle) => ClientActivity::Idle,
        None => ClientActivity::Unknown,
    }
}

/// Whether a client waits for an answer, according to its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It waits, since this time if the record says so.
    Since(Option<Millis>),
    No,
}

/// Returns whether the client `pid` waits for an answer; `None` if there is no record, or it belongs to another process.
pub(crate) fn waits(env: &Env, pid: Option<u32>) -> Option<Waits> {
    let record = record_of(env, pid?)?;
    Some(match record.status()? {
        ClientStatus::Waiting => Waits::Since(record.status_updated_at.map(Millis)),
        ClientStatus::Busy | ClientStatus::Idle => Waits::No,
    })
}

pub fn records(env: &Env) -> Vec<ClientRecord> {
    let Some(dir) = &env.client_dir else { return Vec::new() };
    let entries = std::fs::read_dir(dir.join("sessions")).into_iter().flatten().flatten();
    // The other files in the folder are keys, which are not read.
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    paths.filter_map(|path| record(read(&path)?)).collect()
}

fn record(wire: RecordWire) -> Option<ClientRecord> {
    let interactive = wire.kind.as_deref().is_none_or(|kind| kind == "interactive");
    if !interactive || !process::is_alive(wire.pid) {
        return None;
    }
    let session = SessionId::new(&wire.session_id)?.to_string();
    let mut record = ClientRecord::new(wire.pid, session, wire.status()?, Millis(wire.status_updated_at?));
    record.pane = wire.tmux.and_then(|tmux| Some(tmux.rsplit_once('.')?.1.to_owned()));
    record.cwd = wire.cwd;
    record.waiting_for = wire.waiting_for;
    Some(record)
}

/// Returns whether a record belongs to the process that has the pid now.
///
/// Pids are reused, so the process must be running and its start time must be the recorded one.
fn is_same_process(pid: u32, recorded: Option<&serde_json::Value>) -> bool {
    let recorded = match recorded {
        Some(serde_json::Value::String(text)) => Some(text.clone()),
        Some(serde_json::Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    match (process::start_ticks(pid), recorded) {
        (Some(ticks), Some(recorded)) => ticks == recorded,
        (Some(_), None) => true,
        // The start time is not known without /proc.
        (None, _) => !cfg!(target_os = "linux") && process::is_alive(pid),
    }
}

/// Returns the id of the session that the client `pid` shows now; `/clear` changes it.
pub(crate) fn shown_session(env: &Env, pid: Option<u32>) -> Option<SessionId> {
    SessionId::new(&record_of(env, pid?)?.session_id)
}

/// Claude Code's settings, as far as typing depends on them.
#[derive(Deserialize)]
struct SettingsWire {
    #[serde(default, rename = "editorMode")]
    editor_mode: Option<String>,
}

/// Returns the editor mode of Claude Code's input.
pub(crate) fn editor_mode(env: &Env) -> EditorMode {
    let settings = |path: &Path| bounded_read::bytes(path, bounded_read::LARGE).ok();
    let older = env.client_settings.as_ref().and_then(|path| settings(path));
    let user_settings = env.client_dir.as_ref().and_then(|dir| settings(&dir.join("settings.json")));
    let mode = |text: Vec<u8>| json_text::from_file::<SettingsWire>(&text).ok()?.editor_mode;
    // The user's settings take precedence over the file of older versions.
    match [user_settings, older].into_iter().flatten().find_map(mode).as_deref() {
        Some("vim") => EditorMode::Vim,
        Some(_) | None => EditorMode::Normal,
    }
}
