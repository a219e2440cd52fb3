//! `cargo xtask soak`: runs many sessions at once and checks that nothing is lost, and that hooks are not much slower than
//! an empty program.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use longhaul_core::catalog::REGISTRATIONS;
use longhaul_core::event::EventName;
use longhaul_store::Store;
use serde_json::{Value, json};
use xtask::run;
use xtask::workspace::{PACKAGE, Profile, Workspace};

use crate::bench;
use crate::bench::report::{Sample, ms};
use crate::stage::{check_interrupts, watch_interrupts};

/// Limit for the p95 of a hook, as a multiple of the empty program that runs beside it.
const MOST: f64 = 20.0;

const TURN: usize = 10;

/// The size of the test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) sessions: usize,
    /// Number of hooks of each session, one after the other.
    pub(crate) hooks: usize,
}

/// When a session's next hook starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// As soon as the last one has answered. So many processes wait for the processors, so times are not checked.
    AtOnce,
    /// After a time that a model would need to request the next tool call.
    Thinking,
}

/// Minimum time of a model from one tool call to the next.
const THINKING: Duration = Duration::from_secs(1);

/// Measurements and counts of one session.
#[derive(Default)]
struct Seen {
    hooks: Vec<Duration>,
    empty: Vec<Duration>,
    calls: usize,
    prompts: usize,
    bad_answers: usize,
}

/// Runs the sessions at both paces; fails if anything was lost or took too long.
///
/// The empty program is started among the hooks, because hundreds of processes on few processors slow each other down
/// whatever they do.
pub(crate) fn run(workspace: &Workspace, profile: Profile, crowd: Crowd) -> Result<()> {
    ensure!(crowd.sessions > 0 && crowd.hooks > 2, "a soak needs at least one session with three hooks");
    let bin = workspace.build(PACKAGE, &workspace.bins(), profile, None)?;
    workspace.add_empty_program(&bin, profile)?;
    watch_interrupts()?;
    for pace in [Pace::Thinking, Pace::AtOnce] {
        let home = tempfile::Builder::new().prefix("longhaul-soak-").tempdir()?;
        let scene = Scene { bin: bin.clone(), home: home.path().to_owned(), crowd, pace };
        let how = match pace {
            Pace::AtOnce => "one right after the other",
            Pace::Thinking => "a second apart",
        };
        writeln!(io::stdout(), "{} sessions, {} hooks each, {how}", crowd.sessions, crowd.hooks)?;
        let seen = thread::scope(|scope| -> Result<Vec<Seen>> {
            let scene = &scene;
            let sessions: Vec<_> = (0..crowd.sessions).map(|number| scope.spawn(move || scene.live(number))).collect();
            sessions.into_iter().map(|session| session.join().expect("a session's thread does not panic")).collect()
        })?;
        scene.judge(seen, profile)?;
    }
    Ok(())
}

/// The executables and folders of one run.
struct Scene {
    bin: PathBuf,
    home: PathBuf,
    crowd: Crowd,
    pace: Pace,
}

impl Scene {
    /// Runs all hooks of a session.
    fn live(&self, number: usize) -> Result<Seen> {
        let session = format!("soak-{number}");
        let mut seen = Seen::default();
        // The sessions start at different times, so that some begin a turn while others end one.
        let begins = Instant::now() + THINKING * (TURN * number) as u32 / self.crowd.sessions as u32;
        for hook in 0..self.crowd.hooks {
            if self.pace == Pace::Thinking {
                thread::sleep((begins + THINKING * hook as u32).saturating_duration_since(Instant::now()));
            }
            check_interrupts()?;
            let event = match hook {
                0 => EventName::SessionStart,
                _ if hook + 1 == self.crowd.hooks => EventName::Stop,
                _ if hook % TURN == 1 => EventName::UserPromptSubmit,
                _ if hook % TURN == 0 => EventName::Stop,
                _ => EventName::PostToolUse,
            };
            seen.calls += usize::from(event == EventName::PostToolUse);
            seen.prompts += usize::from(event == EventName::UserPromptSubmit);
            let id = format!("{session}-{hook}");
            let mut common = json!({ "session_id": session, "cwd": self.home, "prompt_id": format!("{session}-{}", hook / TURN),
                                     "transcript_path": self.home.join(format!("{session}.jsonl")) });
            if event == EventName::PostToolUse {
                common["tool_use_id"] = json!(id);
                common["tool_input"] = json!({ "command": format!("run {id}") });
            }
            let payload = bench::of(event, 400, &common)?;
            let registration = REGISTRATIONS.iter().find(|registration| registration.event == event);
            let registration = registration.with_context(|| format!("{event} is not registered"))?;
            let (took, answer) = self.start(registration.executable, registration.arguments, &payload)?;
            seen.hooks.push(took);
            let is_answer = serde_json::from_slice::<Value>(&answer).is_ok_and(|answer| answer["continue"] == true);
            seen.bad_answers += usize::from(!is_answer);
            if hook % 4 == 0 {
                seen.empty.push(self.start("empty", &[], &payload)?.0);
            }
        }
        Ok(seen)
    }

