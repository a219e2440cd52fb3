//! A row that is ready to run: its own home, its payload, its command, and how its state is reset between runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use longhaul_core::Millis;
use longhaul_core::catalog::registration;
use longhaul_core::event::EventName;
use serde_json::{Value, json};
use xtask::run;

use super::rows::{Log, Pane, Program, Row};
use super::{lines, now, report};
use crate::stage::{ActivityLog, Role, Standin, Tmux, until};

/// The fixed clock of rows that type nothing: the window must not age while the benchmark runs.
const NOW: Millis = Millis(1_790_000_000_000);
const SESSION: &str = "b0a4d000-0000-4000-8000-000000000001";
const RECEIPT: Duration = Duration::from_secs(20);

/// What all rows share.
pub(crate) struct Scene<'a> {
    /// The folder with the executables.
    pub(crate) bin: &'a Path,
    pub(crate) tmux: &'a Tmux,
    /// The stand-in's executable.
    pub(crate) standin: &'a Path,
    /// A folder laid out like an installed plugin.
    pub(crate) plugin: &'a Path,
    pub(crate) homes: &'a Path,
}

/// A program to be measured.
pub(crate) struct Subject {
    executable: PathBuf,
    arguments: &'static [&'static str],
    payload: Vec<u8>,
    variables: Vec<(&'static str, String)>,
    setup: Option<Setup>,
    /// What runs before each measured run, in this order.
    before: Vec<Before>,
}

/// Puts the session into a state that the measured event changes.
enum Before {
    /// Another event, through Longhaul's executable.
    Event(Box<Subject>),
    /// A statement for the reference hook's database.
    Statement(Command),
    /// Appends a turn to the transcript, which has this many.
    Growth(PathBuf, usize),
    /// Makes the last exchange old, by the time of this file.
    OldExchange(PathBuf),
}

/// A session whose past is written into the database and the transcript.
struct PastSession<'a> {
    home: &'a Path,
    data: &'a Path,
    client: u32,
}

/// State that is reset between two runs; the empty program has none.
struct Setup {
    log: ActivityLog,
    kind: Log,
    length: u64,
    data: PathBuf,
    standin: Option<Standin>,
    pane: Pane,
    program: Program,
}

impl Subject {
    /// Returns the empty program, with the input of the first row.
    pub(crate) fn empty(executable: PathBuf, like: &Self) -> Self {
        Self {
            executable,
            arguments: &[],
            payload: like.payload.clone(),
            variables: like.variables.clone(),
            setup: None,
            before: Vec::new(),
        }
    }

    /// Prepares `row` in a home of its own.
    pub(crate) fn new(scene: &Scene<'_>, row: &Row, number: usize) -> Result<Self> {
        let home = scene.homes.join(number.to_string());
        let data = home.join("longhaul");
        fs::create_dir_all(&data).with_context(|| format!("cannot create {}", data.display()))?;
        if !row.config.is_empty() {
            fs::write(data.join("config.json"), row.config).context("cannot write the row's config")?;
        }
        // Outside of a repository, a prompt has no snapshot.
        if row.event == EventName::UserPromptSubmit {
            make_repository(&home)?;
        }
        let role = Role { home: &home, session: SESSION, program: scene.standin, plugin: scene.plugin };
        let mut standin = (row.pane != Pane::Any).then(|| Standin::start(scene.tmux, &role)).transpose()?;
        let client = standin.as_ref().map_or(u64::from(std::process::id()), |standin| standin.pid);
        let variables = variables(scene, &home, standin.as_ref(), client);
        let common = json!({ "session_id": SESSION, "cwd": home, "transcript_path": home.join("transcript.jsonl") });
        let subject = |event: EventName, chars: usize, source: Option<&str>| -> Result<Self> {
            let mut common = common.clone();
            if let Some(source) = source {
                common["source"] = json!(source);
            }
            let payload = super::of(event, chars, &common)?;
            let (executable, arguments) = hook(scene.bin, event)?;
            Ok(Self { executable, arguments, payload, variables: variables.clone(), setup: None, before: Vec::new() })
        };
        // SessionStart stores which terminal the session runs in.
        subject(EventName::SessionStart, 0, None)?.measure()?;
        if row.pane == Pane::Busy
            && let Some(standin) = &mut standin
        {
            standin.ask(&json!({ "do": "turn" }))?;
        }
        let log = ActivityLog::new(&data, SESSION);
        let length = match row.log {
            Log::None | Log::AsItIs => 0,
            Log::Short | Log::Long(_) | Log::Due => {
                log.write(&lines(row.log, NOW))?;
                log.length()?
            }
        };
        let is_after_compaction = matches!(row.program, Program::OursAfterCompaction(_));
        let mut made = subject(row.event, row.chars, is_after_compaction.then_some("compact"))?;
        let session = PastSession { home: &home, data: &data, client: u32::try_from(client).unwrap_or_default() };
        if let Program::OursWithSync | Program::OursThatExchanges = row.program {
            share(scene.bin, &home, &variables)?;
        }
        let past = made.prepare_past(row.program, &session)?;
        made.before.extend(past);
        if let Program::OursAfterPrompt | Program::OursAfterPromptAndGrowth(_) = row.program {
            made.before.push(Before::Event(Box::new(subject(EventName::UserPromptSubmit, 100, None)?)));
        }
        if is_after_compaction {
            made.before.push(Before::Event(Box::new(subject(EventName::PreCompact, 0, Some("compact"))?)));
        }
        let keeps_log = matches!(row.program, Program::Ours | Program::OursWithSync | Program::OursThatExchanges);
        let kind = if keeps_log { row.log } else { Log::AsItIs };
        made.setup = Some(Setup { log, kind, length, data, standin, pane: row.pane, program: row.program });
        Ok(made)
    }

