//! `cargo xtask bench --sync`: measures the exchange of a memory through PostgreSQL.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use longhaul_store::Store;
use xtask::workspace::{Profile, Workspace};
use xtask::{run, test};

use super::large::{Library, Words};
use super::report::ms;
use crate::postgres_server::PostgresServer;
use crate::stage::watch_interrupts;

/// How often the memory of the process is read.
const PAUSE: Duration = Duration::from_millis(10);

/// What one machine of the measurement needs.
struct Machine<'a> {
    bin: &'a Path,
    dir: PathBuf,
}

/// One exchange.
struct Measured {
    time: Duration,
    /// The largest resident memory, in kB.
    peak_kb: u64,
}

/// Builds the executables as they are installed, and exchanges a memory with `count` observations.
pub(crate) fn run(workspace: &Workspace, count: usize) -> Result<()> {
    ensure!(count >= 1_000, "--sync takes at least 1000");
    test::ensure(&["git", "postgres"])?;
    watch_interrupts()?;
    let bin = workspace.build_to_ship(Profile::Install, None)?;
    let server = PostgresServer::start().context("PostgreSQL is not installed")?;
    let url = server.new_database("circle");
    let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let [a, b] = ["a", "b"].map(|name| Machine { bin: &bin, dir: folder.path().join(name) });
    for machine in [&a, &b] {
        machine.prepare()?;
    }
    writeln!(io::stderr(), "filling a memory with {count} observations")?;
    let mut store = Store::open(&a.dir.join("data/longhaul.db"), Duration::from_secs(5))?;
    Library::fill_one(&mut store, &Words::new(), count, &a.project_key()?)?;
    drop(store);

    a.longhaul(&["sync", "init", &url])?;
    let code = a.longhaul(&["sync", "code"])?;
    b.longhaul(&["sync", "join", code.trim().rsplit(' ').next().unwrap_or_default()])?;
    a.longhaul(&["sync", "share", "--past"])?;
    b.longhaul(&["sync", "share", "--past"])?;
    let (send, fetch) = (a.exchange()?, b.exchange()?);
    let (again, idle) = (a.exchange()?, b.exchange()?);
    let number = |sql: &str| server.sql("circle", sql).parse::<u64>().context("the server returned no number");
    let records = number("SELECT count(*) FROM longhaul.records")?;
    let bytes = number("SELECT pg_total_relation_size('longhaul.records')")?;
    let rows = [
        ("first exchange of the machine that sends", &send),
        ("first exchange of the machine that fetches", &fetch),
        ("exchange without anything new, sender", &again),
        ("exchange without anything new, receiver", &idle),
    ];
    let mut out = io::stdout();
    writeln!(
        out,
        "{records} records, {:.1} MB in PostgreSQL, {} bytes each",
        bytes as f64 / 1e6,
        bytes / records.max(1)
    )?;
    for (name, row) in rows {
        let per_second = records as f64 / row.time.as_secs_f64();
        writeln!(out, "{name:<44} {:>9.0} ms {:>6} MB {per_second:>9.0} records/s", ms(row.time), row.peak_kb / 1024)?;
    }
    Ok(())
}

impl Machine<'_> {
    /// Makes the data folder, and a repository that is the same on both machines.
    fn prepare(&self) -> Result<()> {
        fs::create_dir_all(self.project())?;
        fs::create_dir_all(self.dir.join("data"))?;
        fs::write(self.dir.join("data/config.json"), r#"{"sync": {"enabled": false}}"#)?;
        let remote = "https://git.example/team/app.git";
        for args in [
            &["init", "-q"][..],
            &["remote", "add", "origin", remote],
            &["commit", "-q", "--allow-empty", "-m", "first"],
        ] {
            let mut git = self.program(Path::new("git"));
            git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args);
            let date = "2026-01-01T00:00:00Z";
            run::output(git.envs([("GIT_AUTHOR_DATE", date), ("GIT_COMMITTER_DATE", date)]))?;
        }
        Ok(())
    }

    fn project(&self) -> PathBuf {
        self.dir.join("project")
    }

    /// Returns the key of the project: its git folder.
    fn project_key(&self) -> Result<String> {
        let path = self.project().join(".git").canonicalize()?;
        Ok(path.to_str().context("the path is not UTF-8")?.to_owned())
    }

    #[expect(clippy::disallowed_methods, reason = "the benchmark runs the executables")]
    fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.dir).env("LONGHAUL_HOME", self.dir.join("data")).current_dir(self.project());
        command
    }

    fn longhaul(&self, args: &[&str]) -> Result<String> {
        run::output(self.program(&self.bin.join("longhaul")).args(args))
    }

    /// Exchanges records, and measures time and memory.
    fn exchange(&self) -> Result<Measured> {
        let began = Instant::now();
        let mut child = self.program(&self.bin.join("longhaul")).args(["sync", "now"]).spawn()?;
        let mut peak_kb = 0;
        loop {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak_kb = peak.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(peak_kb);
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(Measured { time: began.elapsed(), peak_kb }),
                Some(status) => bail!("longhaul sync now: {status}"),
                None => thread::sleep(PAUSE),
            }
        }
    }
}
