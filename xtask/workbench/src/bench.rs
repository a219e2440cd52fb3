//! `cargo xtask bench`: measures every hook and compares it with an empty program.

mod large;
pub(crate) mod report;
mod rows;
mod snapshots;
mod subject;
mod sync;
mod worker;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use longhaul_activity_log::LogLine;
use longhaul_core::Millis;
use longhaul_core::event::EventName;
use longhaul_store::{NewSession, Store};
use serde_json::{Value, json};
use xtask::test;
use xtask::workspace::{PACKAGE, Profile, Workspace};

use self::large::{Library, Words};
use self::report::{Line, Sample};
use self::rows::{Log, ROWS, Row, SERIES};
use self::subject::{Scene, Subject};
use crate::stage::{self, Tmux, plugin_folder, watch_interrupts};

pub(crate) use self::large::run as run_large;
pub(crate) use self::snapshots::run as run_snapshots;
pub(crate) use self::sync::run as run_sync;
pub(crate) use self::worker::run as run_worker;

/// Runs before the measurement, which are not counted: they fill the caches.
const WARM_UP: usize = 10;

/// The form in which the figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Table,
    Json,
    /// docs/benchmarks.md, with plots.
    Page,
}

/// Builds the executables as they are shipped, measures every row `runs` times and writes the result.
///
/// Rows and the empty program take turns, one run each, so that other load on the machine affects all of them alike.
pub(crate) fn run(workspace: &Workspace, runs: usize, output: Output) -> Result<()> {
    ensure!(runs > 0, "--runs must be at least 1");
    test::ensure(&["tmux", "sqlite3", "node"])?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    workspace.add_empty_program(&bin, Profile::Release)?;
    let standin = workspace.build(PACKAGE, &[], Profile::Dev, None)?.join("examples/standin");
    watch_interrupts()?;

    let homes = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let plugin = plugin_folder(homes.path(), &bin)?;
    let tmux = Tmux::start("longhaul-bench", homes.path(), homes.path(), 120, 40)?;
    let scene = Scene { bin: &bin, tmux: &tmux, standin: &standin, plugin: &plugin, homes: homes.path() };
    let mut subjects = Vec::new();
    let series = SERIES.iter().flat_map(|series| series.amounts.iter().map(|amount| (series.row)(*amount)));
    let rows: Vec<Row> = ROWS.iter().copied().chain(series.filter(|_| output == Output::Page)).collect();
    for (number, row) in rows.iter().enumerate() {
        subjects.push(Subject::new(&scene, row, number).with_context(|| row.name)?);
    }
    subjects.insert(0, Subject::empty(bin.join("empty"), &subjects[0]));

    writeln!(io::stderr(), "measuring {} programs in turn, {runs} runs each", subjects.len())?;
    let times = measure(&mut subjects, runs)?;
    let names = std::iter::once("an empty Rust program").chain(rows.iter().map(|row| row.name));
    let mut samples: Vec<Sample> = names.zip(times).map(|(name, times)| Sample::new(name, times)).collect();
    let empty = samples.remove(0);
    match output {
        Output::Table => {}
        Output::Json => return report::print_json(&empty, &samples),
        Output::Page => report::write(&workspace.root.join("docs"), &empty, &samples)?,
    }
    let lines = [vec![Line::time(&empty)], report::hook_lines(&empty, &samples[..ROWS.len()])].concat();
    Ok(write!(io::stdout(), "{}", report::plain_table(&lines))?)
}

fn measure(subjects: &mut [Subject], runs: usize) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::with_capacity(runs); subjects.len()];
    for run in 0..WARM_UP + runs {
        stage::check_interrupts()?;
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            subject.prepare()?;
            let took = subject.measure()?;
            subject.settle()?;
            if run >= WARM_UP {
                times.push(took);
            }
        }
    }
    Ok(times)
}

/// Returns the lines of a log that ends at `now`.
pub(crate) fn lines(log: Log, now: Millis) -> Vec<LogLine> {
    let ago = |ms: u64| Millis(now.0 - ms);
    let calls = |count: u64| (1..=count).rev().map(move |n| LogLine::Tool { at: ago(n * 100), chars: 400, mark: None });
    let prompt = LogLine::Prompt { at: ago(10_000) };
    match log {
        Log::None | Log::AsItIs => Vec::new(),
        Log::Short => std::iter::once(prompt).chain(calls(5)).collect(),
        Log::Due => std::iter::once(prompt).chain(calls(20)).collect(),
        Log::Long(count) => {
            // As in a real long session: a bookmark after every fifteen calls, with its injection before it.
            let old = (6..count).rev().map(|left| {
                let at = ago(left * 900 + 100_000);
                match left % 17 {
                    6 => LogLine::Bookmark { at },
                    7 => LogLine::Injection { at },
                    _ => LogLine::Tool { at, chars: 400, mark: None },
                }
            });
            old.chain(lines(Log::Short, now)).collect()
        }
    }
}

/// Returns the current time.
#[expect(clippy::disallowed_methods, reason = "rows that type a bookmark run in real time")]
pub(crate) fn now() -> Millis {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(elapsed.as_millis()).unwrap_or_default())
}

/// Bytes of tool output in a turn.
const OUTPUT: usize = 8 * 1024;

const SESSIONS: usize = 1_000;

/// Fills the memory of the project in `home` with `count` observations.
fn write_observations(data: &Path, home: &Path, count: usize) -> Result<()> {
    let mut store = Store::open(&data.join("longhaul.db"), Duration::from_secs(5))?;
    Library::fill_one(&mut store, &Words::new(), count, &home.to_string_lossy())?;
    Ok(())
}

