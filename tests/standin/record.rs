//! What the stand-in writes to disk: the client's record of itself, and the log that tests read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Returns milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

/// Returns a random id in the form of a version 4 UUID.
pub(crate) fn new_id() -> String {
    let mut bytes = [0; 16];
    // Without the device, pid and clock are random enough for a test.
    if fs::File::open("/dev/urandom").and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes)).is_err() {
        bytes = (u128::from(now_ms()) << 64 | u128::from(std::process::id())).to_be_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// What the client says of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Waits for a prompt.
    Idle,
    /// A turn runs.
    Busy,
    /// A dialog is open.
    Waiting,
}

impl Status {
    /// Returns the word that the record uses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Waiting => "waiting",
        }
    }
}

/// `sessions/<pid>.json` below the client's directory; removed when the stand-in ends.
pub(crate) struct Record {
    path: PathBuf,
    written: Option<(Status, String)>,
}

impl Record {
    /// Prepares the record of this process below `client_dir`.
    pub(crate) fn new(client_dir: &Path) -> io::Result<Self> {
        let dir = client_dir.join("sessions");
        fs::create_dir_all(&dir)?;
        Ok(Self { path: dir.join(format!("{}.json", std::process::id())), written: None })
    }

    /// Writes the record if it would say something new, by a temporary file and a rename.
    pub(crate) fn write(&mut self, status: Status, session_id: &str, cwd: &Path) -> io::Result<()> {
        let current = (status, session_id.to_owned());
        if self.written.as_ref() == Some(&current) {
            return Ok(());
        }
        let mut record = json!({
            "pid": std::process::id(),
            "sessionId": session_id,
            "cwd": cwd,
            "kind": "interactive",
            "version": "2.1.325",
            "status": status.as_str(),
            "statusUpdatedAt": now_ms(),
        });
        if let Some(start) = process_start() {
            record["procStart"] = Value::String(start);
        }
        if status == Status::Waiting {
            record["waitingFor"] = Value::String("permission prompt".to_owned());
        }
        let temporary = self.path.with_extension("json.tmp");
        fs::write(&temporary, record.to_string())?;
        fs::rename(&temporary, &self.path)?;
        self.written = Some(current);
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns field 22 of `/proc/self/stat`: clock ticks from boot to the start of this process.
fn process_start() -> Option<String> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name in brackets, which may hold anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19).map(str::to_owned)
}

/// The append-only log: one JSON object a line, each with `event` and `at`.
pub(crate) struct Log(pub(crate) Option<PathBuf>);

impl Log {
    /// Appends `event` with the members of `detail`.
    pub(crate) fn append(&self, event: &str, detail: Value) {
        let Some(path) = &self.0 else { return };
        let mut line = json!({ "at": now_ms(), "event": event });
        if let (Value::Object(line), Value::Object(detail)) = (&mut line, detail) {
            line.extend(detail);
        }
        // The log is for the reader of a test; a full disk must not end the stand-in.
        let _ = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}
