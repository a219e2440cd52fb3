//! The exchange with other machines as hooks, the command line and the doctor see it: whether this machine has a circle, when
//! the next exchange is due, and how the last one went. `longhaul run-sync` does the exchange itself.
//!
//! ```text
//! sync/started       when an exchange was last started, as its modification time; there only with a circle
//! sync/circle.json   the address of the engine
//! sync/state.json    how the last exchange went
//! sync.key           the key, beside the configuration
//! ```

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use longhaul_core::config::{Names, SyncAddress};
use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{HookEvent, SessionEnd, SessionStart, Stop};
use longhaul_core::{Config, Env, Millis};
use longhaul_inject::TerminalCommand;
use longhaul_sync::{AFTER_TURN, AT_SESSION_START, is_due, is_pause_over, paused_until};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::git::{WorkTree, root_commit};
use crate::{Error, Flow, Home, Hook, bounded_read, clock_and_env, files, process};

/// How long to wait for a command that prints a secret. A password manager may ask the user to unlock it.
const SECRET_COMMAND: Duration = Duration::from_secs(60);

/// How long to wait for `hostname`, where there is no `/proc`.
const HOST_NAME: Duration = Duration::from_secs(2);

/// How long to wait for git, for finding the root commit of a project.
const GIT_ROOT_COMMIT: Duration = Duration::from_secs(30);

/// The command that exchanges records.
const COMMAND: &str = "run-sync";

/// The argument with which hooks start it.
pub const AUTOMATIC: &str = "exchange";

/// Returns whether this machine has a circle.
pub fn is_on(home: &Home) -> bool {
    started_file(home).exists()
}

/// Records that this machine has a circle: hooks start exchanges from now on.
pub fn turn_on(home: &Home) -> Result<(), Error> {
    files::open_append(&started_file(home)).map(drop)
}

/// Records that this machine has no circle any more.
pub fn turn_off(home: &Home) -> Result<(), Error> {
    files::remove(&started_file(home))?;
    files::remove(&ExchangeState::file(home))
}

/// Starts an exchange in the background, if this machine has a circle and none was started within `interval`.
///
/// Without a circle this is one failed `stat`. Two hooks at the same time may both start one; the second finds the lock of
/// the first and ends.
fn start_exchange(home: &Home, now: Millis, interval: Duration) -> Result<(), Error> {
    let path = started_file(home);
    let Some(last) = files::modified(&path) else { return Ok(()) };
    if !is_due(last, interval, now) {
        return Ok(());
    }
    let file = files::open_append(&path)?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(now.0);
    file.set_modified(time).map_err(|source| Error::Write { path, source })?;
    process::spawn_own(COMMAND, &[AUTOMATIC.to_owned()]).map(drop)
}

fn started_file(home: &Home) -> PathBuf {
    home.sync().join("started")
}

// Starts the exchange with other machines in the background, at the events of a session. Nothing waits for it. How often at
// most is in `sync/src/exchange_plan.rs`.

/// Before the page of the session is made: what other machines did since may be on it the next time.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    hook.start_exchange(AT_SESSION_START)
}

pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    hook.start_exchange(AFTER_TURN)
}

/// At the end of a session, however recent the last exchange is: it may be the last one for days.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    hook.start_exchange(Duration::ZERO)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Starts an exchange, if this machine has a circle and none was started within `interval`.
    fn start_exchange(&self, interval: Duration) -> Result<Flow, Error> {
        if self.config.sync.enabled && self.config.memory.enabled {
            start_exchange(&self.home, self.env.now, interval)?;
        }
        Ok(Flow::Next)
    }
}

// How the last exchange went, for `sync status`, the doctor and the viewer. How long to pause after one that has failed is
// decided in `sync/src/exchange_plan.rs`.

