//! `cargo xtask fuzz`: sends damaged input to every executable and every parser.

mod corpus;
mod payloads;
mod targets;

use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use xtask::run;
use xtask::workspace::Workspace;

use self::targets::TARGETS;

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
