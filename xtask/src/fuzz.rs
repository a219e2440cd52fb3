//! `cargo xtask fuzz`: what nobody would send, to every executable and to every parser.

mod corpus;
mod payloads;
mod targets;

use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use self::targets::TARGETS;
use crate::run;
use crate::workspace::Workspace;

pub(crate) use self::payloads::run as run_payloads;

/// The crates whose parsers are fuzzed.
const CRATES: [&str; 6] = [
    "longhaul-activity-log",
    "longhaul-core",
    "longhaul-handoff",
    "longhaul-inject",
    "longhaul-memory",
    "longhaul-transcript",
];

/// How many cases each property is tried with in one go, where cargo-fuzz is missing.
const CASES: &str = "4096";

/// What libFuzzer is told: an input that takes so many seconds hangs, and one may grow past the seeds.
const LIMITS: [&str; 2] = ["-timeout=10", "-max_len=16384"];

/// Fuzzes every parser for so many seconds together; compiling comes on top.
///
/// Without cargo-fuzz the same properties are tried with random values, without the coverage that guides the choice of
/// them.
pub(crate) fn run(workspace: &Workspace, seconds: u64) -> Result<()> {
    corpus::make(workspace)?;
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

/// Returns a command of cargo-fuzz, with the compiler at hand: the switches that it needs are a nightly one's alone, unless
/// this one is told to take them.
fn fuzz(workspace: &Workspace, command: &str) -> Command {
    let mut fuzz = run::cargo();
    fuzz.current_dir(workspace.root.join("fuzz")).env("RUSTC_BOOTSTRAP", "1").args(["fuzz", command]);
    fuzz
}

fn try_properties(workspace: &Workspace, seconds: u64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let mut test = run::cargo();
        test.current_dir(&workspace.root).env("PROPTEST_CASES", CASES).args(["test", "--quiet", "--lib"]);
        for name in CRATES {
            test.args(["--package", name]);
        }
        run::aloud(&mut test)?;
        if Instant::now() >= deadline {
            return Ok(());
        }
    }
}
