//! The cost of the hooks that use a large memory: SessionStart with its page, UserPromptSubmit with its recall, Stop.
//!
//! Every run is a session of one turn. It ends before the next one starts, so that the rows of running sessions do not
//! become more with each run, and everything that its hooks have started in the background is awaited.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use longhaul_core::catalog::registration;
use longhaul_core::event::EventName;
use longhaul_store::Store;
use serde_json::{Value, json};
use xtask::run;

use super::super::report::{Line, Sample};
use super::super::subject::runs;
use super::library::{Dice, NOW, PER_PROMPT, Words};
use crate::stage::{check_interrupts, until};

const RUNS: usize = 40;

/// Runs before them, which are not counted.
const WARM_UP: usize = 3;

/// Words of a prompt, of a reply and of the text that a tool call returns.
const PROMPT_WORDS: usize = 12;
const REPLY_WORDS: usize = 200;
const OUTPUT_WORDS: usize = 60;

/// Limit for SessionStart with its page, as a multiple of an empty program.
const PAGE: f64 = 10.0;

/// Limits for UserPromptSubmit as a multiple of an empty program: up to this many observations, and above.
const PROMPT: (usize, f64, f64) = (100_000, 6.0, 12.0);

/// Limit for Stop that takes in a turn, as a multiple of the same in this memory without an index of passages.
const TURN: f64 = 1.3;

/// Maximum time for what hooks have started in the background.
const PATIENCE: Duration = Duration::from_secs(600);

const EMPTY: &str = "empty";

/// The executables that are needed, as in a bundle.
const EXECUTABLES: [&str; 4] = [EMPTY, "longhaul", "longhaul-hook", "longhaul-post-tool-use"];

/// Returns cargo's flags for the executables of Longhaul.
pub(super) fn targets() -> Vec<&'static str> {
    EXECUTABLES.into_iter().filter(|name| *name != EMPTY).flat_map(|name| ["--bin", name]).collect()
}

/// Copies the executables and the model to where they are in an installed bundle; returns the folder with the
/// executables.
pub(super) fn lay_out(folder: &Path, built: &Path, model: &Path) -> Result<PathBuf> {
    let bin = folder.join("bundle/bin");
    let beside = folder.join("bundle/model");
    for folder in [&bin, &beside] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
    };
    for name in EXECUTABLES {
        copy(&built.join(name), bin.join(name))?;
    }
    copy(model, beside.join(model.file_name().unwrap_or_default()))?;
    Ok(bin)
}

pub(super) struct Hooks<'a> {
    pub(super) bin: &'a Path,
    /// The folder of its data.
    pub(super) home: PathBuf,
    pub(super) project: &'a Path,
}

struct Turn<'a> {
    words: &'a Words,
    number: usize,
}

/// The time that the hooks of one session took.
struct Took {
    start: Option<Duration>,
    prompt: Duration,
    stop: Duration,
}

impl Turn<'_> {
    fn text(&self, part: u64, words: usize) -> String {
        self.words.sentence(&mut Dice(self.number as u64 * 1_000 + part + 1), words)
    }

    /// Returns the payload of a tool call, with a command and its output.
    fn call(&self, number: usize) -> Value {
        let output = self.text(number as u64 + 10, OUTPUT_WORDS);
        json!({
            "hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_use_id": format!("toolu_{:08}{number:04}", self.number),
            "tool_input": { "command": format!("cargo test {}", self.text(number as u64 + 10, 3)) },
            "tool_response": { "stdout": output, "stderr": "", "interrupted": false },
        })
    }

    fn transcript(&self) -> String {
        let uuid = |entry: usize| format!("{:08x}-0000-4000-8000-{entry:012}", self.number);
        let reply = json!([{ "type": "text", "text": self.text(1, REPLY_WORDS) }]);
        let entries = [("user", json!(self.text(0, PROMPT_WORDS)), None), ("assistant", reply, Some(uuid(0)))];
        let line = |(at, (role, content, parent)): (usize, (&str, Value, Option<String>))| {
            let line = json!({
                "type": role, "uuid": uuid(at), "parentUuid": parent, "isSidechain": false,
                "timestamp": "2027-01-15T08:00:00.000Z", "message": { "role": role, "content": content },
            });
            format!("{line}\n")
        };
        entries.into_iter().enumerate().map(line).collect()
    }
}

