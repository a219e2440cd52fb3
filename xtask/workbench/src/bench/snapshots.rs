//! `cargo xtask bench --snapshots`: measures snapshots of a large work tree.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use xtask::workspace::{Profile, Workspace};
use xtask::{run, test};

use super::report::{Line, Sample, ms, plain_table};
use crate::dice::Dice;
use crate::stage::{check_interrupts, watch_interrupts};

/// Number of measured runs, and of first questions about a file.
const RUNS: usize = 20;
const FIRST_RUNS: usize = 7;

/// How many files change between two snapshots.
const CHANGED: usize = 10;

const FOLDER: usize = 100;

/// How many snapshots the store has when its size is measured.
const SNAPSHOTS: usize = 1_000;

/// Limits: of the medians for a snapshot, a restore and the list, and of the size of the store.
const SNAPSHOT_MS: f64 = 300.0;
const RESTORE_MS: f64 = 500.0;
const LIST_MS: f64 = 50.0;
const STORE_BYTES: u64 = 100_000_000;

/// How much longer than git's own blame of a file of 5,000 lines that after 1,000 snapshots may take.
const BLAME_TIMES: f64 = 3.0;

/// How many lines the file has, and how many turns there are for each commit.
const LINES: usize = 5_000;
const TURNS_OF_COMMIT: usize = 5;

/// Builds the executables as they are shipped, and measures them in a repository with `files` files.
pub(crate) fn run(workspace: &Workspace, files: usize) -> Result<()> {
    ensure!(files >= 1_000, "--snapshots takes at least 1000");
    test::ensure(&["git"])?;
    watch_interrupts()?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let mut repository = Repository::new(&bin, folder.path(), files)?;
    let mut lines = vec![Line::time(&Sample::new("the first snapshot", vec![repository.snapshot()?]))];
    lines.extend(repository.measure()?);
    while repository.taken < SNAPSHOTS {
        check_interrupts()?;
        repository.change()?;
        repository.snapshot()?;
    }
    let bytes = size(&repository.data().join("snapshots"))?;
    let list = repository.sample("the list of 1,000 snapshots", |this| this.longhaul(&["snapshots"]))?;
    lines.push(median_within(&list, LIST_MS));
    lines.extend(blamed(&bin)?);
    let store = Line::number("the store of 1,000 snapshots", format!("{:.1} MB", bytes as f64 / 1e6));
    lines.push(store.within(format!("≤ {} MB", STORE_BYTES / 1_000_000), bytes <= STORE_BYTES));
    Ok(write!(io::stdout(), "{}", plain_table(&lines))?)
}

fn median_within(sample: &Sample, most: f64) -> Line {
    Line::time(sample).within(format!("≤ {most:.0} ms"), ms(sample.median) <= most)
}

/// A repository with many files, and a home for its snapshots.
struct Repository<'a> {
    bin: &'a Path,
    folder: &'a Path,
    files: usize,
    dice: Dice,
    taken: usize,
}

impl<'a> Repository<'a> {
    fn new(bin: &'a Path, folder: &'a Path, files: usize) -> Result<Self> {
        let mut this = Self { bin, folder, files, dice: Dice(1), taken: 0 };
        writeln!(io::stderr(), "making a repository with {files} files")?;
        for file in 0..files {
            check_interrupts()?;
            let path = this.path(file);
            if file % FOLDER == 0 {
                fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
            }
            let lines: String = (0..12).map(|line| format!("{line} {}\n", this.dice.roll(1 << 30))).collect();
            fs::write(path, lines)?;
        }
        for args in [&["init", "-q"][..], &["add", "--all"], &["commit", "-qm", "all"], &["gc", "-q"]] {
            run::output(&mut this.git(args))?;
        }
        Ok(this)
    }