/// Writes a transcript of at least `bytes` bytes; returns its number of turns.
fn write_transcript(path: &Path, bytes: u64) -> Result<usize> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    let mut written = 0;
    let mut turns = 0;
    while written < bytes {
        let turn = turn(turns);
        written += turn.len() as u64;
        turns += 1;
        out.write_all(turn.as_bytes())?;
    }
    out.flush()?;
    Ok(turns)
}

/// Appends the turn with this number, from 0, to a transcript.
fn grow(path: &Path, number: usize) -> Result<()> {
    let mut file =
        OpenOptions::new().append(true).open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(file.write_all(turn(number).as_bytes())?)
}

/// Returns a turn as Claude Code writes it: a prompt, a call, its output, a reply.
fn turn(number: usize) -> String {
    let uuid = |entry: usize| format!("{number:08x}-0000-4000-8000-{entry:012}");
    let parent = |entry: usize| match entry {
        0 if number == 0 => None,
        0 => Some(format!("{:08x}-0000-4000-8000-{:012}", number - 1, 3)),
        entry => Some(uuid(entry - 1)),
    };
    let call = format!("toolu_{number:08x}");
    let command = if number.is_multiple_of(2) { "make check".to_owned() } else { format!("make part-{number}") };
    let contents = [
        ("user", json!(format!("question {number} about the parser"))),
        ("assistant", json!([{ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": command } }])),
        (
            "user",
            json!([{ "type": "tool_result", "tool_use_id": call, "content": "line of output\n".repeat(OUTPUT / 15) }]),
        ),
        ("assistant", json!([{ "type": "text", "text": format!("answer {number}: it works now") }])),
    ];
    let entry = |(at, (kind, content)): (usize, (&str, serde_json::Value))| {
        let mut line = json!({
            "type": kind, "uuid": uuid(at), "parentUuid": parent(at), "isSidechain": false,
            "timestamp": "2026-09-21T14:13:20.000Z", "message": { "role": kind, "content": content },
        });
        if kind == "assistant" {
            line["message"]["id"] = json!(format!("msg_{}", uuid(at)));
            line["message"]["model"] = json!("claude-opus-5-5");
            line["message"]["usage"] = json!({ "input_tokens": 12, "output_tokens": 345 });
        }
        format!("{line}\n")
    };
    contents.into_iter().enumerate().map(entry).collect()
}

/// Fills a database with a thousand sessions, the newest of which leaves a baton for the client `pid`.
fn write_sessions(data: &Path, project: &Path, pid: u32, now: Millis) -> Result<()> {
    let store = Store::open(&data.join("longhaul.db"), Duration::from_secs(5))?;
    let transcript = data.join("past.jsonl");
    write_transcript(&transcript, 300 * 1024)?;
    let project = project.to_string_lossy();
    let name = |number: usize| format!("past-{number:04}");
    for number in 0..SESSIONS {
        store.register_session(&NewSession {
            session: &name(number),
            project: "past",
            project_key: &project,
            project_path: &project,
            client_pid: 0,
            transcript: Some(&transcript.to_string_lossy()),
            at: Millis(now.0 - 1_000_000 + number as u64),
        })?;
        store.count_prompt(&name(number), Some("question"))?;
        if number % 10 == 0 || number + 1 == SESSIONS {
            let session = store.session(&name(number))?.context("the session was just written")?;
            longhaul_runtime::handoff::catch_up(
                &store,
                &session,
                &longhaul_core::Config::default(),
                now,
                u64::MAX,
                None,
            )?;
        }
    }
    store.write_baton(&project, pid, &name(SESSIONS - 1), "session_end", Millis(now.0 - 1000))?;
    Ok(())
}

/// Returns the payload of `event`, with the fields of `common` and with `chars` characters in its variable part.
pub(crate) fn of(event: EventName, chars: usize, common: &Value) -> Result<Vec<u8>> {
    let recorded = match event {
        EventName::SessionStart => include_str!("../../../tests/payloads/SessionStart-startup-interactive.json"),
        EventName::UserPromptSubmit => include_str!("../../../tests/payloads/UserPromptSubmit.json"),
        EventName::PostToolUse => include_str!("../../../tests/payloads/PostToolUse.json"),
        EventName::PermissionRequest => include_str!("../../../tests/payloads/PermissionRequest.json"),
        EventName::SubagentStop => include_str!("../../../tests/payloads/SubagentStop.json"),
        EventName::PreCompact => include_str!("../../../tests/payloads/PreCompact-auto.json"),
        EventName::Stop => include_str!("../../../tests/payloads/Stop.json"),
        other => bail!("no recorded payload for {other}: add one to xtask's bench"),
    };
    let mut payload: Value = serde_json::from_str(recorded).with_context(|| format!("the recorded {event}"))?;
    match event {
        EventName::PostToolUse => payload["tool_response"]["stdout"] = json!(text(chars)),
        EventName::UserPromptSubmit if chars == 0 => payload["prompt"] = json!("\u{b7}"),
        EventName::UserPromptSubmit => payload["prompt"] = json!(text(chars)),
        EventName::SubagentStop | EventName::Stop => payload["last_assistant_message"] = json!(text(chars)),
        _ => {}
    }
    for (key, value) in common.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    Ok(serde_json::to_vec(&payload)?)
}

/// Returns text like a terminal's: lines, quotes and a letter beyond ASCII, all of which JSON treats differently.
fn text(chars: usize) -> String {
    "test parser::reads_a \"quoted\" näme ... ok\n".chars().cycle().take(chars).collect()
}
