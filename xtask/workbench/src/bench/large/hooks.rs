//! The cost of the hooks that read a large memory: SessionStart with its page, UserPromptSubmit with its recall.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use xtask::run;

use super::library::NOW;
use super::words::{Dice, Words};
use super::{Sample, kept, ms};

/// Number of runs of each hook.
const RUNS: usize = 40;

/// Limit for SessionStart with its page, as a multiple of an empty program.
const PAGE: f64 = 10.0;

/// Limits for UserPromptSubmit as a multiple of an empty program: up to this many observations, and above.
const PROMPT: (usize, f64, f64) = (100_000, 6.0, 12.0);

/// The executables, and the folders that they work in.
pub(super) struct Hooks<'a> {
    pub(super) bin: &'a Path,
    pub(super) home: &'a Path,
    pub(super) project: &'a Path,
}

impl Hooks<'_> {
    fn run(&self, program: &str, args: &[&str], payload: &str) -> Result<(String, Duration)> {
        let mut command = run::program(self.bin.join(program));
        command.args(args).env_clear().env("HOME", self.home).env("LONGHAUL_HOME", self.home);
        command.env("LONGHAUL_NOW_MS", NOW.to_string()).current_dir(self.project);
        let began = Instant::now();
        let answer = run::feed(&mut command, payload.as_bytes())?;
        Ok((answer, began.elapsed()))
    }

    fn payload(&self, session: usize, changes: Value) -> String {
        let mut payload = json!({
            "session_id": format!("5e550000-0000-4000-8000-{session:012}"), "cwd": self.project,
            "transcript_path": self.project.join("none.jsonl"),
        });
        if let (Value::Object(all), Value::Object(changes)) = (&mut payload, changes) {
            all.extend(changes);
        }
        payload.to_string()
    }
}

/// The times of the hooks.
pub(super) struct HookTimes {
    start: Sample,
    prompt: Sample,
    empty: Sample,
    pub(super) upkeep: Sample,
    /// Limit for UserPromptSubmit as a multiple of an empty program.
    prompt_limit: f64,
}

impl HookTimes {
    /// Starts sessions in the busiest project and submits prompts, in turn with the empty program.
    pub(super) fn measure(hooks: &Hooks<'_>, words: &Words, observations: usize) -> Result<Self> {
        // Otherwise the first session of the day would start it in the background, beside the measured runs.
        let (_, upkeep) = hooks.run("longhaul", &["memory", "upkeep"], "")?;
        let (mut starts, mut prompts, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..RUNS {
            let payload = hooks.payload(n, json!({ "hook_event_name": "SessionStart", "source": "startup" }));
            let (answer, took) = hooks.run("longhaul-session-start", &[], &payload)?;
            ensure!(answer.contains("additionalContext"), "no page was shown: {answer}");
            starts.push(took);
            let asked = words.sentence(&mut Dice(n as u64 + 1), 12);
            let changes =
                json!({ "hook_event_name": "UserPromptSubmit", "prompt": asked, "prompt_id": format!("p{n}") });
            prompts.push(hooks.run("longhaul-user-prompt-submit", &[], &hooks.payload(n, changes))?.1);
            nothing.push(hooks.run("empty", &[], &payload)?.1);
        }
        let (few, least, most) = PROMPT;
        Ok(Self {
            start: Sample::new("SessionStart, through the hook", starts),
            prompt: Sample::new("UserPromptSubmit, 12 words, through the hook", prompts),
            empty: Sample::new("an empty Rust program", nothing),
            upkeep: Sample::new("the day's upkeep", vec![upkeep]),
            prompt_limit: if observations <= few { least } else { most },
        })
    }

    /// Prints a line for each hook.
    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        for (sample, limit) in [(&self.start, PAGE), (&self.prompt, self.prompt_limit)] {
            let ratio = sample.times(&self.empty);
            writeln!(
                out,
                "{:<44} {:>5} {:>7.3} ms {:>7.3} ms  {ratio:.2} × empty ≤ {limit}: {}",
                sample.name,
                sample.runs,
                ms(sample.median),
                ms(sample.p95),
                kept(ratio <= limit)
            )?;
        }
        Ok(())
    }

    /// Returns each hook's time as a multiple of an empty program's.
    pub(super) fn to_json(&self) -> Value {
        json!({ "session_start": self.start.times(&self.empty), "user_prompt_submit": self.prompt.times(&self.empty) })
    }
}