    /// Measures snapshots, a restore, and what git itself takes. The measurements take turns.
    fn measure(&mut self) -> Result<Vec<Line>> {
        let index = self.folder.join("index");
        fs::copy(self.project().join(".git/index"), &index)?;
        // Those without a limit are for comparison.
        let rows = [
            ("a snapshot, ten files changed", Some(SNAPSHOT_MS)),
            ("a snapshot, nothing changed", Some(SNAPSHOT_MS)),
            ("a restore of ten files", Some(RESTORE_MS)),
            ("  git status", None),
            ("  git add --all, git write-tree", None),
            ("a snapshot, ten files changed, also git's index", None),
        ];
        let mut times = vec![Vec::new(); rows.len()];
        for run in 0..=RUNS {
            check_interrupts()?;
            self.change()?;
            let changed = self.snapshot()?;
            let same = self.snapshot()?;
            self.change()?;
            let restored = timed(|| self.longhaul(&["restore", "last", "--yes"]))?;
            self.change()?;
            let status = timed(|| run::output(self.git(&["status", "--porcelain"]).env("GIT_OPTIONAL_LOCKS", "0")))?;
            let added = timed(|| {
                run::output(self.git(&["add", "--all"]).env("GIT_INDEX_FILE", &index))?;
                run::output(self.git(&["write-tree"]).env("GIT_INDEX_FILE", &index))
            })?;
            // git writes to the index which files have changed. The restored files are stored here, too, so that ten have
            // changed in the next run.
            self.snapshot()?;
            self.change()?;
            run::output(&mut self.git(&["status", "--porcelain"]))?;
            let indexed = self.snapshot()?;
            // The first run fills the caches.
            if run > 0 {
                for (times, took) in times.iter_mut().zip([changed, same, restored, status, added, indexed]) {
                    times.push(took);
                }
            }
        }
        let line = |((name, limit), times): ((&'static str, Option<f64>), Vec<Duration>)| {
            let sample = Sample::new(name, times);
            limit.map_or_else(|| Line::time(&sample), |most| median_within(&sample, most))
        };
        Ok(rows.into_iter().zip(times).map(line).collect())
    }

    fn sample(&self, name: &'static str, measured: impl Fn(&Self) -> Result<String>) -> Result<Sample> {
        let times = (0..RUNS).map(|_| timed(|| measured(self))).collect::<Result<Vec<_>>>()?;
        Ok(Sample::new(name, times))
    }

    fn change(&mut self) -> Result<()> {
        for _ in 0..CHANGED {
            let file = self.dice.index(self.files);
            let path = self.path(file);
            let text = fs::read_to_string(&path)?;
            fs::write(&path, format!("{text}{}\n", self.dice.roll(1 << 30)))?;
        }
        Ok(())
    }

    /// Takes a snapshot as a hook does; returns how long the detached process ran.
    fn snapshot(&mut self) -> Result<Duration> {
        self.snapshot_of("prompt")
    }

    fn snapshot_of(&mut self, kind: &str) -> Result<Duration> {
        self.taken += 1;
        let at = self.now();
        let mut command = self.program(&self.bin.join("longhaul"));
        timed(|| run::output(command.args(["run-snapshot", "abcdef01-bench", kind, &at, "", "-"])))
    }

    fn longhaul(&self, args: &[&str]) -> Result<String> {
        run::output(self.program(&self.bin.join("longhaul")).args(args))
    }

    fn git(&self, args: &[&str]) -> Command {
        let mut git = self.program(Path::new("git"));
        // Otherwise a commit starts `git gc` in the background, which the next one refuses to run beside.
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(args);
        git
    }

    fn program(&self, program: &Path) -> Command {
        let mut command = run::program(program);
        command.current_dir(self.project()).env("HOME", self.folder).env("LONGHAUL_HOME", self.data());
        command.env("LONGHAUL_NOW_MS", self.now());
        command
    }

    /// Returns a time that moves by a second with every snapshot.
    fn now(&self) -> String {
        (1_800_000_000_000 + self.taken as u64 * 1_000).to_string()
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn path(&self, file: usize) -> PathBuf {
        let folder = file / FOLDER;
        self.project().join(format!("d{}/e{}/f{}.txt", folder / 32, folder % 32, file % FOLDER))
    }
}

/// Measures blame of a file that changes in every turn and is committed after every fifth one.
fn blamed(bin: &Path) -> Result<[Line; 3]> {
    let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let mut this = Repository { bin, folder: folder.path(), files: 1, dice: Dice(2), taken: 0 };
    fs::create_dir_all(this.project())?;
    let path = this.project().join("big.txt");
    let mut lines: Vec<String> = (0..LINES).map(|line| format!("line {line} {}", this.dice.roll(1 << 30))).collect();
    let write = |lines: &[String]| fs::write(&path, lines.join("\n") + "\n");
    write(&lines)?;
    for args in [&["init", "-q"][..], &["add", "--all"], &["commit", "-qm", "all"]] {
        run::output(&mut this.git(args))?;
    }
    for turn in 0..SNAPSHOTS / 2 {
        check_interrupts()?;
        this.snapshot_of("prompt")?;
        for _ in 0..CHANGED {
            let at = this.dice.index(lines.len());
            lines[at] = format!("turn {turn} {}", this.dice.roll(1 << 30));
        }
        write(&lines)?;
        this.snapshot_of("end")?;
        if turn % TURNS_OF_COMMIT == 0 {
            run::output(&mut this.git(&["commit", "-qam", "more"]))?;
        }
    }
    run::output(&mut this.git(&["gc", "-q"]))?;
    let ask = |this: &Repository<'_>| this.longhaul(&["blame", "big.txt", "--porcelain"]);
    let git = this.sample("  git blame of the file", |this| run::output(&mut this.git(&["blame", "big.txt"])))?;
    // Only the first question reads every version: each finds the data folder as it was before any.
    let before = this.folder.join("before");
    copy(&this.data(), &before)?;
    let mut firsts = Vec::new();
    for _ in 0..FIRST_RUNS {
        check_interrupts()?;
        fs::remove_dir_all(this.data())?;
        copy(&before, &this.data())?;
        firsts.push(timed(|| ask(&this))?);
    }
    let first = Sample::new("longhaul blame, 5,000 lines, 1,000 snapshots", firsts);
    let again = this.sample("  again, with its line map", ask)?;
    let most = ms(git.median) * BLAME_TIMES;
    Ok([Line::time(&git), median_within(&first, most), median_within(&again, most)])
}

fn timed<T>(measured: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let began = Instant::now();
    measured()?;
    Ok(began.elapsed())
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    run::output(run::program("cp").arg("-a").args([from, to])).map(drop)
}

/// Returns the size of all files below a folder.
fn size(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
