//! `cargo xtask`: the tasks of this workspace that cargo alone cannot do.

mod bench;
mod codegen;
mod demo;
#[path = "../../tests/shared/dice.rs"]
mod dice;
mod dist;
mod e2e;
mod fuzz;
mod install;
mod model;
#[path = "../../tests/shared/mutant.rs"]
mod mutant;
mod pictures;
mod recall;
#[path = "../../tests/shared/recall_corpus.rs"]
mod recall_corpus;
mod release;
mod run;
mod soak;
mod stage;
mod test;
mod tools;
mod workspace;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::{Profile, Workspace};

/// The tasks of this workspace that cargo alone cannot do
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write hooks.json, the config's schema and the tables in docs/ from the tables in code
    Codegen {
        /// Write nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
    },
    /// Draw docs/pictures/*.svg from the captures of terminal screens beside them
    Pictures {
        /// Write nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
        /// Instead, take the pictures of the viewer: hooks play a session, a worker shows it in Chromium
        #[arg(long, conflicts_with = "check")]
        viewer: bool,
    },
    /// Build the executables and lay out target/dist as a marketplace, with an archive for download
    Dist {
        /// Build for this target instead of this machine
        #[arg(long, value_name = "TRIPLE")]
        target: Option<String>,
        /// Use the dev profile and make no archive, for tests
        #[arg(long)]
        quick: bool,
        /// With --quick, make an archive called trial-… anyway
        #[arg(long, requires = "quick")]
        archive: bool,
    },
    /// Make the static model that finds records by meaning, with Python; bundles made afterwards include it
    Model(model::Args),
    /// Check that all version numbers agree, or print the notes of a release
    Release {
        /// Check the manifests, the changelog and the generated files
        #[arg(long)]
        check: bool,
        /// The tag to be released, such as v1.2.3: the changelog must have that version
        #[arg(long, value_name = "TAG")]
        tag: Option<String>,
        /// Print the section of this version in the changelog
        #[arg(long, conflicts_with = "check", required_unless_present = "check")]
        notes: bool,
    },
    /// Build, lay out target/dist, and install it for this user: `longhaul install`
    Install {
        /// Use the dev profile: builds sooner, runs slower
        #[arg(long)]
        quick: bool,
        /// Passed to `longhaul install`, such as --dry-run, --yes, --hooks-only
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Play a long session through the real hooks, in a private terminal, and explain what happens
    Demo {
        /// Keep the temporary home and print its path
        #[arg(long)]
        keep: bool,
    },
    /// Run the scenarios on the real client, which CLAUDE_BIN names or npm installs, with a scripted model on loopback
    E2e(e2e::Args),
    /// Run all tests; first install missing programs (tmux, screen, Chromium, tsc) if that needs no password
    Test {
        /// Passed to nextest, or to cargo test if nextest is not installed
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Measure every hook and compare it with an empty program
    Bench {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Number of runs of each row
        #[arg(long, default_value_t = 200, value_name = "N")]
        runs: usize,
        /// Instead, measure the memory with N observations; run it with `cargo run --release -p xtask`
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
        large: Option<usize>,
        /// Instead, measure the worker: time to its first answer, and memory use with 100,000 observations
        #[arg(long, conflicts_with = "large")]
        worker: bool,
        /// Write docs/benchmarks.md, with plots
        #[arg(long, conflicts_with_all = ["large", "worker", "json"])]
        report: bool,
    },
    /// Measure how well the memory answers: import the corpus of tests/recall, ask its questions, and print the figures
    Recall {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Use the dev profile: the figures are the same, the times are not
        #[arg(long)]
        quick: bool,
        /// Print every question of the tuning half whose answer is not the first result
        #[arg(long)]
        misses: bool,
        /// Ask the questions of the tuning half only
        #[arg(long, conflicts_with = "report")]
        tuning: bool,
        /// Also ask the fresh questions, and write the figures to docs/benchmarks.md
        #[arg(long, conflicts_with = "json")]
        report: bool,
    },
    /// Run many sessions at once, and count lost log lines, observations and writes
    Soak {
        /// Number of sessions
        #[arg(long, default_value_t = 200, value_name = "N")]
        sessions: usize,
        /// Number of hooks of each session
        #[arg(long, default_value_t = 100, value_name = "N")]
        hooks: usize,
        /// Use the dev profile, and check no times
        #[arg(long)]
        quick: bool,
    },
    /// Fuzz every parser, or send damaged payloads to every executable
    #[command(group = clap::ArgGroup::new("what").required(true))]
    Fuzz {
        /// Fuzz the parsers for N seconds, with cargo-fuzz if it is installed
        #[arg(long, value_name = "N", group = "what")]
        seconds: Option<u64>,
        /// Send N damaged payloads to the executables
        #[arg(long, value_name = "N", group = "what")]
        payloads: Option<usize>,
        /// Seed of the payloads: the same seed gives the same payloads
        #[arg(long, default_value_t = 1, value_name = "N", requires = "payloads")]
        seed: u64,
    },
}

fn main() -> ExitCode {
    match start(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(task: Task) -> Result<()> {
    let workspace = Workspace::load()?;
    match task {
        Task::Codegen { check: true } => codegen::run(&workspace, codegen::Mode::Check),
        Task::Codegen { check: false } => codegen::run(&workspace, codegen::Mode::Write),
        Task::Pictures { viewer: true, .. } => pictures::take_of_viewer(&workspace),
        Task::Pictures { check: true, .. } => pictures::draw_all(&workspace, codegen::Mode::Check),
        Task::Pictures { check: false, .. } => pictures::draw_all(&workspace, codegen::Mode::Write),
        Task::Install { quick: true, arguments } => install::run(&workspace, Profile::Dev, &arguments),
        Task::Install { quick: false, arguments } => install::run(&workspace, Profile::Install, &arguments),
        Task::Dist { target, quick, archive } => {
            let (profile, packing) = match (quick, archive) {
                (false, _) => (Profile::Release, dist::Packing::Release),
                (true, true) => (Profile::Dev, dist::Packing::Trial),
                (true, false) => (Profile::Dev, dist::Packing::Nothing),
            };
            dist::run(&workspace, profile, target.as_deref(), packing)
        }
        Task::Model(args) => model::run(&workspace, args),
        Task::Release { notes: true, .. } => release::notes(&workspace),
        Task::Release { notes: false, tag, .. } => release::check(&workspace, tag.as_deref()),
        Task::Demo { keep } => demo::run(&workspace, keep),
        Task::E2e(args) => e2e::run(&workspace, &args),
        Task::Test { arguments } => test::run(&workspace, &arguments),
        Task::Recall { json, quick, misses, tuning, report } => {
            let profile = if quick { Profile::Dev } else { Profile::Release };
            recall::run(&workspace, profile, recall::Output { json, misses, tuning, report })
        }
        Task::Soak { sessions, hooks, quick } => {
            let profile = if quick { Profile::Dev } else { Profile::Release };
            soak::run(&workspace, profile, soak::Crowd { sessions, hooks })
        }
        Task::Fuzz { payloads: Some(count), seed, .. } => fuzz::run_payloads(&workspace, count, seed),
        Task::Fuzz { payloads: None, seconds, .. } => fuzz::run(&workspace, seconds.unwrap_or_default()),
        Task::Bench { worker: true, json, .. } => bench::run_worker(&workspace, json),
        Task::Bench { large: Some(count), json, .. } => bench::run_large(&workspace, count, json),
        Task::Bench { runs, report: true, .. } => bench::run(&workspace, runs, bench::Output::Page),
        Task::Bench { runs, json: true, .. } => bench::run(&workspace, runs, bench::Output::Json),
        Task::Bench { runs, json: false, .. } => bench::run(&workspace, runs, bench::Output::Table),
    }
}