impl Hooks<'_> {
    pub(super) fn run(&self, program: &str, args: &[&str], payload: &str) -> Result<(String, Duration)> {
        let mut command = run::program(self.bin.join(program));
        command.args(args).env_clear().env("HOME", &self.home).env("LONGHAUL_HOME", &self.home);
        command.env("PATH", run::var("PATH").unwrap_or_default());
        command.env("LONGHAUL_NOW_MS", NOW.to_string()).current_dir(self.project);
        let began = Instant::now();
        let answer = run::feed(&mut command, payload.as_bytes())?;
        Ok((answer, began.elapsed()))
    }

    fn hook(&self, event: EventName, turn: &Turn<'_>, changes: Value) -> Result<(String, Duration)> {
        let session = format!("5e550000-0000-4000-8000-{:012}", turn.number);
        let mut payload = json!({
            "session_id": session, "cwd": self.project, "transcript_path": self.transcript(turn),
            "prompt_id": format!("prompt-{}", turn.number),
        });
        if let (Value::Object(all), Value::Object(changes)) = (&mut payload, changes) {
            all.extend(changes);
        }
        let hook = registration(event).with_context(|| format!("{event} is not in the catalogue"))?;
        self.run(hook.executable, hook.arguments, &payload.to_string())
    }

    fn transcript(&self, turn: &Turn<'_>) -> PathBuf {
        self.home.join(format!("transcript-{}.jsonl", turn.number))
    }

    /// Starts a session, and returns the answer of the hook.
    fn start(&self, turn: &Turn<'_>) -> Result<(String, Duration)> {
        let payload = json!({ "hook_event_name": "SessionStart", "source": "startup" });
        let started = self.hook(EventName::SessionStart, turn, payload)?;
        // Upkeep computes the vectors of the last prompt, while a person writes the next one.
        self.settle()?;
        Ok(started)
    }

    fn play(&self, turn: &Turn<'_>, start: Option<Duration>) -> Result<Took> {
        let asked = turn.text(0, PROMPT_WORDS);
        let payload = json!({ "hook_event_name": "UserPromptSubmit", "prompt": asked });
        let (_, prompt) = self.hook(EventName::UserPromptSubmit, turn, payload)?;
        for number in 0..PER_PROMPT {
            self.hook(EventName::PostToolUse, turn, turn.call(number))?;
        }
        let transcript = self.transcript(turn);
        fs::write(&transcript, turn.transcript()).with_context(|| format!("cannot write {}", transcript.display()))?;
        self.settle()?;
        let reply = turn.text(1, REPLY_WORDS);
        let payload = json!({ "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": reply });
        let (_, stop) = self.hook(EventName::Stop, turn, payload)?;
        self.hook(EventName::SessionEnd, turn, json!({ "hook_event_name": "SessionEnd", "reason": "other" }))?;
        self.settle()?;
        Ok(Took { start, prompt, stop })
    }

    /// Waits until everything that hooks have started is over.
    fn settle(&self) -> Result<()> {
        until("the background processes of a hook to end", PATIENCE, || {
            let is_busy = ["upkeep", "run-snapshot"].into_iter().any(|name| runs(name, &self.home));
            Ok((!is_busy).then_some(()))
        })
    }

    /// Fails if a hook has reported an error. That there is no terminal to type bookmarks into is none.
    fn check_log(&self) -> Result<()> {
        let log = fs::read_to_string(self.home.join("longhaul.log")).unwrap_or_default();
        let error = log.lines().find(|line| !line.contains(": no bookmarks: "));
        error.map_or(Ok(()), |error| bail!("a hook has reported an error: {error}"))
    }
}

/// Plays sessions in the busiest project of the large memory and in one without anything, in turn with the empty program; then
/// turns in the large memory without its index of passages.
pub(super) fn measure(large: &Hooks<'_>, empty: &Hooks<'_>, words: &Words, observations: usize) -> Result<Vec<Line>> {
    // Otherwise the first session of the day would start it in the background, beside the measured runs.
    let (_, upkeep) = large.run("longhaul", &["memory", "upkeep"], "")?;
    keep_raw_text(&large.home)?;
    let (mut played, mut in_empty, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..WARM_UP + RUNS {
        check_interrupts()?;
        let turn = Turn { words, number };
        let (page, start) = large.start(&turn)?;
        ensure!(page.contains("additionalContext"), "no page was shown: {page}");
        played.push(large.play(&turn, Some(start))?);
        in_empty.push(empty.play(&turn, None)?);
        nothing.push(large.run(EMPTY, &[], "{}")?.1);
    }
    let unindexed = play_unindexed(large, words)?;
    large.check_log()?;
    empty.check_log()?;
    let of = |name: &'static str, times: &mut dyn Iterator<Item = Duration>| {
        Sample::new(name, times.skip(WARM_UP).collect())
    };
    let nothing = of("an empty Rust program", &mut nothing.into_iter());
    let baseline = of("the same Stop without an index of passages", &mut unindexed.iter().map(|took| took.stop));
    let start = of("SessionStart with its page", &mut played.iter().filter_map(|took| took.start));
    let prompt = of("UserPromptSubmit of 12 words, with recall", &mut played.iter().map(|took| took.prompt));
    let stop = of("Stop that takes in a turn of 20 calls", &mut played.iter().map(|took| took.stop));
    let in_empty = of("UserPromptSubmit of 12 words in an empty memory", &mut in_empty.iter().map(|took| took.prompt));
    let (few, least, most) = PROMPT;
    Ok(vec![
        Line::multiple(&start, PAGE, &nothing),
        Line::multiple(&prompt, if observations <= few { least } else { most }, &nothing),
        Line::time(&in_empty),
        Line::multiple(&stop, TURN, &baseline),
        Line::time(&baseline),
        Line::time(&nothing),
        Line::time(&Sample::new("the first upkeep of a day", vec![upkeep])),
    ])
}

/// Plays turns in a memory whose index of passages is not written: while it counts as damaged, nothing is added to it. Only
/// upkeep, which a SessionStart starts, would build it again.
fn play_unindexed(large: &Hooks<'_>, words: &Words) -> Result<Vec<Took>> {
    let path = large.home.join("longhaul.db");
    let store = Store::open(&path, Duration::from_secs(5))?;
    ensure!(store.mark_index_damaged()?, "the index of passages is already marked as damaged");
    drop(store);
    (WARM_UP + RUNS..2 * (WARM_UP + RUNS))
        .map(|number| {
            check_interrupts()?;
            // As the upkeep of a SessionStart does, so that each turn begins with a short log.
            Store::open(&path, Duration::from_secs(5))?.settle_writes()?;
            large.play(&Turn { words, number }, None)
        })
        .collect()
}

/// Configures that raw text is kept for ever. Otherwise every upkeep would delete more of the oldest, up to the limit of a
/// day, because the whole memory was made at once.
fn keep_raw_text(home: &Path) -> Result<()> {
    let config = json!({ "memory": { "retention_days": 0 } });
    fs::write(home.join("config.json"), config.to_string()).context("cannot write the configuration")
}
