//! `cargo xtask fuzz`: what nobody would send, to every executable and to every parser.

mod corpus;
mod payloads;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::run;
use crate::workspace::Workspace;

pub(crate) use self::payloads::run as run_payloads;

/// The targets in fuzz/fuzz_targets, one for each parser.
pub(crate) const TARGETS: [&str; 9] =
    ["activity_log", "config", "front_matter", "payload", "query", "screen", "spool", "tags", "transcript"];

/// The crates whose parsers these are.
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

/// Fuzzes every parser for so many seconds together.
///
/// Without cargo-fuzz or a nightly compiler, the same properties are tried with random values, without the coverage that
/// guides the choice of them.
pub(crate) fn run(workspace: &Workspace, seconds: u64) -> Result<()> {
    corpus::make(workspace)?;
    if run::find("cargo-fuzz").is_some() && run::output(run::program("cargo").args(["+nightly", "--version"])).is_ok() {
        let each = (seconds / TARGETS.len() as u64).max(1);
        for target in TARGETS {
            // rustup's own cargo: the one that runs this is stable.
            let mut fuzz = run::program("cargo");
            fuzz.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(workspace.root.join("fuzz"));
            fuzz.args(["+nightly", "fuzz", "run", "--fuzz-dir", ".", target, "--"]);
            run::aloud(fuzz.arg(format!("-max_total_time={each}")))?;
        }
        return Ok(());
    }
    writeln!(
        io::stderr(),
        "cargo-fuzz or a nightly compiler is not installed: trying the properties of the tests instead"
    )?;
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
