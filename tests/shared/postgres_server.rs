//! A PostgreSQL server of a test: its own data folder and socket, no port, an unprivileged user, stopped when dropped.

#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(clippy::disallowed_methods, reason = "tests run programs and read the environment")]
#![allow(clippy::print_stderr, reason = "a test that is left out reports it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fs2::FileExt;
use tempfile::TempDir;

/// The user and the group that the server runs as if the tests run as root, which PostgreSQL refuses: `nobody`.
const UNPRIVILEGED: u32 = 65534;

/// The superuser of the server, and its password.
const SUPERUSER: &str = "admin";
const PASSWORD: &str = "hunter2-admin";

/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Set by `.ci/run`: the tests fail where PostgreSQL is missing, instead of being left out.
const REQUIRED: &str = "LONGHAUL_REQUIRE_POSTGRES";

/// A running server.
pub(crate) struct PostgresServer {
    dir: TempDir,
    child: Option<Child>,
    programs: PathBuf,
    port: u16,
    settings: Vec<String>,
}

impl PostgresServer {
    /// Starts a server that listens on a socket only; `None`, with a message, where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(5432, &[])
    }

    /// Starts a server with TLS, on a free port of 127.0.0.1. `certificate` and `key` are PEM files.
    pub(crate) fn start_with_tls(certificate: &Path, key: &Path) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self::prepare(port)?;
        for (from, to) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = server.data().join(to);
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
            give_away(&to);
        }
        server.run(&["listen_addresses=127.0.0.1", "ssl=on"])
    }

    /// Starts a server without TLS, on a free port of 127.0.0.1.
    pub(crate) fn start_with_tcp() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_with(port, &["listen_addresses=127.0.0.1"])
    }

    /// Starts a server with more settings, such as `max_connections=5`.
    pub(crate) fn start_with(port: u16, settings: &[&str]) -> Option<Self> {
        Self::prepare(port)?.run(settings)
    }

    /// Makes the data folder of a server.
    fn prepare(port: u16) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                std::env::var_os(REQUIRED).is_none(),
                "PostgreSQL is not installed: `cargo xtask test` installs it"
            );
            eprintln!("left out: PostgreSQL is not installed; `cargo xtask test` installs it or prints how");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("lh-pg-").tempdir().unwrap();
        give_away(dir.path());
        let template = template(&programs);
        let copied = tool("cp").args(["-a", "--"]).arg(&template).arg(dir.path().join("data")).status().unwrap();
        assert!(copied.success());
        Some(Self { dir, child: None, programs, port, settings: Vec::new() })
    }

    fn run(mut self, settings: &[&str]) -> Option<Self> {
        self.settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        self.resume();
        Some(self)
    }

    /// Starts the server again after [`Self::stop`] or [`Self::kill`].
    pub(crate) fn resume(&mut self) {
        let mut command = unprivileged(&self.programs.join("postgres"));
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-c", "listen_addresses="]);
        command.args(["-c", "shared_buffers=16MB", "-c", "fsync=off", "-c", "max_wal_size=64MB"]);
        // To compile a query takes longer than to run it on so few rows.
        command.args(["-c", "jit=off"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", self.socket_dir().display()));
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let log = File::create(self.dir.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        let end = Instant::now() + START;
        while !self.answers() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < end, "the server does not start: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let mut command = tool(self.programs.join("pg_isready"));
        command.args(["-q", "-p", &self.port.to_string(), "-h"]).arg(self.socket_dir());
        command.status().is_ok_and(|status| status.success())
    }

    /// Stops the server and its connections.
    pub(crate) fn stop(&mut self) {
        self.signal("-INT");
    }

    /// Kills the server without warning, as a power failure does.
    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        // Its processes notice the death of their parent. Until they have ended, a new server refuses to start.
        let end = Instant::now() + START;
        while self.socket_dir().join(format!(".s.PGSQL.{}", self.port)).exists() && Instant::now() < end {
            let _ = fs::remove_file(self.socket_dir().join(format!(".s.PGSQL.{}", self.port)));
            let _ = fs::remove_file(self.socket_dir().join(format!(".s.PGSQL.{}.lock", self.port)));
            let _ = fs::remove_file(self.data().join("postmaster.pid"));
        }
    }

    fn signal(&mut self, signal: &str) {
        if let Some(mut child) = self.child.take() {
            let _ = tool("kill").args([signal, &child.id().to_string()]).status();
            let _ = child.wait();
        }
    }

    /// Returns the folder of the socket.
    pub(crate) fn socket_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Returns the folder with the tables and the write-ahead log.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Returns the port of a server with TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns what the server has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Returns the address of a database for the superuser.
    pub(crate) fn url(&self, database: &str) -> String {
        self.url_of(SUPERUSER, PASSWORD, database)
    }

    /// Returns the address of a database for another user.
    pub(crate) fn url_of(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@/{database}?host={}&port={}", self.socket_dir().display(), self.port)
    }

    /// Returns the address over TCP, for the superuser.
    pub(crate) fn tcp_url(&self, host: &str, parameters: &str) -> String {
        format!("postgres://{SUPERUSER}:{PASSWORD}@{host}:{}/postgres?{parameters}", self.port)
    }

    /// Creates a database and returns its address.
    pub(crate) fn new_database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL as the superuser and returns what it prints: a line for each row, with `|` between the columns.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql(SUPERUSER, PASSWORD, database, sql);
        output.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Runs SQL as any user; the error is what the server says.
    pub(crate) fn psql(&self, user: &str, password: &str, database: &str, sql: &str) -> Result<String, String> {
        let mut command = tool(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database, "-c", sql]);
        command.args(["-p", &self.port.to_string(), "-h"]).arg(self.socket_dir()).env("PGPASSWORD", password);
        let output = command.output().unwrap();
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.signal("-QUIT");
    }
}

