//! The tasks of `cargo xtask` that need the runtime, a browser or Claude Code. `cargo xtask` builds and starts this.

mod bench;
mod demo;
#[path = "../../../tests/shared/dice.rs"]
mod dice;
mod e2e;
mod fuzz;
mod model;
#[path = "../../../tests/shared/mutant.rs"]
mod mutant;
mod page_section;
mod pictures;
#[path = "../../../tests/shared/postgres_server.rs"]
mod postgres_server;
mod recall;
#[path = "../../../tests/shared/recall_corpus.rs"]
mod recall_corpus;
mod soak;
mod stage;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use xtask::arguments::WorkbenchTask;
use xtask::codegen::Mode;
use xtask::run;
use xtask::workspace::{Profile, Workspace};

/// The tasks of `cargo xtask` that need the runtime, a browser or Claude Code
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: WorkbenchTask,
}

fn main() -> ExitCode {
    run::exit_code(start(Arguments::parse().task))
}

fn start(task: WorkbenchTask) -> Result<()> {
    let workspace = Workspace::load()?;
    match task {
        WorkbenchTask::Pictures { viewer: true, .. } => pictures::take_of_viewer(&workspace),
        WorkbenchTask::Pictures { check: true, .. } => pictures::draw_all(&workspace, Mode::Check),
        WorkbenchTask::Pictures { check: false, .. } => pictures::draw_all(&workspace, Mode::Write),
        WorkbenchTask::Model(args) => model::run(&workspace, args),
        WorkbenchTask::Demo { keep } => demo::run(&workspace, keep),
        WorkbenchTask::E2e(args) => e2e::run(&workspace, &args),
        WorkbenchTask::Recall { json, quick, misses, tuning, report } => {
            let profile = if quick { Profile::Dev } else { Profile::Release };
            recall::run(&workspace, profile, recall::Output { json, misses, tuning, report })
        }
        WorkbenchTask::Soak { sessions, hooks, quick } => {
            let profile = if quick { Profile::Dev } else { Profile::Release };
            soak::run(&workspace, profile, soak::Crowd { sessions, hooks })
        }
        WorkbenchTask::Fuzz { payloads: Some(count), seed, .. } => fuzz::run_payloads(&workspace, count, seed),
        WorkbenchTask::Fuzz { payloads: None, seconds, .. } => fuzz::run(&workspace, seconds.unwrap_or_default()),
        WorkbenchTask::Bench { snapshots: Some(files), .. } => bench::run_snapshots(&workspace, files),
        WorkbenchTask::Bench { sync: Some(count), .. } => bench::run_sync(&workspace, count),
        WorkbenchTask::Bench { worker: true, .. } => bench::run_worker(&workspace),
        WorkbenchTask::Bench { large: Some(count), report, quick, .. } => {
            let profile = if quick { Profile::Install } else { Profile::Release };
            bench::run_large(&workspace, profile, count, report)
        }
        WorkbenchTask::Bench { runs, report: true, .. } => bench::run(&workspace, runs, bench::Output::Page),
        WorkbenchTask::Bench { runs, json: true, .. } => bench::run(&workspace, runs, bench::Output::Json),
        WorkbenchTask::Bench { runs, json: false, .. } => bench::run(&workspace, runs, bench::Output::Table),
    }
}