/// How much of a text is kept, in characters. A server can send more than the file may have.
const TEXT: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExchangeState {
    /// When the last exchange ended, in milliseconds.
    pub at: Option<u64>,
    /// When the last successful one ended, in milliseconds.
    pub succeeded_at: Option<u64>,
    /// Why the last one failed; `None` if it did not.
    pub error: Option<String>,
    /// How many have failed in a row.
    pub failures: u32,
    /// Before this time, in milliseconds, no exchange starts by itself.
    pub not_before: u64,
    /// What the user should know, such as that this machine got a new id.
    pub remark: Option<String>,
    /// What the last one could not fetch, although the engine has it; `None` if it fetched everything.
    pub incomplete: Option<String>,
    /// How many records the last successful one has sent.
    pub sent: u64,
    /// How many records the last successful one has fetched.
    pub fetched: u64,
}

impl ExchangeState {
    fn file(home: &Home) -> PathBuf {
        home.sync().join("state.json")
    }

    /// Reads the state. A file that is missing or damaged is an empty state.
    pub fn read(home: &Home) -> Self {
        let text = bounded_read::text(&Self::file(home), bounded_read::SMALL);
        text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn write(&self, home: &Home) -> Result<(), Error> {
        let text = serde_json::to_string(self).unwrap_or_default();
        files::replace(&Self::file(home), text.as_bytes())
    }

    #[must_use]
    pub fn succeeded(self, now: Millis, sent: u64, fetched: u64, remark: Option<String>) -> Self {
        // A remark stays until the next one: it may have come while no one looked.
        let remark = remark.map(cut).or(self.remark);
        let (at, succeeded_at) = (Some(now.0), Some(now.0));
        Self { at, succeeded_at, remark, sent, fetched, ..Self::default() }
    }

    /// Returns the state with what could not be fetched.
    #[must_use]
    pub fn with_incomplete(self, incomplete: Option<String>) -> Self {
        Self { incomplete: incomplete.map(cut), ..self }
    }

    /// Returns the state after a failure: the next attempt is after a pause.
    #[must_use]
    pub fn failed(self, now: Millis, error: String) -> Self {
        let not_before = paused_until(now, self.failures).0;
        let failures = self.failures.saturating_add(1);
        Self { at: Some(now.0), error: Some(cut(error)), failures, not_before, ..self }
    }

    pub fn may_start(&self, now: Millis) -> bool {
        is_pause_over(Millis(self.not_before), now)
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

// What identifies this machine, and its name.

/// Where Linux keeps the id of the machine.
const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// File systems on Linux that give a file another inode at each mount, by the number in `statfs`: FAT, exFAT, FUSE, SMB, 9P.
#[cfg(target_os = "linux")]
const WITHOUT_INODES: [u64; 6] = [0x4d44, 0x2011_bab0, 0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997];

/// Returns a text that differs on another machine, and for a copy of the data folder on this one.
///
/// The copy is recognised by its inode. Where the file system has no lasting ones, only another machine is recognised.
///
/// It is a hash: the id of the machine is not to be stored or shown.
pub fn machine_id(home: &Home) -> String {
    let machine = MACHINE_ID.iter().find_map(|path| bounded_read::text(Path::new(path), bounded_read::SMALL).ok());
    // A copy of a folder has another inode, a restored backup too.
    let inode = std::fs::metadata(home.dir()).map_or(0, |metadata| metadata.ino());
    let inode = if has_lasting_inodes(home.dir()) { inode } else { 0 };
    let mut hash = Sha256::new();
    hash.update(b"longhaul machine 1\n");
    hash.update(machine.unwrap_or_else(host_name).trim());
    hash.update(inode.to_be_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(target_os = "linux")]
fn has_lasting_inodes(dir: &Path) -> bool {
    rustix::fs::statfs(dir).map_or(true, |found| is_lasting(found.f_type as u64))
}

/// Returns whether a file system of this type keeps its inodes.
#[cfg(target_os = "linux")]
fn is_lasting(file_system: u64) -> bool {
    // Some processors extend the sign of the 32 bits.
    !WITHOUT_INODES.contains(&(file_system & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn has_lasting_inodes(_: &Path) -> bool {
    true
}

/// Returns the host name, without its domain.
pub fn host_name() -> String {
    if let Some(name) = clock_and_env::of_test("LONGHAUL_HOST") {
        return name;
    }
    let kernel = bounded_read::text(Path::new("/proc/sys/kernel/hostname"), bounded_read::SMALL).ok();
    let name = kernel.or_else(|| {
        let step = TerminalCommand::new(["hostname"]);
        process::run(&step, HOST_NAME).ok()
    });
    let name = name.unwrap_or_default();
    name.trim().split('.').next().unwrap_or_default().to_owned()
}

// Asks git for what identifies a project on every machine: remote and first commit. What is made of them is in
// `sync/src/ids.rs`.

/// What identifies a project. Never its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectOrigin {
    Remote { url: String, root_commit: String },
    Name(String),
}

/// Returns the origin of the repository around `dir`; `None` if it has no remote, no commit, or only a part of its history.
pub fn project_origin(env: &Env, home: &Home, dir: &Path) -> Option<ProjectOrigin> {
    let tree = WorkTree::around(env, dir, GIT_ROOT_COMMIT).ok()?;
    let url = tree.setting("remote.origin.url").or_else(|| tree.setting("remote.upstream.url"))?;
    let url = String::from_utf8(url.to_vec()).ok().filter(|url| !url.is_empty())?;
    Some(ProjectOrigin::Remote { url, root_commit: root_commit(home, dir, GIT_ROOT_COMMIT)? })
}

// The address of the engine and the key of the circle: from files of mode 0600, or from commands of the user.

/// The most that a command may print.
const MAX_OUTPUT: usize = 64 * 1024;

/// A secret, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub text: String,
    /// The setting or file, for messages.
    pub origin: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret(from {})", self.origin)
    }
}

/// `sync/circle.json`.
#[derive(Serialize, Deserialize)]
struct CircleFile {
    engine: String,
}

/// Returns the address of the engine: of `sync.url`, or `init` and `join`. `None` if there is none.
pub fn engine_address(home: &Home, config: &Config) -> Result<Option<Secret>, Error> {
    match &config.sync.url {
        SyncAddress::Printed(command) => return of_command(command, "sync.url"),
        SyncAddress::Here(url) => return Ok(Some(Secret { text: url.clone(), origin: "sync.url".to_owned() })),
        SyncAddress::Given => {}
    }
    let path = circle_file(home);
    let Some(text) = read(&path)? else { return Ok(None) };
    let file: Option<CircleFile> = serde_json::from_str(&text).ok();
    Ok(file.map(|file| Secret { text: file.engine, origin: path.display().to_string() }))
}

pub fn write_address(home: &Home, engine: &str) -> Result<(), Error> {
    let text = serde_json::to_string(&CircleFile { engine: engine.to_owned() }).unwrap_or_default();
    files::replace(&circle_file(home), text.as_bytes())
}

/// Returns an address without what may be a password, for messages.
pub fn shown_address(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let rest = rest.split('?').next().unwrap_or_default();
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        None => format!("{scheme}://{authority}{path}"),
    }
}

/// Returns the key of the circle as words: of `sync.key_command`, or of the file beside the configuration.
pub fn key_words(env: &Env, config: &Config) -> Result<Option<Secret>, Error> {
    if let Some(secret) = of_command(&config.sync.key_command, "sync.key_command")? {
        return Ok(Some(secret));
    }
    let path = key_file(env)?;
    Ok(read(&path)?.map(|text| Secret { text, origin: path.display().to_string() }))
}

/// Stores the key of the circle as words, with mode 0600.
pub fn write_key_words(env: &Env, words: &str) -> Result<(), Error> {
    files::replace(&key_file(env)?, format!("{words}\n").as_bytes())
}

/// Removes the files of the address and the key.
pub fn remove_secrets(env: &Env, home: &Home) -> Result<(), Error> {
    files::remove(&circle_file(home))?;
    files::remove(&key_file(env)?)
}

/// Returns the file of the key: `sync.key` beside the configuration.
pub fn key_file(env: &Env) -> Result<PathBuf, Error> {
    env.config_path.as_ref().map(|path| path.with_file_name("sync.key")).ok_or(Error::NoDataDir)
}

fn circle_file(home: &Home) -> PathBuf {
    home.sync().join("circle.json")
}

fn read(path: &std::path::Path) -> Result<Option<String>, Error> {
    match bounded_read::text(path, bounded_read::SMALL) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Runs a command of the user and returns what it prints, without the line end; `None` if none is set.
fn of_command(argv: &Names, origin: &str) -> Result<Option<Secret>, Error> {
    if argv.0.is_empty() {
        return Ok(None);
    }
    let step = TerminalCommand { argv: argv.0.clone(), stdin: None };
    let output = process::run_bounded(&step, MAX_OUTPUT, SECRET_COMMAND)?;
    let text = String::from_utf8_lossy(&output).trim().to_owned();
    if text.is_empty() {
        let message = format!("{origin} printed nothing");
        return Err(Error::Program { program: argv.0[0].clone(), message });
    }
    Ok(Some(Secret { text, origin: origin.to_owned() }))
}

#[cfg(test)]
mod tests {
    use longhaul_core::{Env, Millis, Platform};
    use tempfile::tempdir;

    use super::{ExchangeState, shown_address};
    use crate::Home;

    /// A server decides how long its message is.
    #[test]
    fn a_long_error_does_not_make_the_state_unreadable() {
        let dir = tempdir().unwrap();
        let data = dir.path().to_str().unwrap().to_owned();
        let env = Env::new(Millis(1), Platform::Unix, |name| (name == "LONGHAUL_HOME").then(|| data.clone()));
        let home = Home::of(&env).unwrap();
        let long = "é".repeat(100_000);
        let state = ExchangeState::default().succeeded(Millis(1), 1, 1, Some(long.clone()));
        let state = state.with_incomplete(Some(long.clone())).failed(Millis(1), long);
        state.write(&home).unwrap();
        assert_eq!(ExchangeState::read(&home), state);
        assert!(!ExchangeState::read(&home).may_start(Millis(2)), "the pause is kept");
    }

    #[test]
    fn the_pause_after_failures_doubles_up_to_an_hour() {
        let mut state = ExchangeState::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            state = state.failed(Millis(1_000_000), "down".to_owned());
            pauses.push((state.not_before - 1_000_000) / 60_000);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert!(!state.may_start(Millis(1_000_000 + 59 * 60_000)));
        assert!(state.may_start(Millis(1_000_000 + 60 * 60_000)));
        assert!(state.may_start(Millis(5)), "the clock was ahead when it failed");
        let state = state.succeeded(Millis(2_000_000), 1, 2, None);
        assert!(state.may_start(Millis(2_000_000)));
        assert_eq!((state.failures, state.error), (0, None));
    }

    #[test]
    fn a_password_is_not_shown() {
        let check = |address: &str, shown: &str| assert_eq!(shown_address(address), shown);
        check("postgres://anna:a%40b@db.example:5433/team?password=x", "postgres://anna@db.example:5433/team");
        check("postgres://anna:s@e@db/team", "postgres://anna@db/team");
        check("postgres://db/team", "postgres://db/team");
        check("folder:/mnt/x", "folder:/mnt/x");
    }

    /// Otherwise the host would get a new id each time that the disk is mounted.
    #[cfg(target_os = "linux")]
    #[test]
    fn file_systems_without_lasting_inodes_are_known() {
        let (ext4, btrfs, nfs, tmpfs) = (0xef53, 0x9123_683e, 0x6969, 0x0102_1994);
        assert!([ext4, btrfs, nfs, tmpfs].into_iter().all(super::is_lasting));
        let (fat, fuse, cifs) = (0x4d44, 0x6573_5546, 0xffff_ffff_ff53_4d42);
        assert!(![fat, fuse, cifs].into_iter().any(super::is_lasting));
    }
}