/// Returns the folder with the programs of the newest PostgreSQL; `None` if none is installed.
fn programs() -> Option<PathBuf> {
    let version = |dir: &PathBuf| dir.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = debian.map(|entry| entry.path().join("bin")).max_by_key(version);
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut candidates = newest.into_iter().chain(on_path.unwrap_or_default());
    candidates.find(|dir| ["postgres", "initdb", "psql"].iter().all(|name| dir.join(name).is_file()))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Gives a file or folder to the user of the server.
fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    }
}

/// Returns a command for a program of the system, without the environment of the user who runs the test: `psql` and
/// `initdb` would read the user's settings.
fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// Returns a command that runs as the user of the server, and is killed when this test is.
fn unprivileged(program: &Path) -> Command {
    if !Path::new("/usr/bin/setpriv").exists() {
        return tool(program);
    }
    let mut command = tool("/usr/bin/setpriv");
    if is_root() {
        let id = UNPRIVILEGED.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Returns an initialised data folder, to be copied. It is made once: `initdb` takes a second and more.
fn template(programs: &Path) -> PathBuf {
    let uid = fs::metadata("/proc/self").map_or(0, |metadata| metadata.uid());
    let version = programs.parent().and_then(|dir| dir.file_name()).unwrap_or_default().to_string_lossy().into_owned();
    let cache = std::env::temp_dir().join(format!("longhaul-postgres-{uid}-{version}"));
    let _ = fs::create_dir(&cache);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    let lock = File::create(cache.join("lock")).unwrap();
    lock.lock_exclusive().unwrap();
    let template = cache.join("data");
    if !template.join("PG_VERSION").exists() {
        let dir = tempfile::Builder::new().prefix("lh-initdb-").tempdir().unwrap();
        give_away(dir.path());
        let password = dir.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.args(["--no-sync", "--locale=C", "--encoding=UTF8", "--auth=scram-sha-256", "-U", SUPERUSER]);
        initdb.arg("--pwfile").arg(&password).arg("-D").arg(dir.path().join("data"));
        let output = initdb.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let copied = tool("cp").args(["-a", "--"]).arg(dir.path().join("data")).arg(cache.join("new")).status();
        assert!(copied.unwrap().success());
        fs::rename(cache.join("new"), &template).unwrap();
    }
    template
}