    /// Writes what was there before the event, and returns what must run before each measured run.
    fn prepare_past(&mut self, program: Program, session: &PastSession<'_>) -> Result<Option<Before>> {
        Ok(match program {
            Program::Ours | Program::OursAfterPrompt | Program::OursWithSync => None,
            Program::OursThatExchanges => Some(Before::OldExchange(session.data.join("sync/started"))),
            Program::OursAfterGrowth(bytes) | Program::OursAfterPromptAndGrowth(bytes) => {
                let transcript = session.home.join("transcript.jsonl");
                let turns = super::write_transcript(&transcript, bytes)?;
                // Ingest what is there already; a large file takes more than one call.
                for _ in 0..4 {
                    self.measure()?;
                }
                Some(Before::Growth(transcript, turns))
            }
            Program::OursAfterCompaction(bytes) => {
                super::write_transcript(&session.home.join("transcript.jsonl"), bytes)?;
                None
            }
            Program::OursWithBaton => {
                super::write_sessions(session.data, session.home, session.client, NOW)?;
                None
            }
            Program::OursWithMemory(observations) => {
                super::write_observations(session.data, session.home, observations)?;
                None
            }
            Program::Bash => {
                (self.executable, self.arguments) = (report::install(session.data, SESSION)?, &[]);
                Some(Before::Statement(report::reset(session.data)))
            }
            Program::Node => {
                (self.executable, self.arguments) = (report::install_node(session.data)?, &[]);
                None
            }
        })
    }

