//! The same transcripts counted by ccusage. `cargo xtask test` installs it if there is npm.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{generated, json_of, sandbox};
use crate::sandbox::{Outcome, Sandbox};

/// If this variable is set, a missing ccusage is a failure.
const REQUIRED: &str = "LONGHAUL_REQUIRE_CCUSAGE";

/// Input, output, written to the cache, read from the cache.
type Counts = [u64; 4];

/// The counts of each day, and of each model.
type Sums = BTreeMap<String, Counts>;

/// Returns the folder in which ccusage and a node for it are installed; `None` where they are not.
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/ccusage/node_modules");
    let is_there = folder.join("ccusage/dist/cli.js").is_file() && folder.join("node/bin/node").is_file();
    if !is_there {
        assert!(std::env::var_os(REQUIRED).is_none(), "ccusage is not installed: run `cargo xtask test`");
        eprintln!("skipped: ccusage is not installed; `cargo xtask test` installs it if there is npm");
    }
    is_there.then_some(folder)
}

fn counts(value: &Value, keys: [&str; 4]) -> Counts {
    keys.map(|key| value[key].as_u64().unwrap())
}

/// Returns the sums of ccusage by day and by model.
fn theirs(sandbox: &Sandbox, installed: &Path) -> (Sums, Sums) {
    const KEYS: [&str; 4] = ["inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens"];
    let mut command = sandbox.program(installed.join("node/bin/node"));
    command.arg(installed.join("ccusage/dist/cli.js"));
    command.args(["claude", "daily", "--json", "--offline", "--timezone", "UTC"]);
    command.env("CLAUDE_CONFIG_DIR", sandbox.home().join(".claude"));
    let outcome = Outcome::of(&mut command, b"");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let (mut days, mut models) = (Sums::new(), Sums::new());
    for day in outcome.json()["daily"].as_array().unwrap() {
        days.insert(day["date"].as_str().unwrap().to_owned(), counts(day, KEYS));
        for model in day["modelBreakdowns"].as_array().unwrap() {
            let sum = models.entry(model["modelName"].as_str().unwrap().to_owned()).or_default();
            counts(model, KEYS).iter().zip(sum).for_each(|(count, sum)| *sum += count);
        }
    }
    (days, models)
}

/// Returns our sums.
fn ours(sandbox: &Sandbox, by: &str) -> Sums {
    const KEYS: [&str; 4] = ["input_tokens", "output_tokens", "cache_write_5m_tokens", "cache_read_tokens"];
    let report = json_of(sandbox, &["--by", by]);
    let rows = report["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let mut counts = counts(row, KEYS);
        counts[2] += row["cache_write_1h_tokens"].as_u64().unwrap();
        (row["key"].as_str().unwrap().to_owned(), counts)
    };
    rows.map(row).collect()
}

#[track_caller]
fn check(sandbox: &Sandbox, installed: &Path) {
    let (days, models) = theirs(sandbox, installed);
    assert!(!days.is_empty(), "ccusage has found nothing");
    assert_eq!(ours(sandbox, "day"), days);
    assert_eq!(ours(sandbox, "model"), models);
}

#[test]
fn the_recorded_transcripts_have_the_same_sums() {
    let Some(installed) = installed() else { return };
    let sandbox = sandbox();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    for file in fs::read_dir(recorded).unwrap().flatten() {
        // ccusage needs JSON without spaces, which is how Claude Code writes it.
        let text = fs::read_to_string(file.path()).unwrap();
        let lines = text.lines().map(|line| format!("{}\n", serde_json::from_str::<Value>(line).unwrap()));
        super::write(&sandbox, &format!("-work/{}", file.file_name().to_str().unwrap()), &lines.collect::<String>());
    }
    check(&sandbox, &installed);
}

#[test]
fn streamed_resumed_and_forked_sessions_have_the_same_sums() {
    let Some(installed) = installed() else { return };
    for seed in 1..=3 {
        let sandbox = sandbox();
        generated::write(&sandbox.home().join(".claude/projects"), seed);
        check(&sandbox, &installed);
    }
}
