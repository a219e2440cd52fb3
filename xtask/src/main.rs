//! `cargo xtask`: reads the arguments and starts a task.

use std::env;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use xtask::arguments::{Arguments, Task};
use xtask::dist::{self, bundle};
use xtask::workspace::{Profile, Workspace};
use xtask::{codegen, package, release, run, test};

fn main() -> ExitCode {
    run::exit_code(start(Arguments::parse().task))
}

fn start(task: Task) -> Result<()> {
    let workspace = Workspace::load()?;
    match task {
        Task::Codegen { check: true } => codegen::run(&workspace, codegen::Mode::Check),
        Task::Codegen { check: false } => codegen::run(&workspace, codegen::Mode::Write),
        Task::Install { quick: true, arguments } => dist::install(&workspace, Profile::Dev, &arguments),
        Task::Install { quick: false, arguments } => dist::install(&workspace, Profile::Install, &arguments),
        Task::Dist { universal: true, from: Some(folder), .. } => bundle::from_archives(&workspace, &folder),
        Task::Dist { target, quick, archive, universal, .. } => {
            let (profile, packing) = match (quick, archive) {
                (false, _) => (Profile::Release, dist::Packing::Release),
                (true, true) => (Profile::Dev, dist::Packing::Trial),
                (true, false) => (Profile::Dev, dist::Packing::Nothing),
            };
            dist::run(&workspace, profile, target.as_deref(), packing)?;
            match (universal, quick) {
                (false, _) => Ok(()),
                (true, false) => bundle::from_archives(&workspace, &workspace.target.join("dist")),
                (true, true) => bundle::from_dist(&workspace, target.as_deref()),
            }
        }
        Task::Package { tests: true } => package::run(&workspace, package::Tests::Check),
        Task::Package { tests: false } => package::run(&workspace, package::Tests::Skip),
        Task::Release { notes: true, .. } => release::notes(&workspace),
        Task::Release { branch: Some(branch), .. } => release::run(&workspace, &branch),
        Task::Release { notes: false, tag, .. } => release::check(&workspace, tag.as_deref()),
        Task::Test { arguments } => test::run(&workspace, &arguments),
        Task::Workbench(task) => xtask::run::workbench(&workspace, &task, env::args_os().skip(1)),
    }
}