    /// Resets what the last run has changed.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        for before in &mut self.before {
            match before {
                Before::Event(event) => drop(event.measure()?),
                Before::Statement(command) => {
                    let status = command.status().context("cannot start sqlite3")?;
                    ensure!(status.success(), "sqlite3 refused the statement");
                }
                Before::Growth(transcript, number) => {
                    super::grow(transcript, *number)?;
                    *number += 1;
                }
                Before::OldExchange(started) => {
                    let file = fs::File::options().append(true).open(started).context("there is no circle")?;
                    file.set_modified(SystemTime::UNIX_EPOCH)?;
                }
            }
        }
        let Some(setup) = &self.setup else { return Ok(()) };
        match setup.kind {
            Log::None => fs::remove_dir_all(setup.data.join("sessions")).context("cannot remove the row's sessions"),
            Log::AsItIs => Ok(()),
            Log::Short | Log::Long(_) => setup.log.cut(setup.length),
            Log::Due => setup.log.write(&lines(Log::Due, now())),
        }
    }

    /// Starts the program, writes its input, reads its answer, and returns the time until it has ended.
    pub(crate) fn measure(&self) -> Result<Duration> {
        let mut command = self.command();
        let began = Instant::now();
        let answer = run::feed(&mut command, &self.payload)?;
        let took = began.elapsed();
        let name = self.executable.display();
        if self.setup.is_some() {
            let answer: Value =
                serde_json::from_str(&answer).with_context(|| format!("{name} does not answer JSON"))?;
            ensure!(answer.is_object(), "{name} answers {answer}");
        }
        Ok(took)
    }

    /// Waits until everything that the run has started is over, so that it does not slow down the next row.
    ///
    /// Fails if the run did not do what its row describes: appended nothing, or typed where it should not, or did not
    /// type.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(Setup { log, kind, length, data, standin, pane, program }) = &mut self.setup else { return Ok(()) };
        if let Log::Short | Log::Long(_) = kind {
            let new = log.since(*length)?;
            ensure!(!new.is_empty(), "{} has left no line in the activity log", self.executable.display());
            ensure!(!new.contains('I'), "{} has typed a bookmark: {new}", self.executable.display());
        }
        if *program == Program::OursThatExchanges {
            until("the exchange to end", RECEIPT, || Ok((!runs("run-sync", data)).then_some(())))?;
        }
        let Some(standin) = standin else { return Ok(()) };
        until("a bookmark to be confirmed", RECEIPT, || Ok(log.metrics().last_bookmark))?;
        match pane {
            // The marker leaves the queue with the next tool result.
            Pane::Busy => drop(standin.ask(&json!({ "do": "tool", "response": "ok" }))?),
            Pane::Idle => until("the injector to end", RECEIPT, || {
                let state = standin.ask(&json!({ "do": "state" }))?;
                Ok((state["status"] == "idle" && !runs("run-injector", data)).then_some(()))
            })?,
            Pane::Any => {}
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = run::program(&self.executable);
        command.args(self.arguments).env_clear().envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command
    }
}

/// Returns the executable of an event's hook, and its arguments.
fn hook(bin: &Path, event: EventName) -> Result<(PathBuf, &'static [&'static str])> {
    let registration = registration(event).with_context(|| format!("{event} is not in the catalogue"))?;
    Ok((bin.join(registration.executable), registration.arguments))
}

/// Makes a circle in a folder of the row's home, and shares the home as a project.
fn share(bin: &Path, home: &Path, variables: &[(&'static str, String)]) -> Result<()> {
    let address = format!("folder:{}", home.join("circle").display());
    for arguments in [&["sync", "init", &address][..], &["sync", "share", "--name", "bench"]] {
        let mut longhaul = run::program(bin.join("longhaul"));
        longhaul.args(arguments).current_dir(home).env_clear();
        run::output(longhaul.envs(variables.iter().map(|(name, value)| (*name, value))))?;
    }
    Ok(())
}

/// Makes the row's home a repository that ignores all of its files.
fn make_repository(home: &Path) -> Result<()> {
    let mut git = run::program("git");
    run::output(git.args(["init", "--quiet"]).arg(home))?;
    fs::write(home.join(".gitignore"), "*\n").context("cannot write the row's ignore rules")
}

/// Whether a detached program of this row is running. Without `/proc` this is unknown; it ends soon anyway.
pub(super) fn runs(program: &str, data: &Path) -> bool {
    let home = format!("LONGHAUL_HOME={}", data.display());
    let has =
        |path: PathBuf, text: &str| fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = processes.filter(|path| has(path.join("cmdline"), program));
    found.any(|path| has(path.join("environ"), &home))
}

/// Returns the environment of the row's programs.
fn variables(scene: &Scene<'_>, home: &Path, standin: Option<&Standin>, client: u64) -> Vec<(&'static str, String)> {
    let mut variables = match standin {
        Some(standin) => standin.variables.clone(),
        None => vec![
            ("HOME", home.to_string_lossy().into_owned()),
            ("LONGHAUL_HOME", home.join("longhaul").to_string_lossy().into_owned()),
            ("LONGHAUL_NOW_MS", NOW.to_string()),
        ],
    };
    variables.extend([
        ("PATH", run::var("PATH").unwrap_or_default().to_string_lossy().into_owned()),
        ("TMUX", scene.tmux.variable.clone()),
        ("TMUX_PANE", standin.map_or("%0", |standin| &standin.pane).to_owned()),
        ("CLAUDE_PID", client.to_string()),
        ("CLAUDE_CODE_SESSION_ID", SESSION.to_owned()),
    ]);
    variables
}