    /// Runs a program; returns its time and its output, which is empty if it failed.
    fn start(&self, program: &str, arguments: &[&str], payload: &[u8]) -> Result<(Duration, Vec<u8>)> {
        let mut command = self.command(program);
        command.args(arguments);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // The empty program does not read its input.
            let _ = stdin.write_all(payload);
        }
        let output = child.wait_with_output().with_context(|| format!("cannot wait for {program}"))?;
        Ok((started.elapsed(), if output.status.success() { output.stdout } else { Vec::new() }))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = run::program(self.bin.join(program));
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("LONGHAUL_HOME", self.data())
            .env("CLAUDE_PROJECT_DIR", &self.home);
        command.env("PATH", run::var("PATH").unwrap_or_default()).current_dir(&self.home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    fn judge(&self, seen: Vec<Seen>, profile: Profile) -> Result<()> {
        let calls: usize = seen.iter().map(|seen| seen.calls).sum();
        let prompts: usize = seen.iter().map(|seen| seen.prompts).sum();
        let bad_answers: usize = seen.iter().map(|seen| seen.bad_answers).sum();
        let (hooks, empty): (Vec<_>, Vec<_>) = seen.into_iter().map(|seen| (seen.hooks, seen.empty)).unzip();
        let hooks = Sample::new("a hook", hooks.concat());
        let empty = Sample::new("an empty Rust program", empty.concat());

        // This also stores the tool calls that the last Stop has left in the spool.
        run::output(self.command("longhaul").args(["memory", "stats"]))?;
        let lines = |letter: char| count_lines(&self.data().join("sessions"), letter);
        let store = Store::open(&self.data().join("longhaul.db"), Duration::from_secs(5))?;
        let observations = store.stats()?.observations as usize;
        let log = fs::read_to_string(self.data().join("longhaul.log")).unwrap_or_default();
        let locked =
            log.lines().filter(|line| line.contains("database is locked") || line.contains("in use by")).count();

        let mut out = io::stdout();
        for sample in [&hooks, &empty] {
            let (p50, p95) = (sample.median.as_secs_f64(), sample.p95.as_secs_f64());
            let base = empty.median.as_secs_f64();
            writeln!(
                out,
                "{:<22} {:>6} runs  p50 {:>7.2} × empty  p95 {:>7.2} × empty  ({:.1} ms, {:.1} ms)",
                sample.name,
                sample.runs,
                p50 / base,
                p95 / base,
                ms(sample.median),
                ms(sample.p95)
            )?;
        }
        let lost_lines = calls.abs_diff(lines('T')) + prompts.abs_diff(lines('P'));
        let lost_observations = calls.abs_diff(observations);
        writeln!(out, "log lines lost: {lost_lines} of {}", calls + prompts)?;
        writeln!(out, "observations lost: {lost_observations} of {calls}")?;
        writeln!(out, "database is locked: {locked}; other lines in the error log: {}", log.lines().count() - locked)?;
        writeln!(out, "bad answers: {bad_answers}")?;
        ensure!(
            lost_lines + lost_observations + locked + bad_answers == 0 && log.is_empty(),
            "something was lost{}",
            log.lines().next().map(|line| format!("; the error log begins: {line}")).unwrap_or_default()
        );
        let ratio = hooks.p95.as_secs_f64() / empty.median.as_secs_f64();
        ensure!(
            profile == Profile::Dev || self.pace == Pace::AtOnce || ratio < MOST,
            "a hook's p95 is {ratio:.1} × the empty program: {MOST} is allowed"
        );
        Ok(())
    }
}

/// Counts the lines of all logs that begin with `letter`.
fn count_lines(sessions: &Path, letter: char) -> usize {
    let logs = fs::read_dir(sessions).into_iter().flatten().flatten().map(|entry| entry.path());
    let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let lines = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(letter)).count()
    };
    logs.map(lines).sum()
}
