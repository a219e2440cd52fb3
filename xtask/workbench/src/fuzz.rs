//! `cargo xtask fuzz`: sends damaged input to every executable and every parser. The targets and their seeds are here, the
//! payloads for executables in `fuzz/payloads.rs`.

mod payloads;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xtask::run;
use xtask::workspace::Workspace;

pub(crate) use self::payloads::run as run_payloads;

/// Crates whose property tests run instead.
const CRATES: [&str; 6] = [
    "longhaul-activity-log",
    "longhaul-core",
    "longhaul-handoff",
    "longhaul-inject",
    "longhaul-memory",
    "longhaul-transcript",
];

/// Number of cases per property and pass, if cargo-fuzz is not installed.
const CASES: &str = "4096";

/// Options for libFuzzer: the seconds after which an input counts as a hang, and the maximum size of an input.
const LIMITS: [&str; 2] = ["-timeout=10", "-max_len=16384"];

/// Fuzzes all parsers, for `seconds` in total without compiling.
///
/// Without cargo-fuzz, the same properties are tested with random values, which are not guided by coverage.
pub(crate) fn run(workspace: &Workspace, seconds: u64) -> Result<()> {
    make_corpus(workspace)?;
    if run::find("cargo-fuzz").is_none() {
        writeln!(
            io::stderr(),
            "cargo-fuzz is not installed (`cargo install cargo-fuzz`): trying the properties of the tests instead"
        )?;
        return try_properties(workspace, seconds);
    }
    run::aloud(fuzz(workspace, "build").args(["--fuzz-dir", "."]))?;
    let each = (seconds / TARGETS.len() as u64).max(1);
    for target in TARGETS {
        let mut fuzz = fuzz(workspace, "run");
        fuzz.args(["--fuzz-dir", ".", target.name, "--"]);
        run::aloud(fuzz.arg(format!("-max_total_time={each}")).args(LIMITS))?;
    }
    Ok(())
}

/// Returns a command of cargo-fuzz. `RUSTC_BOOTSTRAP` lets the stable compiler accept the flags that it needs.
fn fuzz(workspace: &Workspace, command: &str) -> Command {
    let mut fuzz = run::cargo();
    fuzz.current_dir(workspace.root.join("fuzz")).env("RUSTC_BOOTSTRAP", "1").args(["fuzz", command]);
    fuzz
}

fn try_properties(workspace: &Workspace, seconds: u64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let mut test = run::cargo();
        // Else each round would try the cases that .cargo/config.toml chooses for the tests.
        let seed = RandomState::new().hash_one(CASES);
        writeln!(io::stderr(), "PROPTEST_RNG_SEED={seed}")?;
        let random = [("PROPTEST_CASES", CASES.to_owned()), ("PROPTEST_RNG_SEED", seed.to_string())];
        test.current_dir(&workspace.root).envs(random).args(["test", "--quiet", "--lib"]);
        for name in CRATES {
            test.args(["--package", name]);
        }
        run::aloud(&mut test)?;
        if Instant::now() >= deadline {
            return Ok(());
        }
    }
}

/// Maximum bytes of a seed with several lines: libFuzzer runs small inputs far more often than large ones.
const SEED: usize = 8 * 1024;

/// Fills fuzz/corpus from the recordings in tests; files that fuzzing has added there stay.
fn make_corpus(workspace: &Workspace) -> Result<()> {
    for target in TARGETS {
        let folder = workspace.root.join("fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (number, text) in texts(&workspace.root, &target.seeds)?.into_iter().enumerate() {
            let path = folder.join(format!("recorded-{number}"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn texts(root: &Path, seeds: &Seeds) -> Result<Vec<Vec<u8>>> {
    match seeds {
        Seeds::Written(texts) => Ok(texts.iter().map(|text| text.as_bytes().to_vec()).collect()),
        Seeds::Recorded(folders, extension) => {
            let mut texts = Vec::new();
            for folder in *folders {
                let recorded = recordings(&root.join("tests").join(folder), extension)?;
                texts.extend(recorded.iter().flat_map(|(_, text)| parts(text)));
            }
            Ok(texts)
        }
    }
}

/// Splits a recording into parts of whole lines.
fn parts(text: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = vec![Vec::new()];
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match parts.last_mut() {
            Some(part) if part.is_empty() || part.len() + line.len() <= SEED => part.extend(line),
            _ => parts.push(line.to_vec()),
        }
    }
    parts
}

/// Returns the name, without the extension, and the content of every file with that extension in `folder`, sorted by name.
fn recordings(folder: &Path, extension: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text))
    };
    paths.iter().map(read).collect()
}

struct Target {
    pub(crate) name: &'static str,
    /// Its initial inputs.
    seeds: Seeds,
}

enum Seeds {
    /// Recorded files, by their folders in tests and their extension.
    Recorded(&'static [&'static str], &'static str),
    Written(&'static [&'static str]),
}

const CONFIG: &str = r#"{"bookmarks":{"thresholds":{"min_tokens":100}},"continuation":{"at":1000}}"#;

/// Every target, sorted by name.
const TARGETS: [Target; 13] = [
    written(
        "activity_log",
        &["S 1000 idle\nP 1000\nT 1000 4\nA 1000 2\nI 1000\nG 1000\nC 1000\nB 1000\nS 1000 completed\n"],
    ),
    recorded("agent_payload", &["payloads/gemini", "payloads/opencode", "payloads/qwen"], "json"),
    written(
        "config",
        &[CONFIG, r#"{"guard":{"compact_percent":0.76,"deny_percent":0.85},"memory":{"exclude":["/x"]}}"#],
    ),
    written(
        "front_matter",
        &["Sure:\n```md\n---\ncontinue: true\nnonce: lh-1\nmood: [a, b]\n---\n# Task\nx\n# Remaining\n- [ ] y\n```\n"],
    ),
    written("json_text", &[CONFIG, "{ \"a\" :1.50e3 }\n", "{\n\t\"memory\": {\"\\u0062\":  1}, \"z\": 3\n}\n"]),
    written("moment", &["14:03", "2026-11-14T14:03:20", "yesterday 14:00-14:30", "turn 12", "#12", "0d6a98de"]),
    recorded("payload", &["payloads", "payloads/codex", "payloads/foreign"], "json"),
    written(
        "query",
        &[r#"parser "cut in two" -unicode file:src kind:problem project:x since:2026-01-31 before:2026-02-01"#],
    ),
    recorded("rollout", &["codex"], "jsonl"),
    recorded("screen", &["screens"], "ansi"),
    written(
        "spool",
        &[r#"{"tool_use_id":"t","tool":"Bash","input":"{\"command\":\"ls\"}","response":"{\"stdout\":\"a\"}","at":1}"#],
    ),
    recorded("tags", &["payloads"], "json"),
    recorded("transcript", &["transcripts"], "jsonl"),
];

const fn recorded(name: &'static str, folders: &'static [&'static str], extension: &'static str) -> Target {
    Target { name, seeds: Seeds::Recorded(folders, extension) }
}

const fn written(name: &'static str, texts: &'static [&'static str]) -> Target {
    Target { name, seeds: Seeds::Written(texts) }
}

#[cfg(test)]
mod tests;
